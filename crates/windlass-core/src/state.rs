//! State: the fold of a run's events.
use serde::{Deserialize, Serialize};

/// What limits count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Accepted model calls that act.
    pub model_calls: u64,
    /// Turns whose calls were run.
    pub tool_rounds: u64,
    /// Calls that were let run.
    pub tool_calls: u64,
    /// Further tries of failed calls.
    pub retries: u64,
}
