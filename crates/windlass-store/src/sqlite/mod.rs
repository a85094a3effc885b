//! The log in one SQLite file: durable, shared by processes, readable with `sqlite3`.
//!
//! One writer thread commits the appends of all runs in groups (`writer`), a few threads read (`reader`), and one
//! watches for the changes of other processes as long as anybody waits for them (`watch`). Threads start when they
//! are needed. No async runtime is required.

mod backup;
mod body;
mod chain;
mod changes;
mod check;
mod cut;
mod due;
mod file;
mod follow;
mod header;
mod heads;
mod holders;
mod identity;
mod inbox;
mod listings;
mod locked;
mod payloads;
mod pins;
mod process;
mod prune;
mod reader;
mod rows;
mod usage;
mod watch;
mod write;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_core::future::BoxFuture;
use rusqlite::Connection;
use windlass_core::event::{Millis, write_events};
use windlass_core::{Owner, RunId, SessionId, Text};
use windlass_threads::{LARGE_BYTES, off_thread};

use crate::error::StoreError;
use crate::opening::{self, Opening};
use crate::payload;
use crate::{
    Append, Batch, Batches, Claim, DailyUsage, Due, Fence, Holder, Inbox, Index, KeyedPost, Leases, Log,
    Page, Payloads, Post, PostId, Posted, Prunable, Prune, Pruning, Reclaimed, RunCounts, RunFilter,
    RunSummary, SessionFilter, SessionSummary, UsageFilter, Wake,
};
use changes::{Left, NewEvents};
use identity::Files;
use inbox::NewPost;
use reader::Readers;
use watch::{Signals, Topic, Waiter};
use write::{Write, Written};
use writer::Writer;

pub use check::Checked;

/// When an append counts as written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Once it is on the disk: it survives the loss of power. The appends of a group share one sync (SQLite's
    /// `synchronous=FULL`). The default.
    #[default]
    Full,
    /// Once the system has it: it survives the death of the process (`kill -9`), but the loss of power may take the last
    /// appends with it; what is left is whole (SQLite's `synchronous=NORMAL`).
    Normal {
        /// The longest time between an append and its sync to the disk, in milliseconds; `None`: the next checkpoint
        /// syncs it, whenever that is.
        flush_ms: Option<u64>,
    },
}

/// The settings of a [`SqliteLog`].
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    /// Time to wait for another process's lock, in milliseconds. Default: 5,000.
    pub busy_timeout_ms: u64,
    /// Maximum number of queued writes, and of queued reads; further ones wait for a place. Default: 1,024.
    pub queue: usize,
    /// The most threads that read at a time. Default: 4.
    pub readers: usize,
    /// The most bytes that the file may take; `None`: as many as the disk has. Appends beyond fail as on a full disk.
    pub max_bytes: Option<u64>,
    /// When an append counts as written. Default: [`Durability::Full`].
    pub durability: Durability,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        let durability = Durability::default();
        Self { busy_timeout_ms: 5_000, queue: 1_024, readers: 4, max_bytes: None, durability }
    }
}

/// A log in one SQLite file.
///
/// An append whose future is dropped half-way may still be written: read the run to find out.
/// Dropping the log finishes what is queued, gives up the holds that were taken through it and ends its threads.
pub struct SqliteLog {
    inner: Arc<Inner>,
}

/// Location of the log, for every new connection.
#[derive(Clone, Debug)]
struct Place {
    path: PathBuf,
    options: SqliteOptions,
    files: Files,
}

impl Place {
    /// One more connection, to the very files that were opened first.
    fn connect(&self) -> Result<Connection, StoreError> {
        let connection = file::connect(&self.path, &self.options)?;
        self.files.check(&self.path)?;
        Ok(connection)
    }
}

/// State shared between the log and its followers.
struct Inner {
    place: Place,
    writer: Writer,
    readers: Readers,
    signals: Arc<Signals>,
}

impl std::fmt::Debug for SqliteLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteLog").field("path", &self.inner.place.path).finish_non_exhaustive()
    }
}

fn closed() -> StoreError {
    StoreError::Failed("the log was closed".into())
}

impl SqliteLog {
    /// Opens the log in that file with the default settings. Makes file (mode 0600) and folders (0700) if need be.
    ///
    /// # Errors
    /// [`StoreError::Unusable`], [`StoreError::Newer`], [`StoreError::Old`], [`StoreError::Full`], [`StoreError::Failed`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, SqliteOptions::default())
    }

    /// Opens the log in that file.
    ///
    /// # Errors
    /// As for [`SqliteLog::open`].
    pub fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, StoreError> {
        let path = path.as_ref();
        // Absolute: further connections are opened later, and SQLite reads names such as `file:x` in its own way.
        let path = std::path::absolute(path).map_err(|error| file::unusable(path, error))?;
        let connection = file::open(&path, &options)?;
        let place = Place { files: Files::of(&path), path, options };
        let signals = Arc::new(Signals::default());
        let writer = Writer::new(place.clone(), connection, Arc::clone(&signals));
        let readers = Readers::new(place.clone());
        Ok(Self { inner: Arc::new(Inner { place, writer, readers, signals }) })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.inner.place.path
    }

    /// Number of write groups committed through this log so far: with [`Durability::Full`], the number of syncs.
    pub fn commits(&self) -> u64 {
        self.inner.writer.commits()
    }

    /// Number of syncs of the write-ahead log apart from commits and checkpoints ([`Durability::Normal`]).
    pub fn flushes(&self) -> u64 {
        self.inner.writer.flushes()
    }

    /// Moves everything from the write-ahead log (`FILE-wal`) into the file, for backups and measurements.
    ///
    /// # Errors
    /// [`StoreError::Unusable`] if readers were in the way for longer than the busy timeout.
    pub async fn checkpoint(&self) -> Result<(), StoreError> {
        self.inner.writer.write(Write::Checkpoint).await.map(drop)
    }

    /// Copies the log as it is at this moment to a file that is not there yet, while others write. Gives its bytes.
    ///
    /// # Errors
    /// [`StoreError::Unusable`]: the file is there already or cannot be written; [`StoreError::Full`].
    pub async fn backup(&self, to: impl Into<PathBuf>) -> Result<u64, StoreError> {
        let (place, to) = (self.inner.place.clone(), to.into());
        self.inner.readers.read(move |_| Ok(backup::backup(&place, &to)?)).await
    }

    /// The last event of the first append of a run that is not what was written, by the hash chain of the run; `None`: all
    /// are.
    ///
    /// # Errors
    /// [`StoreError::Failed`], [`StoreError::Unusable`]: the file cannot be read at all.
    pub async fn changed(&self, run: RunId) -> Result<Option<u64>, StoreError> {
        let look = move |connection: &Connection| chain::look(connection, Some(run), 1);
        let changed = self.inner.readers.read(look).await?;
        Ok(changed.first().map(|(_, last)| *last))
    }

    /// Looks through the whole file: its pages, the boundaries and hashes of appends, references, and the digest of each
    /// payload.
    ///
    /// # Errors
    /// [`StoreError::Failed`], [`StoreError::Unusable`]: the file cannot be read at all.
    pub async fn check(&self) -> Result<Checked, StoreError> {
        self.inner.readers.read(|connection| check::check(connection, file::FORMAT)).await
    }
}

impl Drop for SqliteLog {
    fn drop(&mut self) {
        self.inner.signals.close();
        self.inner.readers.close();
        self.inner.writer.close();
    }
}

impl Inner {
    fn wait(&self, run: RunId, topic: Topic) -> Result<Waiter, StoreError> {
        self.signals.wait(run, topic, &self.place)
    }
}

/// Bodies are made here, for the appender, so that the one writer has less to do. In a box, because it goes through several hands.
fn stored(append: Append) -> Result<Box<NewEvents>, StoreError> {
    let Append { run, expected, events, cause, fence, uses, heard, head, headline, run_state } = append;
    let (Some(first), Some(last)) = (events.first(), events.last()) else {
        return Err(StoreError::NoEvents { run });
    };
    let opening = (expected == 0).then(|| (Opening::of(Some(first)), opening::base(Some(first))));
    let times = (first.at, last.at);
    let failed = |error| StoreError::Failed(Box::new(error));
    let body = write_events(last.at, &events).map_err(failed)?;
    let cause = serde_json::to_string(&cause).map_err(failed)?;
    let count = events.len() as u64;
    let needs = payload::needed(&events)?;
    let digest = chain::content(&cause, &body);
    Ok(Box::new(NewEvents {
        run,
        expected,
        fence,
        uses,
        heard,
        head,
        headline,
        run_state,
        opening,
        count,
        times,
        cause,
        body,
        digest,
        needs,
    }))
}

fn unexpected(written: &Written) -> StoreError {
    StoreError::Failed(format!("the writer gave a wrong result: {written:?}").into())
}

impl Log for SqliteLog {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        let size = append.events.iter().map(|event| event.fact.text_bytes()).sum();
        if size < LARGE_BYTES {
            // Before the future, which then has no room for the append.
            let new = stored(append);
            return Box::pin(async move { self.inner.writer.write(Write::Append(new?)).await.map(drop) });
        }
        // Long texts take their time to be written and hashed.
        Box::pin(async move {
            let new = off_thread(size, move || stored(append)).await?;
            self.inner.writer.write(Write::Append(new)).await.map(drop)
        })
    }

    fn read(&self, run: RunId, from: u64, max: usize) -> BoxFuture<'_, Result<Vec<Batch>, StoreError>> {
        Box::pin(self.inner.readers.read(move |connection| rows::read(connection, run, from, max)))
    }

    fn used(&self, run: RunId, posts: &[PostId]) -> BoxFuture<'_, Result<Vec<PostId>, StoreError>> {
        let posts = posts.to_vec();
        Box::pin(self.inner.readers.read(move |connection| rows::used(connection, run, &posts)))
    }

    fn follow(&self, run: RunId, from: u64) -> Batches {
        follow::follow(Arc::clone(&self.inner), run, from)
    }
}

impl Inbox for SqliteLog {
    fn post(&self, run: RunId, post: Post) -> BoxFuture<'_, Result<PostId, StoreError>> {
        Box::pin(async move {
            let Post { at, what, key } = post;
            let body = serde_json::to_string(&what).map_err(|error| StoreError::Failed(Box::new(error)))?;
            let written =
                self.inner.writer.write(Write::Post(Box::new(NewPost { run, at, body, key }))).await?;
            if let Written::Post(post) = written { Ok(post) } else { Err(unexpected(&written)) }
        })
    }

    fn posted(
        &self,
        owner: &Owner,
        keys: &[Text],
    ) -> BoxFuture<'_, Result<Vec<Option<KeyedPost>>, StoreError>> {
        let (owner, keys) = (owner.clone(), keys.to_vec());
        let posted = move |connection: &Connection| {
            keys.iter().map(|key| inbox::posted(connection, owner.as_str(), key)).collect()
        };
        Box::pin(self.inner.readers.read(posted))
    }

    fn inbox(&self, run: RunId, after: Option<PostId>) -> BoxFuture<'_, Result<Vec<Posted>, StoreError>> {
        Box::pin(async move {
            let known = self.inner.signals.known_posts(run);
            let found =
                self.inner.readers.read(move |connection| rows::inbox(connection, run, after)).await?;
            self.inner.signals.read_inbox(run, &known, after, &found);
            Ok(found)
        })
    }

    fn inbox_changed(&self, run: RunId, after: Option<PostId>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if !self.inner.signals.holds(run) {
                self.inner.readers.read(move |connection| rows::find(connection, run)).await?;
            }
            let waiter = self.inner.wait(run, Topic::Inbox)?;
            while let Some(posted) = waiter.posted(after)? {
                posted.await;
            }
            Ok(())
        })
    }

    fn discard(&self, run: RunId, post: PostId, fence: &Fence) -> BoxFuture<'_, Result<(), StoreError>> {
        let write = Write::Discard { run, post, fence: fence.clone() };
        Box::pin(async move { self.inner.writer.write(write).await.map(drop) })
    }
}

impl Payloads for SqliteLog {
    fn put(&self, bytes: Arc<[u8]>) -> BoxFuture<'_, Result<Text, StoreError>> {
        Box::pin(async move {
            // The digest of a large payload takes its time: it is made on a reader's thread.
            let shared = Arc::clone(&bytes);
            let digest = self.inner.readers.read(move |_| Ok(payload::digest(&shared)?)).await?;
            self.inner.writer.write(Write::Put { digest, bytes }).await?;
            Ok(payload::name(&digest))
        })
    }

    fn get(&self, sha256: &str, from: u64, max: usize) -> BoxFuture<'_, Result<Vec<u8>, StoreError>> {
        let digest = payload::parse(sha256);
        Box::pin(async move {
            let digest = digest?;
            self.inner.readers.read(move |connection| payloads::read(connection, &digest, from, max)).await
        })
    }

    fn size_in(&self, run: RunId, sha256: &str) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        let digest = payload::parse(sha256).ok();
        Box::pin(async move {
            let Some(digest) = digest else { return Ok(None) };
            self.inner.readers.read(move |connection| Ok(payloads::size_in(connection, run, &digest)?)).await
        })
    }
}

impl Leases for SqliteLog {
    fn acquire(&self, run: RunId, holder: &Holder, claim: Claim) -> BoxFuture<'_, Result<Fence, StoreError>> {
        let holder = holder.clone();
        Box::pin(async move {
            let written = self.inner.writer.write(Write::Lease { run, holder, claim }).await?;
            if let Written::Lease(fence) = written { Ok(fence) } else { Err(unexpected(&written)) }
        })
    }

    fn acquire_due(&self, due: Due) -> BoxFuture<'_, Result<Vec<(RunSummary, Fence)>, StoreError>> {
        Box::pin(async move {
            let written = self.inner.writer.write(Write::LeaseDue(Box::new(due))).await?;
            if let Written::LeasesDue(leases) = written { Ok(leases) } else { Err(unexpected(&written)) }
        })
    }

    fn renew(&self, run: RunId, fence: &Fence) -> BoxFuture<'_, Result<Option<Millis>, StoreError>> {
        let write = Write::Renew { run, fence: fence.clone() };
        // The heartbeat that may be due goes before it, so that other machines leave the run alone for that long.
        Box::pin(async move { self.inner.writer.write(write).await.map(|_| Some(holders::HELD_MS)) })
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move { self.inner.writer.write(Write::Probe).await.map(drop) })
    }

    fn release(&self, run: RunId, fence: &Fence) -> BoxFuture<'_, Result<(), StoreError>> {
        let fence = fence.clone();
        let write = Write::Release { run, fence, left: Left::AsItIs };
        Box::pin(async move { self.inner.writer.write(write).await.map(drop) })
    }

    fn park(&self, run: RunId, fence: &Fence, wake: Option<Wake>) -> BoxFuture<'_, Result<(), StoreError>> {
        let write = Write::Release { run, fence: fence.clone(), left: Left::Suspended(wake) };
        Box::pin(async move { self.inner.writer.write(write).await.map(drop) })
    }
}

impl Index for SqliteLog {
    fn list(&self, filter: RunFilter) -> BoxFuture<'_, Result<Page<RunSummary>, StoreError>> {
        Box::pin(async move {
            let listed =
                self.inner.readers.read(move |connection| listings::list(connection, &filter)).await?;
            if !listed.unseen.is_empty() {
                // Of no consequence for the listing: a later look knows more.
                drop(self.inner.writer.write(Write::Sight { holders: listed.unseen }).await);
            }
            Ok(listed.page)
        })
    }

    fn sessions(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Page<SessionSummary>, StoreError>> {
        Box::pin(self.inner.readers.read(move |connection| listings::sessions(connection, &filter)))
    }

    fn summary(&self, run: RunId) -> BoxFuture<'_, Result<RunSummary, StoreError>> {
        Box::pin(self.inner.readers.read(move |connection| listings::summary(connection, run)))
    }

    fn head(&self, owner: &Owner, session: &SessionId) -> BoxFuture<'_, Result<Option<RunId>, StoreError>> {
        let (owner, session) = (owner.clone(), session.clone());
        Box::pin(self.inner.readers.read(move |connection| Ok(heads::of(connection, &owner, &session)?)))
    }

    fn usage(&self, filter: UsageFilter) -> BoxFuture<'_, Result<Vec<DailyUsage>, StoreError>> {
        Box::pin(self.inner.readers.read(move |connection| usage::usage(connection, &filter)))
    }

    fn counts(&self, now: Millis) -> BoxFuture<'_, Result<RunCounts, StoreError>> {
        Box::pin(self.inner.readers.read(move |connection| due::counts(connection, now)))
    }

    fn pruning(&self) -> Option<&dyn Pruning> {
        Some(self)
    }
}

impl Pruning for SqliteLog {
    fn prunable(&self, prune: Prune) -> BoxFuture<'_, Result<Prunable, StoreError>> {
        Box::pin(self.inner.readers.read(move |connection| prune::choose(connection, &prune)))
    }

    fn remove(&self, runs: &[RunId]) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        let write = Write::Remove { runs: runs.to_vec() };
        Box::pin(async move {
            let written = self.inner.writer.write(write).await?;
            if let Written::Removed(runs) = written { Ok(runs) } else { Err(unexpected(&written)) }
        })
    }

    /// Payloads go that were stored more than an hour ago. The file does not shrink: its free pages are used again.
    fn reclaim(&self, most: usize) -> BoxFuture<'_, Result<Reclaimed, StoreError>> {
        Box::pin(async move {
            let written = self.inner.writer.write(Write::Reclaim { most }).await?;
            if let Written::Reclaimed(reclaimed) = written {
                Ok(reclaimed)
            } else {
                Err(unexpected(&written))
            }
        })
    }
}
