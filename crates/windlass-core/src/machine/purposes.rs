//! Purposes of model calls: one file each says what follows from a reply, and once a call has failed for good. Admission, further
//! tries, fallbacks and the switch of wires are the same for all of them (`decide/admission.rs`, `decide/attempts.rs`).

pub(crate) mod act;
pub(crate) mod decide;
pub(crate) mod judge;
pub(crate) mod merge;
pub(crate) mod perceive;
pub(crate) mod summarise;
pub(crate) mod verify;

use crate::machine::decision::Decision;
use crate::protocol::fact::turns::TurnCompleted;
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::purpose::Purpose;
use crate::vocabulary::reply::{ModelFailure, Reply};

/// The functions that differ between purposes. What a purpose is to the loop stands in its table, what is sent in `view.rs`.
pub(crate) struct Rules {
    /// Folds a reply, once its call is closed and its usage is counted.
    pub(crate) recorded: fn(&mut State, &TurnCompleted),
    /// Decides on a reply.
    pub(crate) replied: fn(&mut Decision, &ModelCall, Reply),
    /// Decides on a failure that is not retried.
    pub(crate) failed: fn(&mut Decision, &ModelCall, ModelFailure),
}

impl Purpose {
    pub(crate) fn rules(self) -> &'static Rules {
        match self {
            Self::Act => &act::RULES,
            Self::Perceive => &perceive::RULES,
            Self::Decide => &decide::RULES,
            Self::Merge => &merge::RULES,
            Self::Summarise => &summarise::RULES,
            Self::Verify => &verify::RULES,
            Self::Judge => &judge::RULES,
        }
    }
}
