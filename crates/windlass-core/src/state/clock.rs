//! The run's time: the latest seen, and from when its limit on seconds counts.

use crate::ids::Millis;

/// What is known of a run's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// The latest time seen.
    pub(crate) now: Millis,
    /// By how much the clock that took the run over last lay behind.
    pub(crate) behind_ms: Millis,
    pub(crate) started_at: Millis,
    /// How long the runs took that this one goes on from.
    pub(crate) carried_ms: Millis,
    /// The event that set the deadline.
    pub(crate) deadline_seq: u64,
}

impl Clock {
    /// How long the run has been going on at that time, what it goes on from included.
    pub(crate) fn elapsed(&self, at: Millis) -> Millis {
        at.max(self.now).saturating_sub(self.started_at).saturating_add(self.carried_ms)
    }

    /// When so many milliseconds of the run are over.
    pub(crate) fn after(&self, ms: Millis) -> Millis {
        self.started_at.saturating_add(ms.saturating_sub(self.carried_ms))
    }
}
