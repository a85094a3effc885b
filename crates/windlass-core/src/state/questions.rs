//! Questions to people, and the rules that answers have made.

use std::sync::Arc;

use rpds::VectorSync;

use crate::protocol::fact::MessageQueued;
use crate::protocol::fact::turns::TurnStarted;
use crate::state::State;
use crate::state::rules::Rule;
use crate::vocabulary::ids::{CallId, QuestionId, Text};
use crate::vocabulary::question::QuestionKind;

/// The questions of a run, and what answers have settled for the calls to come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Questions {
    /// Open questions, in the order in which they were asked.
    pub(crate) open: Vec<OpenQuestion>,
    /// A pause that has taken effect.
    pub(crate) paused: Option<Paused>,
    /// Number of questions asked so far.
    pub(crate) asked: u32,
    /// What answers have allowed for the rest of the session.
    pub(crate) rules: Vec<Rule>,
    /// Messages to the session that runs of their own answer after this one, in order.
    pub(crate) queued: VectorSync<Arc<MessageQueued>>,
}

impl Questions {
    /// The question of a pause that was asked for and is not over.
    pub(crate) fn pause(&self) -> Option<&OpenQuestion> {
        self.open.iter().find(|open| open.is_pause())
    }

    /// Whether somebody is asked. A pause that has not taken effect asks nobody yet.
    pub(crate) fn are_put(&self) -> bool {
        self.open.iter().any(|open| self.paused.is_some() || !open.is_pause())
    }

    /// Nobody is asked any more.
    pub(crate) fn withdraw(&mut self) {
        self.open.clear();
        self.paused = None;
    }
}

/// A pause that has taken effect: nothing goes on any more.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Paused {
    /// The event that says so.
    pub(crate) seq: u64,
    /// The model call that begins once it is over; `None`: the loop's next turn.
    pub(crate) next: Option<TurnStarted>,
}

/// A question that waits for its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenQuestion {
    /// The event that asked it.
    pub(crate) seq: u64,
    /// The model call that begins once it is answered.
    pub(crate) next: Option<Box<TurnStarted>>,
    /// Its id.
    pub id: QuestionId,
    /// Kind of answer expected.
    pub kind: QuestionKind,
    /// The call that it is about.
    pub call: Option<CallId>,
    /// The question in words.
    pub text: Text,
    /// Answers to choose from.
    pub suggestions: Vec<Text>,
}

impl State {
    /// The agent below that asks a question, as this run calls it; `None`: the run itself asks.
    pub fn asked_by(&self, question: &OpenQuestion) -> Option<&Text> {
        let open = self.open_call(question.call.as_ref()?)?;
        open.asks().map(|_| open.target_name())
    }
}

impl OpenQuestion {
    /// Whether it is the question of the run's own pause, not of a task's.
    pub(crate) fn is_pause(&self) -> bool {
        self.kind == QuestionKind::Pause && self.call.is_none()
    }
}
