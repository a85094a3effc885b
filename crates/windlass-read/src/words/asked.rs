//! Questions in words: who asks.

use windlass_core::State;
use windlass_core::event::InputRequested;
use windlass_core::run::OpenQuestion;

use super::{Calls, Cuts, name};

/// A question with its kind, and the agent below that asks it.
pub fn whole(state: &State, question: &OpenQuestion) -> String {
    let asks = state.asked_by(question).map(|agent| format!(", `{}` asks", name(agent))).unwrap_or_default();
    format!("{} ({}{asks}): {}", question.id, question.kind, question.text)
}

/// The event of a question.
pub fn requested(asked: &InputRequested, calls: &Calls, cuts: &Cuts) -> String {
    format!("asked a person: {}{}", by(asked, calls), cuts.line(&asked.text))
}

/// The agent below that asks, before the question's text.
pub fn by(asked: &InputRequested, calls: &Calls) -> String {
    let asks = asked.child_question.as_ref().and(asked.call.as_ref());
    asks.map(|call| format!("`{}` asks: ", calls.name(call))).unwrap_or_default()
}
