//! The questions that a run put to people.

use windlass_core::event::{Millis, PeopleFact, QuestionKind};
use windlass_core::{CallId, Event, Fact, QuestionId, Text};

/// A question that a run put to people.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Its id.
    pub question: QuestionId,
    /// Its kind.
    pub kind: QuestionKind,
    /// The call that it is about.
    pub call: Option<CallId>,
    /// Its text.
    pub text: Text,
    /// When it was asked.
    pub asked: Millis,
    /// When it was answered.
    pub answered: Option<Millis>,
}

/// Takes in what an event says of questions.
pub(super) fn learn(questions: &mut Vec<Question>, event: &Event) {
    if let Fact::People(PeopleFact::InputRequested(asked)) = &event.fact {
        questions.push(Question {
            question: asked.question.clone(),
            kind: asked.kind,
            call: asked.call.clone(),
            text: asked.text.clone(),
            asked: event.at,
            answered: None,
        });
    } else if let Fact::People(PeopleFact::InputReceived(received)) = &event.fact
        && let Some(asked) = questions.iter_mut().find(|asked| asked.question == received.question)
    {
        asked.answered = Some(event.at);
    }
}
