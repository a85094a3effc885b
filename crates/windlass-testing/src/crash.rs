//! A log that crashes the process, so to say: right after a chosen append, before anything that it frees begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_core::future::BoxFuture;
use windlass_core::{Millis, RunId, Text, What};
use windlass_store::{
    Append, Batch, Batches, EventLog, Fence, Holder, MemoryLog, PostId, Posted, RunFilter, RunSummary,
    StoreError,
};

use crate::sim::step_aside;

/// A log in memory that never answers the append that holds the chosen event, counted over all runs from 1.
#[derive(Debug, Default)]
pub struct CrashLog {
    inner: MemoryLog,
    after: AtomicU64,
    written: AtomicU64,
    crashed: AtomicBool,
    pause: AtomicU64,
}

impl CrashLog {
    /// A log that crashes after that event; 0: never.
    pub fn new(after: u64) -> Arc<Self> {
        Arc::new(Self { after: AtomicU64::new(after), ..Self::default() })
    }

    /// Gives others a turn once that event is written, before anything that it frees begins.
    pub fn pause_after(&self, event: u64) {
        self.pause.store(event, Ordering::SeqCst);
    }

    /// Whether it has crashed since this was last asked.
    pub fn take_crash(&self) -> bool {
        self.crashed.swap(false, Ordering::SeqCst)
    }

    /// Whether it has crashed and nobody has asked yet.
    pub fn crashed(&self) -> bool {
        self.crashed.load(Ordering::SeqCst)
    }

    /// How many events were written, all runs together.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }

    /// Declares a holder dead.
    pub fn forget_holder(&self, holder: &Holder) {
        self.inner.forget_holder(holder);
    }
}

impl EventLog for CrashLog {
    fn append(&self, append: Append) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let events = append.events.len() as u64;
            self.inner.append(append).await?;
            let before = self.written.fetch_add(events, Ordering::SeqCst);
            let holds =
                |event: &AtomicU64| (before + 1..=before + events).contains(&event.load(Ordering::SeqCst));
            if holds(&self.pause) {
                step_aside().await;
            }
            if holds(&self.after) {
                self.crashed.store(true, Ordering::SeqCst);
                std::future::pending::<()>().await;
            }
            Ok(())
        })
    }

    fn read(&self, run: RunId, from: u64, max: usize) -> BoxFuture<'_, Result<Vec<Batch>, StoreError>> {
        self.inner.read(run, from, max)
    }

    fn follow(&self, run: RunId, from: u64) -> Batches {
        self.inner.follow(run, from)
    }

    fn post(&self, run: RunId, at: Millis, what: What) -> BoxFuture<'_, Result<PostId, StoreError>> {
        self.inner.post(run, at, what)
    }

    fn inbox(&self, run: RunId, after: Option<PostId>) -> BoxFuture<'_, Result<Vec<Posted>, StoreError>> {
        self.inner.inbox(run, after)
    }

    fn inbox_changed(&self, run: RunId, after: Option<PostId>) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.inbox_changed(run, after)
    }

    fn discard(&self, run: RunId, post: PostId, fence: &Fence) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.discard(run, post, fence)
    }

    fn put(&self, bytes: Arc<[u8]>) -> BoxFuture<'_, Result<Text, StoreError>> {
        self.inner.put(bytes)
    }

    fn payload(&self, sha256: &str, from: u64, max: usize) -> BoxFuture<'_, Result<Vec<u8>, StoreError>> {
        self.inner.payload(sha256, from, max)
    }

    fn hold(&self, run: RunId, holder: &Holder) -> BoxFuture<'_, Result<Fence, StoreError>> {
        self.inner.hold(run, holder)
    }

    fn release(&self, run: RunId, fence: &Fence) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.release(run, fence)
    }

    fn park(&self, run: RunId, fence: &Fence) -> BoxFuture<'_, Result<(), StoreError>> {
        self.inner.park(run, fence)
    }

    fn list(&self, filter: RunFilter) -> BoxFuture<'_, Result<Vec<RunSummary>, StoreError>> {
        self.inner.list(filter)
    }

    fn summary(&self, run: RunId) -> BoxFuture<'_, Result<RunSummary, StoreError>> {
        self.inner.summary(run)
    }
}
