//! Questions and answers in words: who asks, and who answered.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use windlass_core::event::{AnsweredBy, InputReceived, InputRequested};
use windlass_core::run::OpenQuestion;
use windlass_core::{QuestionId, State};

use super::phrases::{Calls, Cuts};
use super::words::name;

/// Questions that stand at this terminal, and those that were withdrawn there without an answer of its own.
static STOOD: Mutex<BTreeSet<QuestionId>> = Mutex::new(BTreeSet::new());

/// A question with its kind, and the agent below that asks it.
pub(crate) fn whole(state: &State, question: &OpenQuestion) -> String {
    let asks = state.asked_by(question).map(|agent| format!(", `{}` asks", name(agent))).unwrap_or_default();
    format!("{} ({}{asks}): {}", question.id, question.kind, question.text)
}

/// The event of a question.
pub(super) fn requested(asked: &InputRequested, calls: &Calls, cuts: &Cuts) -> String {
    format!("asked a person: {}{}", by(asked, calls), cuts.line(&asked.text))
}

/// The agent below that asks, before the question's text.
pub(super) fn by(asked: &InputRequested, calls: &Calls) -> String {
    let asks = asked.child.as_ref().and(asked.call.as_ref());
    asks.map(|call| format!("`{}` asks: ", calls.name(call))).unwrap_or_default()
}

/// An answer. One that somebody else gave to a question that stood at this terminal says who gave it.
pub(super) fn answer(received: &InputReceived) -> String {
    let stood = STOOD.lock().unwrap_or_else(PoisonError::into_inner).remove(&received.question);
    let (question, answer) = (&received.question, received.answer.name());
    match received.by.as_ref().filter(|_| stood) {
        Some(by) => format!("{question} was answered by {}: {answer}", who(by)),
        None => format!("answer to {question}: {answer}"),
    }
}

fn who(by: &AnsweredBy) -> String {
    by.name.as_ref().map_or_else(|| format!("somebody else ({by})"), |who| name(who))
}

/// A question stands at this terminal until it is answered or left there.
#[derive(Debug)]
pub(crate) struct Standing(QuestionId);

impl Standing {
    pub(crate) fn begin(question: &QuestionId) -> Self {
        STOOD.lock().unwrap_or_else(PoisonError::into_inner).insert(question.clone());
        Self(question.clone())
    }

    /// The person has answered or left it. One that is withdrawn does not come here.
    pub(crate) fn over(self) {
        STOOD.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.0);
    }
}
