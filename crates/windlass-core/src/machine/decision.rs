//! A decision in the making.

use std::sync::Arc;

use windlass_schema::Checks;

use crate::protocol::fact::interrupts::AnsweredBy;
use crate::protocol::fact::{Event, Fact, InputReceived};
use crate::protocol::invalid_input::InvalidInput;
use crate::state::State;
use crate::vocabulary::ids::{Millis, QuestionId, Text};
use crate::vocabulary::question::Answer;

/// Stands before what a model or hook gave as output, in the error of a run that failed for it.
pub(crate) const RAW_OUTPUT: &str = "\nraw output: ";

/// A decision in the making: the facts so far, and the state that follows from them.
pub(crate) struct Decision {
    pub(crate) state: Arc<State>,
    events: Vec<Event>,
    pub(crate) at: Millis,
    /// By how much the input's clock lies behind the run's.
    pub(crate) behind: Option<Millis>,
    /// Objection of the agent's own check to the output of the reply.
    pub(crate) objection: Option<Text>,
    /// The giver of the answer that came.
    pub(crate) by: Option<AnsweredBy>,
    /// Remaining check budget of its calls.
    pub(crate) checks: Checks,
}

impl Decision {
    /// A decision at that time, before its first fact.
    pub(crate) fn new(state: Arc<State>, at: Millis, behind: Option<Millis>) -> Self {
        let (events, checks) = (Vec::with_capacity(4), Checks::default());
        Self { state, events, at, behind, objection: None, by: None, checks }
    }

    /// Adds a fact and folds it, so that what follows is decided on the state after it. A state that nobody else holds changes in place.
    pub(crate) fn record(&mut self, fact: impl Into<Fact>) {
        let event = Event { at: self.at, fact: fact.into() };
        Arc::make_mut(&mut self.state).apply(&event);
        self.events.push(event);
    }

    /// Records an answer with its giver.
    pub(crate) fn received(&mut self, question: QuestionId, answer: Answer) {
        self.record(InputReceived { question, answer, by: self.by.clone() });
    }

    /// Its facts, and the state after them.
    pub(crate) fn made(self) -> (Vec<Event>, Arc<State>) {
        (self.events, self.state)
    }
}

pub(crate) type Decided = Result<(), InvalidInput>;
