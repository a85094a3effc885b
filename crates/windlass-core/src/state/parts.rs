//! Parts of the state that count and remember: streaks, repetition, limits that were reached.

use crate::call_args::CallArgs;
use crate::event::LimitReached;
use crate::ids::{Millis, Text};
use crate::ledger::Beyond;
use crate::outcome::CallOutcome;
use crate::policy::LimitKind;

/// Things that happened several times in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Streaks {
    /// Prompts after turns without a call.
    pub(crate) prompts: u32,
    /// Replies that were cut off, refused or filtered.
    pub(crate) cut: u32,
    /// Turns with malformed calls.
    pub(crate) malformed: u32,
    /// Outputs that did not fit.
    pub(crate) rejected: u32,
    /// Whether a call of the current turn was neither malformed nor an output that did not fit.
    pub(crate) accepted_now: bool,
    /// Whether the current turn had one.
    pub(crate) malformed_now: bool,
    /// Whether the current turn has counted as a round.
    pub(crate) round_counted: bool,
}

/// The last call and how often it came in a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Repeated {
    pub(crate) name: Text,
    pub(crate) args: CallArgs,
    pub(crate) times: u32,
}

/// A limit that a call ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    pub(crate) limit: LimitKind,
    /// How often the call came in a row.
    pub(crate) repeat: u32,
}

/// A limit that was reached, while what follows from it is going on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Closing {
    pub(crate) reached: LimitReached,
    pub(crate) seq: u64,
    pub(crate) at: Millis,
    /// Whether work that was going on must come to its end first.
    pub(crate) stopping: bool,
    /// Whether the output was asked for as text, because a forced call was not to be had.
    pub(crate) text_asked: bool,
    /// Whether the call beyond the limit has begun.
    pub(crate) called: bool,
    /// What that call may use beyond the limit, once it has begun.
    pub(crate) beyond: Option<Beyond>,
}

/// A branch that a hook asked for, and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Branched {
    /// What the hook asked for, as JSON text.
    pub args: Text,
    /// How it ended, with its result.
    pub outcome: CallOutcome,
}
