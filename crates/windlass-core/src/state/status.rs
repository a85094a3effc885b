//! The states of runs by which they are listed.

use std::fmt;

use windlass_macros::Named;

use crate::state::RunState;
use crate::vocabulary::outcome::Status;

/// A run's state without its detail: what listings filter by.
///
/// ```
/// use windlass_core::policy::LimitKind;
/// use windlass_core::run::RunStatus;
/// use windlass_core::{RunState, Status};
///
/// let cut = RunState::Ended(Status::Limit(LimitKind::Seconds));
/// assert_eq!(RunStatus::from(cut), RunStatus::Limit);
/// assert_eq!(RunStatus::from_name("suspended"), Some(RunStatus::Suspended));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Named)]
#[named(all)]
pub enum RunStatus {
    /// Work is left, whether or not a process drives the run.
    Running,
    /// It waits for a person, a peer or a timer.
    Suspended,
    /// It has ended with an answer.
    Answered,
    /// A person ended it with a text.
    Concluded,
    /// It has ended with a question back.
    Clarification,
    /// A limit cut it, whichever.
    Limit,
    /// It was cancelled.
    Cancelled,
    /// It failed, whatever the reason.
    Failed,
}

impl From<RunState> for RunStatus {
    fn from(state: RunState) -> Self {
        match state {
            RunState::Running => Self::Running,
            RunState::Suspended => Self::Suspended,
            RunState::Ended(status) => status.into(),
        }
    }
}

impl From<Status> for RunStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Answered => Self::Answered,
            Status::Concluded => Self::Concluded,
            Status::Clarification => Self::Clarification,
            Status::Limit(_) => Self::Limit,
            Status::Cancelled => Self::Cancelled,
            Status::Failed(_) => Self::Failed,
        }
    }
}

impl fmt::Display for RunStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
