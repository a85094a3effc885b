//! A log that loses what was not synced, as a disk does when the power goes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use windlass_core::event::Millis;
use windlass_core::{Owner, RunId, SessionId, Text};
use windlass_store::{
    Answer, Append, Batch, Batches, Claim, DailyUsage, Due, Fence, Holder, Inbox, Index, KeyedPost, Leases,
    Log, MemoryLog, Page, Payloads, Post, PostId, Posted, Pruning, RunCounts, RunFilter, RunSummary,
    SessionFilter, SessionSummary, StoreError, UsageFilter, Wake,
};

/// A change, as it was asked for.
#[derive(Clone, Debug)]
enum Change {
    Append(Append),
    Post(RunId, Post),
    Lease(RunId, Holder, Claim),
    LeaseDue(Due),
    Release(RunId, Fence),
    Park(RunId, Fence, Option<Wake>),
    Discard(RunId, PostId, Fence),
    Put(Arc<[u8]>),
}

/// A log in memory that, if told to, answers before it syncs: readers see each change at once, and [`crash`](Self::crash) drops
/// unsynced ones. Changes are synced in order, so a prefix always remains.
///
/// A sound store syncs before it answers: that is `VolatileLog::new(1)`, where a crash loses nothing that was answered.
/// With a higher number it lies as a disk with a write cache does, and shows what durable appends are for: a run that
/// goes on after a crash repeats what its log has lost, `once` calls too.
#[derive(Debug)]
pub struct VolatileLog {
    state: Mutex<State>,
    sync_every: AtomicU64,
}

#[derive(Debug)]
struct State {
    /// The log that readers see.
    log: Arc<MemoryLog>,
    /// Changes on the disk.
    synced: Vec<Change>,
    /// Changes not yet on the disk.
    unsynced: Vec<Change>,
}

impl VolatileLog {
    /// A log that syncs after every `sync_every` changes; 0: only when [`sync`](Self::sync) is called.
    pub fn new(sync_every: u64) -> Arc<Self> {
        let state = State { log: Arc::new(MemoryLog::new()), synced: Vec::new(), unsynced: Vec::new() };
        Arc::new(Self { state: Mutex::new(state), sync_every: AtomicU64::new(sync_every) })
    }

    /// Changes how often it syncs from here on.
    pub fn sync_every(&self, changes: u64) {
        self.sync_every.store(changes, Ordering::SeqCst);
    }

    /// Syncs everything.
    pub fn sync(&self) {
        let mut state = self.lock();
        let State { synced, unsynced, .. } = &mut *state;
        synced.append(unsynced);
    }

    /// The number of changes that a crash would lose.
    pub fn unsynced(&self) -> usize {
        self.lock().unsynced.len()
    }

    /// Simulates a power cut: unsynced changes are lost and all holders are dead. Returns the number of lost changes. Followers
    /// and inbox waiters belong to the dead process and receive nothing more.
    pub fn crash(&self) -> usize {
        let mut state = self.lock();
        let lost = std::mem::take(&mut state.unsynced).len();
        let log = MemoryLog::new();
        let mut holders: Vec<Holder> = Vec::new();
        for change in &state.synced {
            match change {
                Change::Append(append) if append.expected == 0 => holders.push(append.fence.holder.clone()),
                Change::Lease(_, holder, _) | Change::LeaseDue(Due { holder, .. }) => {
                    // It was taken from somebody who was dead then.
                    for holder in &holders {
                        log.forget_holder(holder);
                    }
                    holders.push(holder.clone());
                }
                Change::Append(_)
                | Change::Post(..)
                | Change::Release(..)
                | Change::Park(..)
                | Change::Discard(..)
                | Change::Put(_) => {}
            }
            // What was accepted in this order is accepted again.
            let _again = perform(&log, change.clone());
        }
        for holder in &holders {
            log.forget_holder(holder);
        }
        state.log = Arc::new(log);
        lost
    }

    /// Declares a holder dead without a crash of the log: its process was killed, and the disk lives on.
    pub fn forget_holder(&self, holder: &Holder) {
        self.log().forget_holder(holder);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn log(&self) -> Arc<MemoryLog> {
        Arc::clone(&self.lock().log)
    }

    /// Makes a change, and notes it in the order in which it took effect.
    fn change(&self, change: Change) -> Result<Done, StoreError> {
        let every = self.sync_every.load(Ordering::SeqCst);
        let mut state = self.lock();
        let done = perform(&state.log, change.clone())?;
        let State { synced, unsynced, .. } = &mut *state;
        unsynced.push(change);
        if every > 0 && unsynced.len() as u64 >= every {
            synced.append(unsynced);
        }
        Ok(done)
    }
}

/// Result of a change.
enum Done {
    Nothing,
    Post(PostId),
    Lease(Fence),
    Leases(Vec<(RunSummary, Fence)>),
    Put(Text),
}

/// The log in memory answers at once.
fn perform(log: &MemoryLog, change: Change) -> Result<Done, StoreError> {
    let done = match change {
        Change::Append(append) => log.append(append).now_or_never().map(|done| done.map(|()| Done::Nothing)),
        Change::Post(run, post) => log.post(run, post).now_or_never().map(|post| post.map(Done::Post)),
        Change::Lease(run, holder, claim) => {
            log.acquire(run, &holder, claim).now_or_never().map(|fence| fence.map(Done::Lease))
        }
        Change::LeaseDue(due) => log.acquire_due(due).now_or_never().map(|leases| leases.map(Done::Leases)),
        Change::Release(run, fence) => {
            log.release(run, &fence).now_or_never().map(|done| done.map(|()| Done::Nothing))
        }
        Change::Park(run, fence, wake) => {
            log.park(run, &fence, wake).now_or_never().map(|done| done.map(|()| Done::Nothing))
        }
        Change::Discard(run, post, fence) => {
            log.discard(run, post, &fence).now_or_never().map(|done| done.map(|()| Done::Nothing))
        }
        Change::Put(bytes) => log.put(bytes).now_or_never().map(|name| name.map(Done::Put)),
    };
    done.unwrap_or_else(|| Err(StoreError::Failed("the log in memory did not answer at once".into())))
}

fn unexpected() -> StoreError {
    StoreError::Failed("the log answered another question".into())
}

impl Log for VolatileLog {
    fn append(&self, append: Append) -> Answer<'_, ()> {
        Box::pin(async move { self.change(Change::Append(append)).map(drop) })
    }

    fn read(&self, run: RunId, from: u64, max: usize) -> Answer<'_, Vec<Batch>> {
        Box::pin(async move { self.log().read(run, from, max).await })
    }

    fn used(&self, run: RunId, posts: &[PostId]) -> Answer<'_, Vec<PostId>> {
        let posts = posts.to_vec();
        Box::pin(async move { self.log().used(run, &posts).await })
    }

    fn follow(&self, run: RunId, from: u64) -> Batches {
        self.log().follow(run, from)
    }
}

impl Inbox for VolatileLog {
    fn post(&self, run: RunId, post: Post) -> Answer<'_, PostId> {
        Box::pin(async move {
            match self.change(Change::Post(run, post))? {
                Done::Post(post) => Ok(post),
                Done::Nothing | Done::Lease(_) | Done::Leases(_) | Done::Put(_) => Err(unexpected()),
            }
        })
    }

    fn posted(&self, owner: &Owner, keys: &[Text]) -> Answer<'_, Vec<Option<KeyedPost>>> {
        let (owner, keys) = (owner.clone(), keys.to_vec());
        Box::pin(async move { self.log().posted(&owner, &keys).await })
    }

    fn inbox(&self, run: RunId, after: Option<PostId>) -> Answer<'_, Vec<Posted>> {
        Box::pin(async move { self.log().inbox(run, after).await })
    }

    fn inbox_changed(&self, run: RunId, after: Option<PostId>) -> Answer<'_, ()> {
        Box::pin(async move { self.log().inbox_changed(run, after).await })
    }

    fn discard(&self, run: RunId, post: PostId, fence: &Fence) -> Answer<'_, ()> {
        let done = self.change(Change::Discard(run, post, fence.clone())).map(drop);
        Box::pin(std::future::ready(done))
    }
}

impl Payloads for VolatileLog {
    fn put(&self, bytes: Arc<[u8]>) -> Answer<'_, Text> {
        Box::pin(async move {
            match self.change(Change::Put(bytes))? {
                Done::Put(name) => Ok(name),
                Done::Nothing | Done::Post(_) | Done::Lease(_) | Done::Leases(_) => Err(unexpected()),
            }
        })
    }

    fn get(&self, sha256: &str, from: u64, max: usize) -> Answer<'_, Vec<u8>> {
        let sha256 = sha256.to_owned();
        Box::pin(async move { self.log().get(&sha256, from, max).await })
    }

    fn size_in(&self, run: RunId, sha256: &str) -> Answer<'_, Option<u64>> {
        let sha256 = sha256.to_owned();
        Box::pin(async move { self.log().size_in(run, &sha256).await })
    }
}

impl Leases for VolatileLog {
    fn acquire(&self, run: RunId, holder: &Holder, claim: Claim) -> Answer<'_, Fence> {
        let holder = holder.clone();
        Box::pin(async move {
            match self.change(Change::Lease(run, holder, claim))? {
                Done::Lease(fence) => Ok(fence),
                Done::Nothing | Done::Post(_) | Done::Leases(_) | Done::Put(_) => Err(unexpected()),
            }
        })
    }

    fn acquire_due(&self, due: Due) -> Answer<'_, Vec<(RunSummary, Fence)>> {
        Box::pin(async move {
            match self.change(Change::LeaseDue(due))? {
                Done::Leases(leases) => Ok(leases),
                Done::Nothing | Done::Post(_) | Done::Lease(_) | Done::Put(_) => Err(unexpected()),
            }
        })
    }

    fn renew(&self, run: RunId, fence: &Fence) -> Answer<'_, Option<Millis>> {
        let fence = fence.clone();
        Box::pin(async move { self.log().renew(run, &fence).await })
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(async move { self.log().probe().await })
    }

    fn release(&self, run: RunId, fence: &Fence) -> Answer<'_, ()> {
        let done = self.change(Change::Release(run, fence.clone())).map(drop);
        Box::pin(std::future::ready(done))
    }

    fn park(&self, run: RunId, fence: &Fence, wake: Option<Wake>) -> Answer<'_, ()> {
        let fence = fence.clone();
        Box::pin(async move { self.change(Change::Park(run, fence, wake)).map(drop) })
    }
}

impl Index for VolatileLog {
    fn list(&self, filter: RunFilter) -> Answer<'_, Page<RunSummary>> {
        Box::pin(async move { self.log().list(filter).await })
    }

    fn sessions(&self, filter: SessionFilter) -> Answer<'_, Page<SessionSummary>> {
        Box::pin(async move { self.log().sessions(filter).await })
    }

    fn summary(&self, run: RunId) -> Answer<'_, RunSummary> {
        Box::pin(async move { self.log().summary(run).await })
    }

    fn head(&self, owner: &Owner, session: &SessionId) -> Answer<'_, Option<RunId>> {
        let (owner, session) = (owner.clone(), session.clone());
        Box::pin(async move { self.log().head(&owner, &session).await })
    }

    fn counts(&self, now: Millis) -> Answer<'_, RunCounts> {
        Box::pin(async move { self.log().counts(now).await })
    }

    fn usage(&self, filter: UsageFilter) -> Answer<'_, Vec<DailyUsage>> {
        Box::pin(async move { self.log().usage(filter).await })
    }

    fn pruning(&self) -> Option<&dyn Pruning> {
        None
    }
}
