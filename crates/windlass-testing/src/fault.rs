//! A log that fails where a test says so: full, broken, slow, taken over.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::event::Millis;
use windlass_core::{Owner, RunId, SessionId, Text};
use windlass_store::{
    Answer, Append, Batch, Batches, Claim, DailyUsage, Due, Fence, Holder, Inbox, Index, KeyedPost, Leases,
    Log, Page, Payloads, Post, PostId, Posted, RunCounts, RunFilter, RunSummary, SessionFilter,
    SessionSummary, Store, StoreError, UsageFilter, Wake, forward_store,
};

use crate::sim::yield_now;

/// A failure of an append. Nothing of it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// [`StoreError::Failed`]: the database failed.
    Failed,
    /// [`StoreError::Full`]: no space left on the disk.
    Full,
    /// [`StoreError::Fenced`]: another holder has taken the run over.
    Fenced,
    /// [`StoreError::Conflict`]: another writer appended first.
    Conflict,
    /// [`StoreError::Unknown`]: the request was lost, and nothing is written.
    RequestLost,
    /// [`StoreError::Unknown`]: it is written, and the reply was lost.
    ReplyLost,
    /// [`StoreError::Unknown`]: it is written after the next read.
    Late,
}

/// A log around another one that fails at chosen appends, and can be slow or wholly broken.
#[derive(Debug)]
pub struct FaultLog {
    inner: Arc<dyn Store>,
    faults: Mutex<BTreeMap<u64, Fault>>,
    appends: AtomicU64,
    /// An append that is on its way.
    late: Mutex<Option<Append>>,
    slow: AtomicU32,
    broken: AtomicBool,
    /// Remaining space for events, in bytes; all ones: unlimited.
    room: AtomicU64,
}

impl FaultLog {
    /// A log that does not fail yet.
    pub fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            faults: Mutex::default(),
            appends: AtomicU64::new(0),
            late: Mutex::default(),
            slow: AtomicU32::new(0),
            broken: AtomicBool::new(false),
            room: AtomicU64::new(u64::MAX),
        })
    }

    /// Makes the nth append fail, counted from 1 over all runs and including failed appends.
    pub fn fail(&self, append: u64, fault: Fault) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).insert(append, fault);
    }

    /// Gives the turn to others so many times before each append is done, and as often before it is answered; releases
    /// and looks into the inbox are done at once and answered late.
    pub fn slow(&self, turns: u32) {
        self.slow.store(turns, Ordering::SeqCst);
    }

    /// From here on there is room for so many bytes of events, counted as their JSON; an append that needs more fails
    /// with [`StoreError::Full`] and takes none. Call it again to make room. Default: no bound.
    pub fn room(&self, bytes: u64) {
        self.room.store(bytes, Ordering::SeqCst);
    }

    /// Lets everything fail, reading too, or nothing any more.
    pub fn broken(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    /// The number of appends that were tried.
    pub fn appends(&self) -> u64 {
        self.appends.load(Ordering::SeqCst)
    }

    fn check(&self) -> Result<(), StoreError> {
        if self.broken.load(Ordering::SeqCst) { Err(failed()) } else { Ok(()) }
    }

    async fn rest(&self) {
        for _ in 0..self.slow.load(Ordering::SeqCst) {
            yield_now().await;
        }
    }

    fn take_room(&self, append: &Append) -> Result<(), StoreError> {
        if self.room.load(Ordering::SeqCst) == u64::MAX {
            return Ok(());
        }
        let bodies = append.events.iter().map(|event| event.fact.body().map_or(0, |body| body.len() as u64));
        let bytes = bodies.sum();
        let taken =
            self.room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(bytes));
        taken.map(drop).map_err(|_| full())
    }

    /// The fault of the next append, if it has one.
    fn next_fault(&self) -> Option<Fault> {
        let number = self.appends.fetch_add(1, Ordering::SeqCst) + 1;
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).remove(&number)
    }

    fn fault(&self, append: &Append, fault: Option<Fault>) -> Result<(), StoreError> {
        let (run, expected) = (append.run, append.expected);
        Err(match fault {
            None | Some(Fault::ReplyLost) => return self.take_room(append),
            Some(Fault::RequestLost) => unknown(),
            Some(Fault::Late) => {
                *self.late.lock().unwrap_or_else(PoisonError::into_inner) = Some(append.clone());
                unknown()
            }
            Some(Fault::Failed) => failed(),
            Some(Fault::Full) => full(),
            Some(Fault::Conflict) => StoreError::Conflict { run, expected, found: expected + 1 },
            Some(Fault::Fenced) => {
                let ours = append.fence.epoch;
                StoreError::Fenced { run, holder: "somebody else".to_owned(), ours, current: ours + 1 }
            }
        })
    }
}

fn full() -> StoreError {
    StoreError::Full { path: "simulated".into(), source: "simulated".into() }
}

fn unknown() -> StoreError {
    StoreError::Unknown { request: "an append" }
}

fn failed() -> StoreError {
    StoreError::Failed("simulated: input/output error".into())
}

impl Log for FaultLog {
    fn append(&self, append: Append) -> Answer<'_, ()> {
        Box::pin(async move {
            self.rest().await;
            self.check()?;
            let fault = self.next_fault();
            self.fault(&append, fault)?;
            self.inner.append(append).await?;
            self.rest().await;
            if fault == Some(Fault::ReplyLost) { Err(unknown()) } else { Ok(()) }
        })
    }

    fn read(&self, run: RunId, from: u64, max: usize) -> Answer<'_, Vec<Batch>> {
        Box::pin(async move {
            self.check()?;
            let found = self.inner.read(run, from, max).await;
            let late = self.late.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(late) = late {
                // Its sender has given up waiting for what becomes of it.
                drop(self.inner.append(late).await);
            }
            found
        })
    }

    fn used(&self, run: RunId, posts: &[PostId]) -> Answer<'_, Vec<PostId>> {
        let posts = posts.to_vec();
        Box::pin(async move {
            self.check()?;
            self.inner.used(run, &posts).await
        })
    }

    fn follow(&self, run: RunId, from: u64) -> Batches {
        self.inner.follow(run, from)
    }
}

impl Inbox for FaultLog {
    fn post(&self, run: RunId, post: Post) -> Answer<'_, PostId> {
        Box::pin(async move {
            self.check()?;
            self.inner.post(run, post).await
        })
    }

    fn posted(&self, owner: &Owner, keys: &[Text]) -> Answer<'_, Vec<Option<KeyedPost>>> {
        let (owner, keys) = (owner.clone(), keys.to_vec());
        Box::pin(async move {
            self.check()?;
            self.inner.posted(&owner, &keys).await
        })
    }

    fn inbox(&self, run: RunId, after: Option<PostId>) -> Answer<'_, Vec<Posted>> {
        Box::pin(async move {
            self.check()?;
            let found = self.inner.inbox(run, after).await?;
            self.rest().await;
            Ok(found)
        })
    }

    fn inbox_changed(&self, run: RunId, after: Option<PostId>) -> Answer<'_, ()> {
        self.inner.inbox_changed(run, after)
    }

    fn discard(&self, run: RunId, post: PostId, fence: &Fence) -> Answer<'_, ()> {
        let fence = fence.clone();
        Box::pin(async move {
            self.check()?;
            self.inner.discard(run, post, &fence).await
        })
    }
}

impl Payloads for FaultLog {
    fn put(&self, bytes: Arc<[u8]>) -> Answer<'_, Text> {
        Box::pin(async move {
            self.check()?;
            self.inner.put(bytes).await
        })
    }

    fn get(&self, sha256: &str, from: u64, max: usize) -> Answer<'_, Vec<u8>> {
        let sha256 = sha256.to_owned();
        Box::pin(async move {
            self.check()?;
            self.inner.get(&sha256, from, max).await
        })
    }

    fn size_in(&self, run: RunId, sha256: &str) -> Answer<'_, Option<u64>> {
        let sha256 = sha256.to_owned();
        Box::pin(async move {
            self.check()?;
            self.inner.size_in(run, &sha256).await
        })
    }
}

impl Leases for FaultLog {
    fn acquire(&self, run: RunId, holder: &Holder, claim: Claim) -> Answer<'_, Fence> {
        let holder = holder.clone();
        Box::pin(async move {
            self.check()?;
            self.inner.acquire(run, &holder, claim).await
        })
    }

    fn acquire_due(&self, due: Due) -> Answer<'_, Vec<(RunSummary, Fence)>> {
        Box::pin(async move {
            self.check()?;
            self.inner.acquire_due(due).await
        })
    }

    fn renew(&self, run: RunId, fence: &Fence) -> Answer<'_, Option<Millis>> {
        let fence = fence.clone();
        Box::pin(async move {
            self.check()?;
            self.inner.renew(run, &fence).await
        })
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            self.check()?;
            self.inner.probe().await
        })
    }

    fn release(&self, run: RunId, fence: &Fence) -> Answer<'_, ()> {
        let fence = fence.clone();
        Box::pin(async move {
            self.check()?;
            self.inner.release(run, &fence).await?;
            self.rest().await;
            Ok(())
        })
    }

    fn park(&self, run: RunId, fence: &Fence, wake: Option<Wake>) -> Answer<'_, ()> {
        let fence = fence.clone();
        Box::pin(async move {
            self.check()?;
            self.inner.park(run, &fence, wake).await?;
            self.rest().await;
            Ok(())
        })
    }
}

impl Index for FaultLog {
    fn list(&self, filter: RunFilter) -> Answer<'_, Page<RunSummary>> {
        Box::pin(async move {
            self.check()?;
            self.inner.list(filter).await
        })
    }

    fn sessions(&self, filter: SessionFilter) -> Answer<'_, Page<SessionSummary>> {
        Box::pin(async move {
            self.check()?;
            self.inner.sessions(filter).await
        })
    }

    fn summary(&self, run: RunId) -> Answer<'_, RunSummary> {
        Box::pin(async move {
            self.check()?;
            self.inner.summary(run).await
        })
    }

    fn head(&self, owner: &Owner, session: &SessionId) -> Answer<'_, Option<RunId>> {
        let (owner, session) = (owner.clone(), session.clone());
        Box::pin(async move {
            self.check()?;
            self.inner.head(&owner, &session).await
        })
    }

    fn counts(&self, now: Millis) -> Answer<'_, RunCounts> {
        Box::pin(async move {
            self.check()?;
            self.inner.counts(now).await
        })
    }

    fn usage(&self, filter: UsageFilter) -> Answer<'_, Vec<DailyUsage>> {
        Box::pin(async move {
            self.check()?;
            self.inner.usage(filter).await
        })
    }

    forward_store!(inner: pruning);
}
