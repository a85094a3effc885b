//! The writer: one thread per open log that owns the write connection and commits what is queued in groups.
//!
//! Each group is one transaction with one fsync, shared by all appends that came while the one before was on its way
//! to the disk. A write that is refused (version, hold, used post) writes nothing, so the others of its group go on.
//! A group that fails is rolled back and its writes are done one by one, so that each gets its own answer.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use windlass_core::{RunId, RunState};

use super::changes::WriterState;
use super::cut::Extent;
use super::holders::{self, BEAT_MS};
use super::locked::locked;
use super::rows::Fault;
use super::watch::{Change, Signals};
use super::write::{Write, Written, perform};
use super::{Durability, Place, closed, file};
use crate::error::StoreError;

/// The most writes of one transaction.
const GROUP: usize = 256;

type WriteResult = Result<Written, StoreError>;

struct Job {
    write: Write,
    answer: oneshot::Sender<WriteResult>,
    /// Gives its place in the queue back when the answer is sent.
    place: OwnedSemaphorePermit,
}

/// The way to the writer thread. The thread starts with the first write.
pub(super) struct Writer {
    shared: Arc<Shared>,
    places: Arc<Semaphore>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    place: Place,
    queue: Mutex<Queue>,
    filled: Condvar,
    signals: Arc<Signals>,
    /// Maximum time that a commit may stay unsynced; `None`: each commit is synced, or commits wait for a checkpoint.
    flush_after: Option<Duration>,
    commits: AtomicU64,
    flushes: AtomicU64,
}

struct Queue {
    jobs: VecDeque<Job>,
    /// The write connection until the thread takes it.
    connection: Option<Connection>,
    /// The thread waits for a job and must be woken.
    waiting: bool,
    closed: bool,
}

impl Writer {
    pub(super) fn new(place: Place, connection: Connection, signals: Arc<Signals>) -> Self {
        let queue =
            Queue { jobs: VecDeque::new(), connection: Some(connection), waiting: false, closed: false };
        let places = place.options.queue.max(1);
        let flush_after = match place.options.durability {
            Durability::Normal { flush_ms } => flush_ms.map(Duration::from_millis),
            Durability::Full => None,
        };
        let shared = Shared {
            place,
            queue: Mutex::new(queue),
            filled: Condvar::new(),
            signals,
            flush_after,
            commits: AtomicU64::new(0),
            flushes: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared), places: Arc::new(Semaphore::new(places)), thread: Mutex::new(None) }
    }

    pub(super) fn commits(&self) -> u64 {
        self.shared.commits.load(Relaxed)
    }

    pub(super) fn flushes(&self) -> u64 {
        self.shared.flushes.load(Relaxed)
    }

    /// Queues a write and waits for its result. Once queued, it is done even if the future is dropped.
    pub(super) async fn write(&self, write: Write) -> WriteResult {
        let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| closed())?;
        let (answer, answered) = oneshot::channel();
        self.queue(Job { write, answer, place })?;
        answered.await.unwrap_or_else(|_| Err(closed()))
    }

    fn queue(&self, job: Job) -> Result<(), StoreError> {
        let mut queue = self.shared.lock();
        if queue.closed {
            return Err(closed());
        }
        if let Some(connection) = queue.connection.take() {
            self.start(connection)?;
        }
        queue.jobs.push_back(job);
        if std::mem::take(&mut queue.waiting) {
            drop(queue);
            self.shared.filled.notify_one();
        }
        Ok(())
    }

    fn start(&self, connection: Connection) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new()
            .name("windlass-log".to_owned())
            .spawn(move || {
                let (state, held) = (WriterState::default(), HashSet::new());
                let extent = Extent::default();
                WriterThread { connection, state, held, unflushed: None, locked_out: false, extent, shared }
                    .run();
            })
            .map_err(|error| StoreError::Failed(Box::new(error)))?;
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(())
    }

    /// Finishes what is queued, gives up all holds and ends the thread.
    pub(super) fn close(&self) {
        self.places.close();
        {
            let mut queue = self.shared.lock();
            queue.closed = true;
            queue.connection = None;
        }
        self.shared.filled.notify_one();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!(log = %self.shared.place.path.display(), "the writer thread of the log panicked");
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next group. `None`: closed and empty. An empty group: the time is up.
    fn next_group(&self, at_most: Option<Duration>) -> Option<Vec<Job>> {
        let mut queue = self.lock();
        while queue.jobs.is_empty() {
            if queue.closed {
                return None;
            }
            queue.waiting = true;
            let Some(time) = at_most else {
                queue = self.filled.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let (again, timeout) =
                self.filled.wait_timeout(queue, time).unwrap_or_else(PoisonError::into_inner);
            queue = again;
            if timeout.timed_out() {
                break;
            }
        }
        queue.waiting = false;
        let count = queue.jobs.len().min(GROUP);
        Some(queue.jobs.drain(..count).collect())
    }
}

/// State of the writer thread.
struct WriterThread {
    connection: Connection,
    state: WriterState,
    /// The runs that this process holds.
    held: HashSet<RunId>,
    /// Time of the oldest commit that this thread has to sync.
    unflushed: Option<Instant>,
    /// Whether the last group timed out waiting for a lock.
    locked_out: bool,
    extent: Extent,
    shared: Arc<Shared>,
}

impl WriterThread {
    fn run(mut self) {
        let mut last_beat = Instant::now();
        let every = Duration::from_millis(BEAT_MS);
        loop {
            let beats = !self.held.is_empty() || self.state.pinned();
            let beat_in = beats.then(|| every.saturating_sub(last_beat.elapsed()));
            let flush_in = self
                .unflushed
                .zip(self.shared.flush_after)
                .map(|(since, after)| after.saturating_sub(since.elapsed()));
            let at_most = beat_in.into_iter().chain(flush_in).min();
            let Some(group) = self.shared.next_group(at_most) else { break };
            if last_beat.elapsed() >= every {
                last_beat = Instant::now();
                self.beat();
            }
            if !group.is_empty() {
                self.group(group);
            }
            self.flush_if_due();
        }
        if let Err(error) = self.leave() {
            tracing::warn!(log = %self.shared.place.path.display(), ?error, "cannot release the leases of this process");
        }
    }

    /// Syncs the write-ahead log once the oldest unsynced commit has waited long enough.
    fn flush_if_due(&mut self) {
        let due = self
            .unflushed
            .zip(self.shared.flush_after)
            .is_some_and(|(since, after)| since.elapsed() >= after);
        if !due {
            return;
        }
        self.unflushed = None;
        let mut wal = self.shared.place.path.clone().into_os_string();
        wal.push("-wal");
        match File::open(wal).and_then(|wal| wal.sync_data()) {
            Ok(()) => drop(self.shared.flushes.fetch_add(1, Relaxed)),
            Err(error) => {
                tracing::warn!(log = %self.shared.place.path.display(), %error, "the log could not be synced to the disk");
                self.unflushed = Some(Instant::now());
            }
        }
    }

    fn group(&mut self, group: Vec<Job>) {
        if let Err(gone) = self.check() {
            return self.refuse(group, &gone);
        }
        let hurried = self.locked_out && group.iter().all(|job| matches!(job.write, Write::Release { .. }));
        if hurried {
            self.wait_for_locks(Duration::ZERO);
        }
        let done = self.transact(&group);
        if hurried {
            self.wait_for_locks(file::busy_timeout(&self.shared.place.options));
        }
        self.locked_out = done.as_ref().is_err_and(file::is_busy);
        match done {
            Ok(answers) => match self.check_written() {
                Ok(()) => self.answer(group, answers),
                Err(gone) => self.refuse(group, &gone),
            },
            // The others of the group would wait just as long.
            Err(error) if file::is_busy(&error) => self.refuse(group, &locked(&self.shared.place.path)),
            Err(error) if group.len() > 1 => {
                tracing::debug!(%error, writes = group.len(), "a group of writes failed; they are tried one by one");
                for job in group {
                    self.group(vec![job]);
                }
            }
            Err(error) => {
                let error = file::failure(&self.shared.place.path, error);
                if let Some(job) = group.into_iter().next() {
                    drop(job.answer.send(Err(error)));
                }
            }
        }
    }

    /// Checks that the files are still there, and complete.
    fn check(&mut self) -> Result<(), StoreError> {
        let Place { path, files, .. } = &self.shared.place;
        let checked = files.check(path).and_then(|lengths| self.extent.before(path, lengths));
        self.keep_holes_out();
        checked
    }

    /// As [`WriterThread::check`], for the latest write.
    fn check_written(&mut self) -> Result<(), StoreError> {
        let Place { path, files, .. } = &self.shared.place;
        let checked = files.check_log(path).and_then(|log| self.extent.after(path, log));
        self.keep_holes_out();
        checked
    }

    /// Closing the last connection moves the write-ahead file into the log: not one with a hole.
    fn keep_holes_out(&self) {
        if self.extent.has_hole(&self.shared.place.path)
            && let Err(error) =
                self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        {
            tracing::warn!(log = %self.shared.place.path.display(), %error, "the last checkpoint cannot be left out");
        }
    }

    /// Refuses each write of a group with the same error.
    fn refuse(&self, group: Vec<Job>, error: &StoreError) {
        let again = || match error {
            StoreError::Locked { path, holder } => {
                StoreError::Locked { path: path.clone(), holder: holder.clone() }
            }
            StoreError::Gone { path, how } => StoreError::Gone { path: path.clone(), how: *how },
            other @ (StoreError::UnknownRun { .. }
            | StoreError::Conflict { .. }
            | StoreError::Fenced { .. }
            | StoreError::NotHeld { .. }
            | StoreError::Held { .. }
            | StoreError::PostUsed { .. }
            | StoreError::Ended { .. }
            | StoreError::Unheard { .. }
            | StoreError::HeadMoved { .. }
            | StoreError::InboxFull { .. }
            | StoreError::UnknownPayload { .. }
            | StoreError::TooLarge { .. }
            | StoreError::NoEvents { .. }
            | StoreError::BadCursor { .. }
            | StoreError::Unknown { .. }
            | StoreError::KeyReused { .. }
            | StoreError::Unusable { .. }
            | StoreError::Full { .. }
            | StoreError::Newer { .. }
            | StoreError::Old { .. }
            | StoreError::Corrupt { .. }
            | StoreError::ReadOnly { .. }
            | StoreError::Remote(_)
            | StoreError::Failed(_)) => file::unusable(&self.shared.place.path, other.to_string()),
        };
        for job in group {
            // Its waiter may be gone.
            drop(job.answer.send(Err(again())));
        }
    }

    /// Sets the time to wait for a lock. Giving up a lease does not wait twice: the end of this process does the same.
    fn wait_for_locks(&self, at_most: Duration) {
        if let Err(error) = self.connection.busy_timeout(at_most) {
            tracing::warn!(log = %self.shared.place.path.display(), %error, "the busy timeout cannot be set");
        }
    }

    /// Does all writes in one transaction. An error: nothing was written at all.
    fn transact(&mut self, group: &[Job]) -> rusqlite::Result<Vec<WriteResult>> {
        let Self { connection, state, .. } = self;
        let done = (|| {
            let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
            state.begin(&transaction)?;
            let mut answers = Vec::with_capacity(group.len());
            for job in group {
                answers.push(match perform(state, &transaction, &job.write) {
                    Ok(written) => Ok(written),
                    Err(Fault::Store(refusal)) => Err(refusal),
                    Err(Fault::Database(error)) => return Err(error),
                });
            }
            transaction.commit()?;
            Ok(answers)
        })();
        match done {
            Ok(_) => {
                state.committed();
                if group.iter().all(|job| matches!(job.write, Write::Renew { .. })) {
                    return done;
                }
                self.shared.commits.fetch_add(1, Relaxed);
                if self.shared.flush_after.is_some() {
                    self.unflushed.get_or_insert_with(Instant::now);
                }
            }
            Err(_) => state.rolled_back(),
        }
        done
    }

    /// Reports what is durable now: first to the watchers, then to each waiter.
    fn answer(&mut self, group: Vec<Job>, answers: Vec<WriteResult>) {
        let mut changes = Vec::with_capacity(group.len());
        let mut replies = Vec::with_capacity(group.len());
        for (job, mut answer) in group.into_iter().zip(answers) {
            if matches!(job.write, Write::Checkpoint) && answer.is_ok() {
                answer = self.checkpoint();
            }
            self.note(&job.write, &answer, &mut changes);
            replies.push((job.answer, job.place, answer));
        }
        self.shared.signals.committed(changes);
        for (reply, place, answer) in replies {
            drop(place);
            // Its waiter may be gone.
            drop(reply.send(answer));
        }
    }

    fn note(&mut self, write: &Write, answer: &WriteResult, changes: &mut Vec<Change>) {
        match (write, answer) {
            (Write::Append(new), Ok(_)) => {
                let holds = new.run_state == RunState::Running;
                if !holds {
                    self.held.remove(&new.run);
                } else if new.expected == 0 {
                    self.held.insert(new.run);
                }
                let ended = matches!(new.run_state, RunState::Ended(_));
                changes.push(Change::Appended { run: new.run, holds, ended, used: new.uses });
            }
            (Write::Append(new), Err(StoreError::Fenced { .. })) => {
                self.held.remove(&new.run);
                changes.push(Change::Released { run: new.run });
            }
            (Write::Post(new), Ok(Written::Post(post))) => {
                changes.push(Change::Posted { run: new.run, post: *post });
            }
            (Write::LeaseDue(_), Ok(Written::LeasesDue(leases))) => {
                for (line, _) in leases {
                    self.held.insert(line.run);
                    changes.push(Change::Held { run: line.run });
                }
            }
            (Write::Lease { run, .. }, Ok(_)) => {
                self.held.insert(*run);
                changes.push(Change::Held { run: *run });
            }
            (Write::Discard { run, post, .. }, Ok(_)) => {
                changes.push(Change::Discarded { run: *run, post: *post });
            }
            (Write::Release { run, .. }, Ok(_)) => {
                self.held.remove(run);
                changes.push(Change::Released { run: *run });
            }
            _ => {}
        }
    }

    fn checkpoint(&self) -> WriteResult {
        let path = &self.shared.place.path;
        let busy: bool = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
            .map_err(|error| file::failure(path, error))?;
        if busy { Err(locked(path)) } else { Ok(Written::Nothing) }
    }

    /// A missed heartbeat is made up for by the next one.
    fn beat(&mut self) {
        if let Err(error) = self.state.unpin_old(&self.connection) {
            tracing::warn!(log = %self.shared.place.path.display(), %error, "old pins could not be removed");
        }
        for (name, id) in self.state.entries() {
            if let Err(error) = holders::beat(&self.connection, id, name) {
                tracing::warn!(log = %self.shared.place.path.display(), %error, "no heartbeat could be written");
            }
        }
    }

    fn leave(&mut self) -> Result<(), Fault> {
        if self.state.entries().next().is_none() {
            return Ok(());
        }
        if self.locked_out {
            self.wait_for_locks(Duration::ZERO);
        }
        self.check()?;
        let held: Vec<RunId> = self.held.drain().collect();
        let Self { connection, state, .. } = self;
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
        state.begin(&transaction)?;
        state.leave(&transaction, &held)?;
        transaction.commit()?;
        Ok(self.check_written()?)
    }
}

impl Drop for WriterThread {
    /// Releases all waiters, however the thread ends.
    fn drop(&mut self) {
        let mut queue = self.shared.lock();
        queue.closed = true;
        queue.jobs.clear();
    }
}
