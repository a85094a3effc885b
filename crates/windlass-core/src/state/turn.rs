//! The current turn, and what happened several turns in a row.

use crate::state::remedies::Remedies;
use crate::state::search::Search;
use crate::vocabulary::call_args::CallArgs;
use crate::vocabulary::ids::Text;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::reply::{ModelFailure, StopReason};

/// The current turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Turn {
    /// Its number within the run, from 1.
    pub(crate) number: u32,
    /// Why the last reply stopped.
    pub(crate) stop: StopReason,
    /// Number of accepted calls: neither malformed, nor skipped, nor a rejected output.
    pub(crate) accepted: u32,
    /// Number of calls that ran or were put to a person.
    pub(crate) counted: u32,
    /// Number of malformed calls.
    pub(crate) malformed: u32,
    /// Number of calls without a result.
    pub(crate) failed: u32,
    /// Number of results that say something.
    pub(crate) found: u32,
    /// The limit that one of its calls ran into.
    pub(crate) cut: Option<Cut>,
    /// The branches that the hook asked for after its step, with their ends.
    pub(crate) branched: Vec<Branched>,
    /// What the failures of its model call say, while a pause has laid that call aside.
    pub(crate) remedies: Remedies,
    /// The failure of its model call, once nothing is tried any more.
    pub(crate) failure: Option<Box<ModelFailure>>,
    /// The search for the items that its provider refuses.
    pub(crate) search: Option<Box<Search>>,
    /// What happened several times in a row, up to this turn.
    pub(crate) consecutive: Consecutive,
}

impl Turn {
    /// The next turn: nothing of this one is left but why its reply stopped, what cut it, and the streaks.
    pub(crate) fn next(&mut self, number: u32) {
        let consecutive = std::mem::take(&mut self.consecutive);
        *self = Self { number, stop: self.stop, cut: self.cut, consecutive, ..Self::default() };
    }
}

/// Things that happened several times in a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Consecutive {
    /// Prompts after turns without a call.
    pub(crate) prompts: u32,
    /// Replies that were cut off, refused or filtered.
    pub(crate) cut: u32,
    /// Turns with malformed calls.
    pub(crate) malformed: u32,
    /// Outputs that did not fit.
    pub(crate) rejected: u32,
    /// Final failures of the model for simple turns.
    pub(crate) simple_failed: u32,
    /// The last call.
    pub(crate) repeated: Option<Repeated>,
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
    /// Number of consecutive equal calls.
    pub(crate) repeat: u32,
}

/// A branch that a hook asked for, and how it ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Branched {
    /// Arguments of the hook's branch, as JSON text.
    pub args: Text,
    /// The outcome with its result.
    pub outcome: CallOutcome,
}
