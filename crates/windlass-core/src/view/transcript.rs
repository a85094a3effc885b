//! A conversation as one text: what a model is shown that sums up a branch (acorn).

use std::sync::Arc;

use windlass_text::steps;

use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::state::transcript::lines;
use crate::view::{Growth, Maker, View, full};
use crate::vocabulary::history::History;
use crate::vocabulary::message::Message;

/// Instruction to the model that summarizes a branch (acorn).
pub const SUMMARY_PROMPT: &str = "Summarize the following branch execution concisely. Include key findings, actions \
                                  taken, and the final result.";

/// Made anew each time, so no prefix of it is kept.
pub(crate) const MAKER: Maker = Maker { view, bytes: full::bytes, growth: Growth::Built };

/// The whole conversation as one message.
fn view(state: &State, model_call: &ModelCall) -> View {
    let message = Arc::new(transcript(state.conversation.history()));
    View { messages: [message].into_iter().collect(), ..full::view(state, model_call) }
}

/// The conversation so far, line by line, and after it what the last message says.
pub fn transcript(history: &History) -> Message {
    Message::user(written(history))
}

fn written(history: &History) -> String {
    let before = history.len().saturating_sub(1);
    let mut text = "Branch history:".to_owned();
    for message in history.iter().take(before) {
        let length = text.len();
        lines(&mut text, message);
        steps::add(1 + message.bytes() as usize + text.len() - length);
    }
    let last = history.last().and_then(|last| last.content());
    let last = last.map(|content| content.text()).unwrap_or_default();
    steps::add(last.len());
    text.push_str("\n\n");
    text.push_str(&last);
    text
}

#[cfg(test)]
mod tests;
