//! A conversation as one text: what a model is shown that sums up a branch (acorn).

use std::fmt::Write as _;
use std::sync::Arc;

use super::{Growth, Maker, View, full};
use crate::asks::Ask;
use crate::history::History;
use crate::message::Message;
use crate::state::State;
use crate::stored::shortened;
use windlass_text::steps::Steps;

/// Instruction to the model that summarizes a branch (acorn).
pub const SUMMARY_PROMPT: &str = "Summarize the following branch execution concisely. Include key findings, actions \
                                  taken, and the final result.";

/// Made anew each time, so no prefix of it is kept.
pub(crate) const MAKER: Maker = Maker { view, bytes: full::bytes, growth: Growth::Built };

/// The whole conversation as one message.
fn view(state: &State, ask: &Ask) -> View {
    let message = Arc::new(transcript(&state.conversation.history));
    View { messages: [message].into_iter().collect(), ..full::view(state, ask) }
}

/// The conversation so far, line by line, and after it what the last message says.
pub fn transcript(history: &History) -> Message {
    Message::user(written(history, &Steps::default()))
}

fn written(history: &History, steps: &Steps) -> String {
    let before = history.len().saturating_sub(1);
    let mut text = "Branch history:".to_owned();
    for message in history.iter().take(before) {
        let length = text.len();
        lines(&mut text, message);
        steps.add(1 + message.bytes() as usize + text.len() - length);
    }
    let last = history.last().and_then(|last| last.content());
    let last = last.map(|content| content.text()).unwrap_or_default();
    steps.add(last.len());
    text.push_str("\n\n");
    text.push_str(&last);
    text
}

/// Messages as lines of text, each cut to so many bytes in its middle.
pub(crate) fn conversation_text<'m>(messages: impl Iterator<Item = &'m Message>, each: usize) -> String {
    let mut text = String::new();
    for message in messages {
        let start = text.len();
        if let Message::System { text: told } = message {
            text.push('\n');
            text.push_str(told);
        } else {
            lines(&mut text, message);
        }
        if text.len() - start > each {
            let whole = text.split_off(start);
            text.push_str(&shortened(&whole, each as u64));
        }
    }
    text.trim_start().to_owned()
}

fn lines(out: &mut String, message: &Message) {
    // Writing into a String cannot fail.
    let _infallible = match message {
        Message::System { .. } => Ok(()),
        Message::User { content, .. } | Message::TaskDelegation { content } => {
            write!(out, "\n[User] {}", content.text())
        }
        Message::Tool(result) => write!(out, "\n[Tool Result] {}", result.content.text()),
        Message::Assistant(said) => {
            for call in &said.calls {
                let _infallible = write!(out, "\n[Assistant] Called {}({})", call.name, call.args);
            }
            let text = said.beside_calls();
            text.as_deref()
                .filter(|text| !text.is_empty())
                .map_or(Ok(()), |text| write!(out, "\n[Assistant] {text}"))
        }
    };
}

#[cfg(test)]
mod tests;
