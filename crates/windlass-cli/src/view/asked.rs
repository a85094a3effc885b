//! Answers at this terminal in words: who answered.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use windlass_core::QuestionId;
use windlass_core::event::{AnsweredBy, InputReceived};
use windlass_read::words::name;

/// Questions that stand at this terminal, and those that were withdrawn there without an answer of its own.
static STOOD: Mutex<BTreeSet<QuestionId>> = Mutex::new(BTreeSet::new());

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
