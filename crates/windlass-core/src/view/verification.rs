//! A tool call, for a model that judges it.

use serde_json::json;
use windlass_text::json::object_in;

use crate::policy::verify::Verification;
use crate::protocol::fact::verdict::Verdict;
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::state::open_call::OpenCall;
use crate::state::transcript::conversation_text;
use crate::view::{Growth, Maker, View};
use crate::vocabulary::model::Wire;

/// The most characters of the conversation that a verifier is shown.
const CONTEXT_CHARS: usize = 2_000;
/// Messages at the end of the conversation from which they are taken.
const LAST: usize = 20;

/// Instruction to the verifier.
const VERIFY: &str = "You verify a tool call before it runs. Judge whether it serves the request, whether its arguments are \
    right, and what could go wrong. Reply with one JSON object and nothing else: {\"should_execute\": true or false, \
    \"confidence\": a number from 0 to 1, \"assumptions\": [texts], \"risks\": [texts], \"reasoning\": text, \
    \"suggested_modifications\": null, or an object of all arguments that should take the place of the given ones";
const PREDICT: &str = ", \"predicted_result\": the result that you expect, as text";

pub(crate) const MAKER: Maker = Maker { view, bytes, growth: Growth::Built };

fn view(state: &State, model_call: &ModelCall) -> View {
    let open = model_call.about().and_then(|call| state.open_call(call));
    let verify = &state.setup.policy().tools.verify;
    let how: Option<&Verification> =
        open.and_then(|open| verify.of(open.target_name()).or_else(|| verify.of(&open.call.name)));
    let predicts = if how.is_some_and(|how| how.dry_run) { PREDICT } else { "" };
    let mut prompt = format!("{VERIFY}{predicts}}}.");
    if let Some(hint) = how.and_then(|how| how.hint.as_ref()) {
        prompt.push_str("\n\n");
        prompt.push_str(hint);
    }
    let tool = open.and_then(|open| state.target(open));
    let asked = json!({
        "tool": open.map(OpenCall::target_name),
        "description": tool.map(|tool| &tool.description),
        "parameters": tool.map(|tool| &tool.parameters),
        "arguments": open.map(OpenCall::value),
        "context": context(state),
    });
    View::about(prompt, asked.to_string())
}

/// The end of the conversation.
pub(crate) fn context(state: &State) -> String {
    let history = state.conversation.history();
    let last = history.since(history.len().saturating_sub(LAST)).map(|message| &**message);
    let text = conversation_text(last, CONTEXT_CHARS * 4);
    let start = text.char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or_default().to_owned()
}

/// An estimate: the instruction, the context, and as much for the tool.
fn bytes(_: &State, _: Wire) -> u64 {
    (VERIFY.len() + 2 * CONTEXT_CHARS) as u64
}

/// The verdict that a reply is. One that is none counts as a half.
pub(crate) fn verdict(reply: &str) -> Verdict {
    let read = object_in(reply).ok_or_else(|| "it has no JSON object".to_owned());
    let read = read.and_then(|text| serde_json::from_str::<Verdict>(text).map_err(|error| error.to_string()));
    match read {
        Ok(verdict) if (0.0..=1.0).contains(&verdict.confidence) => verdict,
        Ok(verdict) => {
            Verdict::broken(&format!("the verifier's confidence is {}, expected 0 to 1", verdict.confidence))
        }
        Err(why) => Verdict::broken(&format!("the verifier's reply cannot be read: {why}")),
    }
}
