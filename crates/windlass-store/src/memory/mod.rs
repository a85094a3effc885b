//! The log in memory: for tests, benchmarks and programs that need no log beyond their own life.
//!
//! A holder counts as alive until it gives up its lease, or until [`MemoryLog::forget_holder`] declares it dead.
//! The log does not grow for ever: beyond [`MAX_ENDED_RUNS`] ended runs, the oldest ones are dropped.

mod follow;
mod keys;
mod payloads;
mod runs;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_core::future::BoxFuture;
use windlass_core::event::Millis;
use windlass_core::{Owner, RunId, SessionId, Text};

use crate::error::StoreError;
use crate::inbox::{Inbox, KeyedPost, Post, PostId, Posted};
use crate::index::usage::{DailyUsage, UsageFilter};
use crate::index::{Index, Page, RunCounts, RunFilter, RunSummary, SessionFilter, SessionSummary};
use crate::leases::{Claim, Due, Fence, Holder, Leases, Wake};
use crate::log::{Append, Batch, Batches, Log};
use crate::payload::{self, Payloads};
use crate::pruning::Pruning;
use runs::{Effects, Runs};

/// The number of ended runs that a [`MemoryLog`] keeps by default. Runs that another run is based on do not count.
pub const MAX_ENDED_RUNS: usize = 10_000;

/// A log in memory. Share it as `Arc<dyn Store>`. It bounds itself, and cannot be [pruned](Index::pruning).
#[derive(Debug)]
pub struct MemoryLog {
    runs: Arc<Mutex<Runs>>,
}

impl Default for MemoryLog {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryLog {
    /// An empty log that keeps the last [`MAX_ENDED_RUNS`] ended runs.
    pub fn new() -> Self {
        Self::with_max_ended_runs(MAX_ENDED_RUNS)
    }

    /// An empty log that keeps up to `max` ended runs, plus runs that are a base.
    pub fn with_max_ended_runs(max: usize) -> Self {
        Self { runs: Arc::new(Mutex::new(Runs::new(max))) }
    }

    /// Declares a holder dead, as if its process had been killed: its runs may be taken over.
    pub fn forget_holder(&self, holder: &Holder) {
        self.lock().forget_holder(holder);
    }

    /// Drops a run without a holder that is no base. Returns whether it did.
    pub fn remove(&self, run: RunId) -> bool {
        let removed = self.lock().remove(run);
        !removed.is_empty()
    }

    /// The number of runs in the log.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether the log has no run.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of payloads in the log.
    pub fn payloads(&self) -> usize {
        self.lock().payloads.len()
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        lock(&self.runs)
    }
}

/// Nothing under this lock can panic half-way through a change, so a poisoned lock is still good.
fn lock(runs: &Mutex<Runs>) -> MutexGuard<'_, Runs> {
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ready<T: Send + 'static>(result: Result<T, StoreError>) -> BoxFuture<'static, Result<T, StoreError>> {
    Box::pin(std::future::ready(result))
}

impl Log for MemoryLog {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        let result = self.lock().append(append);
        // Waking tasks and dropping old runs takes its time: both happen outside the lock.
        ready(result.map(Effects::wake))
    }

    fn read(&self, run: RunId, from: u64, max: usize) -> BoxFuture<'_, Result<Vec<Batch>, StoreError>> {
        ready(self.lock().read(run, from, max))
    }

    fn used(&self, run: RunId, posts: &[PostId]) -> BoxFuture<'_, Result<Vec<PostId>, StoreError>> {
        ready(self.lock().used(run, posts))
    }

    fn follow(&self, run: RunId, from: u64) -> Batches {
        follow::follow(Arc::clone(&self.runs), run, from)
    }
}

impl Inbox for MemoryLog {
    fn post(&self, run: RunId, post: Post) -> BoxFuture<'_, Result<PostId, StoreError>> {
        let result = self.lock().post(run, post);
        ready(result.map(|(id, waiters)| {
            if let Some(waiters) = waiters {
                waiters.notify_waiters();
            }
            id
        }))
    }

    fn posted(
        &self,
        owner: &Owner,
        keys: &[Text],
    ) -> BoxFuture<'_, Result<Vec<Option<KeyedPost>>, StoreError>> {
        let runs = self.lock();
        ready(Ok(keys.iter().map(|key| runs.posted(owner, key)).collect()))
    }

    fn inbox(&self, run: RunId, after: Option<PostId>) -> BoxFuture<'_, Result<Vec<Posted>, StoreError>> {
        ready(self.lock().inbox(run, after))
    }

    fn inbox_changed(&self, run: RunId, after: Option<PostId>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            loop {
                let Some(changed) = self.lock().inbox_waiter(run, after)? else { return Ok(()) };
                changed.await;
            }
        })
    }

    fn discard(&self, run: RunId, post: PostId, fence: &Fence) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(self.lock().discard(run, post, fence))
    }
}

impl Payloads for MemoryLog {
    fn put(&self, bytes: Arc<[u8]>) -> BoxFuture<'_, Result<Text, StoreError>> {
        // The digest of a large payload takes its time: it is made outside the lock.
        ready(payload::digest(&bytes).map(|digest| {
            self.lock().payloads.put(digest, bytes);
            payload::name(&digest)
        }))
    }

    fn get(&self, sha256: &str, from: u64, max: usize) -> BoxFuture<'_, Result<Vec<u8>, StoreError>> {
        let digest = payload::parse(sha256);
        ready(digest.and_then(|digest| self.lock().payloads.read(&digest, from, max)))
    }

    fn size_in(&self, run: RunId, sha256: &str) -> BoxFuture<'_, Result<Option<u64>, StoreError>> {
        let digest = payload::parse(sha256).ok();
        ready(Ok(digest.and_then(|digest| self.lock().size_in(run, &digest))))
    }
}

impl Leases for MemoryLog {
    fn acquire(&self, run: RunId, holder: &Holder, claim: Claim) -> BoxFuture<'_, Result<Fence, StoreError>> {
        ready(self.lock().acquire(run, holder, claim))
    }

    fn acquire_due(&self, due: Due) -> BoxFuture<'_, Result<Vec<(RunSummary, Fence)>, StoreError>> {
        ready(self.lock().acquire_due(&due))
    }

    fn renew(&self, run: RunId, fence: &Fence) -> BoxFuture<'_, Result<Option<Millis>, StoreError>> {
        ready(self.lock().renew(run, fence))
    }

    fn probe(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(Ok(()))
    }

    fn release(&self, run: RunId, fence: &Fence) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(self.lock().release(run, fence))
    }

    fn park(&self, run: RunId, fence: &Fence, wake: Option<Wake>) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(self.lock().park(run, fence, wake))
    }
}

impl Index for MemoryLog {
    fn list(&self, filter: RunFilter) -> BoxFuture<'_, Result<Page<RunSummary>, StoreError>> {
        ready(self.lock().list(&filter))
    }

    fn sessions(&self, filter: SessionFilter) -> BoxFuture<'_, Result<Page<SessionSummary>, StoreError>> {
        ready(self.lock().sessions(&filter))
    }

    fn summary(&self, run: RunId) -> BoxFuture<'_, Result<RunSummary, StoreError>> {
        ready(self.lock().summary(run))
    }

    fn head(&self, owner: &Owner, session: &SessionId) -> BoxFuture<'_, Result<Option<RunId>, StoreError>> {
        ready(Ok(self.lock().head(owner, session)))
    }

    fn usage(&self, filter: UsageFilter) -> BoxFuture<'_, Result<Vec<DailyUsage>, StoreError>> {
        ready(Ok(self.lock().usage(&filter)))
    }

    fn counts(&self, now: Millis) -> BoxFuture<'_, Result<RunCounts, StoreError>> {
        ready(Ok(self.lock().counts(now)))
    }

    fn pruning(&self) -> Option<&dyn Pruning> {
        None
    }
}
