//! A decision in the making.

use windlass_schema::Checks;

use crate::protocol::fact::Event;
use crate::protocol::fact::interrupts::AnsweredBy;
use crate::protocol::invalid_input::InvalidInput;
use crate::state::State;
use crate::vocabulary::ids::{Millis, Text};

/// Stands before what a model or hook gave as output, in the error of a run that failed for it.
pub(crate) const RAW_OUTPUT: &str = "\nraw output: ";

/// A decision in the making: the facts so far, and the state that follows from them.
pub(crate) struct Decision {
    pub(crate) state: State,
    pub(crate) events: Vec<Event>,
    pub(crate) at: Millis,
    /// By how much the input's clock lies behind the run's.
    pub(crate) behind: Option<Millis>,
    /// Objection of the agent's own check to the output of the reply.
    pub(crate) objection: Option<Text>,
    /// Who gave the answer that came.
    pub(crate) by: Option<AnsweredBy>,
    /// Remaining check budget of its calls.
    pub(crate) checks: Checks,
}

pub(crate) type Decided = Result<(), InvalidInput>;
