//! Leases: which process may append to a run, with fencing.

use windlass_core::event::Millis;
use windlass_core::{RunId, Text};

use crate::store::Answer;

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
    /// Acquires the lease of a run without a live holder, with a new epoch.
    ///
    /// # Errors
    /// [`Held`](crate::StoreError::Held) names the living holder; [`UnknownRun`](crate::StoreError::UnknownRun).
    fn acquire(&self, run: RunId, holder: &Holder) -> Answer<'_, Fence>;

    /// Renews a valid lease, right before an irreversible effect. A store that detects live holders by heartbeats sends one
    /// first, so that the lease stays valid for some seconds.
    ///
    /// # Errors
    /// [`Fenced`](crate::StoreError::Fenced): another holder took the lease. [`NotHeld`](crate::StoreError::NotHeld): it was
    /// released.
    fn renew(&self, run: RunId, fence: &Fence) -> Answer<'_, ()>;

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
