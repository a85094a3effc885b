//! Questions to people, and the rules that answers have made.

use std::sync::Arc;

use rpds::VectorSync;

use crate::event::MessageQueued;
use crate::ids::{CallId, QuestionId, Text};
use crate::question::QuestionKind;
use crate::rules::Rule;

/// The questions of a run, and what answers have settled for the calls to come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Questions {
    /// Open questions, in the order in which they were asked.
    pub(crate) open: Vec<OpenQuestion>,
    /// Number of questions asked so far.
    pub(crate) asked: u32,
    /// What answers have allowed for the rest of the session.
    pub(crate) rules: Vec<Rule>,
    /// Messages to the session that runs of their own answer after this one, in order.
    pub(crate) queued: VectorSync<Arc<MessageQueued>>,
}

/// A question that waits for its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenQuestion {
    /// The event that asked it.
    pub(crate) seq: u64,
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
