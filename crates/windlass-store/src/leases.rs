//! Leases: which process may append to a run, with fencing.

use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::event::Millis;
use windlass_core::{Owner, RunId, Text};

use crate::error::Answer;
use crate::index::RunSummary;

/// The holder of leases on runs: one per process (or per node).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder(pub Text);

/// The right to append to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// Holder of the run.
    pub holder: Holder,
    /// The lease's number: a later lease of the run has a higher one, and appends with a lower one are refused.
    pub epoch: u64,
}

/// The number of a request for leases, which no other request of its holder has: one that is sent again, because its reply was
/// lost, gets the same lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim(pub u64);

impl Claim {
    /// A number that no other request for leases of this process has.
    pub fn fresh() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self(LAST.fetch_add(1, Ordering::Relaxed))
    }
}

/// A request for the leases of runs that can go on ([`Leases::acquire_due`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Due {
    /// The new holder.
    pub holder: Holder,
    /// The number of this request.
    pub claim: Claim,
    /// Only runs of these agents; empty: of any.
    pub agents: Vec<Text>,
    /// No runs of these owners.
    pub without_owners: Vec<Owner>,
    /// None of these runs, as long as they have this number of events: nothing came of them when they were taken up.
    pub without: Vec<(RunId, u64)>,
    /// The time at which they are due, as in [`RunFilter::due`](crate::RunFilter::due).
    pub now: Millis,
    /// Maximum number of runs.
    pub limit: usize,
}

impl Due {
    /// Whether a run with so many events is left alone.
    pub(crate) fn leaves(&self, run: RunId, version: u64) -> bool {
        self.without.contains(&(run, version))
    }
}

/// Time at which a suspended run continues by itself, by the releasing holder's clock, in milliseconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake {
    /// The current clock reading: a later reading before this time shows that the clock was set back.
    pub from: Millis,
    /// Time at which it continues.
    pub at: Millis,
}

/// Leases runs to holders. The first append of a run takes its lease; an append that ends or suspends a run gives it up.
pub trait Leases: Send + Sync + std::fmt::Debug {
    /// Acquires the lease of a run without a live holder, with a new epoch. The same claim of the same holder gives the lease that
    /// it gave before, as long as that stands.
    ///
    /// # Errors
    /// [`Held`](crate::StoreError::Held) names the living holder; [`UnknownRun`](crate::StoreError::UnknownRun).
    fn acquire(&self, run: RunId, holder: &Holder, claim: Claim) -> Answer<'_, Fence>;

    /// Acquires the leases of runs that are due, have no live holder and no parent (a child run is resumed by its parent's driver): those
    /// that began first come first. Two holders that ask at the same moment get different runs. The same claim of the same holder gives
    /// the leases that it gave before, as long as they stand, and no others.
    fn acquire_due(&self, due: Due) -> Answer<'_, Vec<(RunSummary, Fence)>>;

    /// Renews a valid lease, right before an irreversible effect. A store that detects live holders by heartbeats sends one
    /// first, so that the lease stays valid for some seconds.
    ///
    /// Gives for how many milliseconds from the moment of the request the lease holds whatever happens, by a clock that no one sets;
    /// `None`: it ends with the holder's process. A holder that cannot renew it begins nothing irreversible after that time.
    ///
    /// # Errors
    /// [`Fenced`](crate::StoreError::Fenced): another holder took the lease. [`NotHeld`](crate::StoreError::NotHeld): it was
    /// released.
    fn renew(&self, run: RunId, fence: &Fence) -> Answer<'_, Option<Millis>>;

    /// Tries whether the log can be appended to and leased now: writes durably, and the way of an append, what changes nothing (E70).
    ///
    /// # Errors
    /// Those of an append that the log itself refuses, such as [`Full`](crate::StoreError::Full).
    fn probe(&self) -> Answer<'_, ()>;

    /// Releases a lease; has no effect if another holder took over.
    fn release(&self, run: RunId, fence: &Fence) -> Answer<'_, ()>;

    /// Releases the lease of a suspended run; has no effect if another holder took over. The run is listed as suspended until
    /// its next append.
    ///
    /// With `wake`, the run is listed as due from [`Wake::at`] on ([`RunFilter::due`](crate::RunFilter::due)), and at any
    /// time more than [`CLOCK_JUMP_MS`](windlass_core::event::CLOCK_JUMP_MS) before [`Wake::from`]: the clock was set back then.
    /// Without, the run is due when something is in its inbox.
    fn park(&self, run: RunId, fence: &Fence, wake: Option<Wake>) -> Answer<'_, ()>;
}
