//! The run's time: the latest seen, and from when its limit on seconds counts.

use crate::vocabulary::ids::Millis;

/// Times of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// The latest time seen.
    now: Millis,
    /// By how much the clock that took the run over last lay behind.
    behind_ms: Millis,
    started_at: Millis,
    /// Elapsed time of the runs that this one continues.
    carried_ms: Millis,
    /// When content, a result or usage came last; time that does not count for stalls is added.
    progress_at: Millis,
    /// The event that set the deadline.
    deadline_seq: u64,
}

impl Clock {
    /// The same clock, whatever the number of its event and, unless it counts, the time of the last progress.
    #[cfg(test)]
    pub(crate) fn renumbered(mut self, rename: impl FnOnce(&mut u64), counts_progress: bool) -> Self {
        rename(&mut self.deadline_seq);
        if !counts_progress {
            self.progress_at = 0;
        }
        self
    }

    /// The latest time seen.
    pub(crate) fn now(&self) -> Millis {
        self.now
    }

    /// By how much the clock that took the run over last lay behind.
    pub(crate) fn behind_ms(&self) -> Millis {
        self.behind_ms
    }

    /// When content, a result or usage came last; time that does not count for stalls is added.
    pub(crate) fn progress_at(&self) -> Millis {
        self.progress_at
    }

    /// The event that set the deadline.
    pub(crate) fn deadline_seq(&self) -> u64 {
        self.deadline_seq
    }

    /// An event happened then. The time never goes back.
    pub(crate) fn reached(&mut self, at: Millis) {
        self.now = self.now.max(at);
    }

    /// The run starts with this event, which sets its deadline.
    pub(crate) fn started(&mut self, at: Millis, seq: u64) {
        self.started_at = at;
        self.deadline_seq = seq;
    }

    /// The run continues one that has taken so long.
    pub(crate) fn continued(&mut self, elapsed_ms: Millis) {
        self.carried_ms = elapsed_ms;
    }

    /// The run is a fork of one that has taken so long: no event of its own set the deadline, which is the base's.
    pub(crate) fn forked(&mut self, elapsed_ms: Millis) {
        self.deadline_seq = 0;
        self.carried_ms = elapsed_ms;
    }

    /// A clock that lies so far behind has taken the run over.
    pub(crate) fn taken_over(&mut self, behind_ms: Millis) {
        self.behind_ms = behind_ms;
    }

    /// This event has moved the deadline.
    pub(crate) fn deadline_moved(&mut self, seq: u64) {
        self.deadline_seq = seq;
    }

    /// Content, a result or usage came.
    pub(crate) fn progressed(&mut self, at: Millis) {
        self.progress_at = at;
    }

    /// The time since the last event does not count for stalls.
    pub(crate) fn excused(&mut self, until: Millis) {
        self.progress_at += until - self.now;
    }

    /// Elapsed time of the run at `at`, including the runs that it continues.
    pub(crate) fn elapsed(&self, at: Millis) -> Millis {
        at.max(self.now).saturating_sub(self.started_at).saturating_add(self.carried_ms)
    }

    /// When so many milliseconds of the run are over.
    pub(crate) fn after(&self, ms: Millis) -> Millis {
        self.started_at.saturating_add(ms.saturating_sub(self.carried_ms))
    }
}
