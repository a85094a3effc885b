//! The run's time: the latest seen, and from when its limit on seconds counts.

use crate::vocabulary::ids::Millis;

/// Times of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// The latest time seen.
    pub(crate) now: Millis,
    /// By how much the clock that took the run over last lay behind.
    pub(crate) behind_ms: Millis,
    pub(crate) started_at: Millis,
    /// Elapsed time of the runs that this one continues.
    pub(crate) carried_ms: Millis,
    /// When content, a result or usage came last; time that does not count for stalls is added.
    pub(crate) progress_at: Millis,
    /// The event that set the deadline.
    pub(crate) deadline_seq: u64,
}

impl Clock {
    /// Elapsed time of the run at `at`, including the runs that it continues.
    pub(crate) fn elapsed(&self, at: Millis) -> Millis {
        at.max(self.now).saturating_sub(self.started_at).saturating_add(self.carried_ms)
    }

    /// When so many milliseconds of the run are over.
    pub(crate) fn after(&self, ms: Millis) -> Millis {
        self.started_at.saturating_add(ms.saturating_sub(self.carried_ms))
    }
}
