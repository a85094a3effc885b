//! The result of a tool call, for a model that sums it up.

use std::sync::Arc;

use crate::state::State;
use crate::state::open_call::{OpenCall, Stage};
use crate::view::{View, verification};
use crate::vocabulary::ids::{ActionId, CallId};
use crate::vocabulary::message::{Content, Message, Part};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::payload::cut;
use crate::vocabulary::purpose::Purpose;

/// Instruction to the model; `{n}` is the most tokens.
const SUMMARISE: &str = "Summarise the result of a tool call, so that the assistant can go on without reading it. Keep what \
                         serves the request: facts, numbers, names, paths, errors. Write plain text of at most {n} tokens, \
                         and nothing else.";

/// The most bytes of one result that a model reads to sum it up: a longer one loses its middle (128 KiB).
pub const SUMMED_BYTES: u64 = 131_072;

/// The most bytes of the conversation's end that are shown before the result, with room for the call.
const CONTEXT_BYTES: u64 = 4_000;

pub(crate) fn view(state: &State, call: &CallId) -> View {
    let most = state.setup.policy().past.context.summary_tokens;
    let prompt = SUMMARISE.replace("{n}", &most.to_string());
    let open = state.open_call(call);
    let called = open.map(|open| format!("{}({})", open.target_name(), open.value())).unwrap_or_default();
    let before = format!("Conversation:\n{}\n\nCall:\n{called}\n\nResult:\n", verification::context(state));
    let asked = Message::User { content: with_result(before, result(open)), pinned: false };
    let (prompt, messages) = (vec![Arc::new(Message::system(prompt))], vec![Arc::new(asked)]);
    View { max_tokens: Some(most), bytes: bytes(state, call), ..View::alone(prompt, messages) }
}

pub(crate) fn bytes(state: &State, call: &CallId) -> u64 {
    let whole = result(state.open_call(call)).map_or(0, Content::whole_bytes);
    SUMMARISE.len() as u64 + CONTEXT_BYTES + whole.min(SUMMED_BYTES)
}

fn result(open: Option<&OpenCall>) -> Option<&Content> {
    if let Stage::Done(CallOutcome::Ok { content }) = open?.stage() { Some(content) } else { None }
}

/// A text and a result after it. Stored texts stay names: the edge, which has them, puts them in.
fn with_result(before: String, result: Option<&Content>) -> Content {
    match result {
        None => before.into(),
        Some(Content::Text(text)) => (before + &cut(text, SUMMED_BYTES)).into(),
        Some(Content::Parts(parts)) => {
            let texts = parts.iter().filter_map(|part| match part {
                Part::Text { text } => Some(Part::Text { text: cut(text, SUMMED_BYTES).into() }),
                Part::Stored(stored) => Some(Part::Stored(stored.clone())),
                Part::Image(_) | Part::File(_) => None,
            });
            Content::Parts(std::iter::once(Part::Text { text: before.into() }).chain(texts).collect())
        }
    }
}

impl State {
    /// The result that a model call sums up, if it sums one up.
    pub fn summed_result(&self, action: ActionId) -> Option<&Content> {
        let call = self.model_call(action).filter(|call| call.purpose() == Purpose::Summarise)?;
        result(self.open_call(call.about()?))
    }
}
