//! The messages that a summary is to stand for, as one text.

use crate::state::State;
use crate::state::context::Covers;
use crate::state::model_calls::ModelCall;
use crate::state::transcript::conversation_text;
use crate::view::{Growth, Maker, View, result};
use crate::vocabulary::amount::BYTES_A_TOKEN;
use crate::vocabulary::message::Message;
use crate::vocabulary::model::Wire;
use crate::vocabulary::purpose::Purpose;

/// Instruction to the model that sums messages up; `{n}` is the most tokens.
const SUMMARISE: &str = "Summarise the part of a conversation that follows, so that the assistant can go on without it. \
                         Keep facts, numbers, names, decisions, open questions, and what was tried and failed. Write \
                         plain text of at most {n} tokens, and nothing else.";

/// Share of the budget that the messages may take up in the request for their summary.
const SHARE: f64 = 0.8;
/// The least number of bytes of each message that the request holds.
const LEAST: usize = 400;

pub(crate) const MAKER: Maker = Maker { view, bytes, growth: Growth::Built };

fn view(state: &State, model_call: &ModelCall) -> View {
    if let Some(call) = model_call.about() {
        return result::view(state, call);
    }
    let covers = model_call.covers().unwrap_or_else(|| state.before_last());
    let prompt = SUMMARISE.replace("{n}", &state.setup.policy().past.context.summary_tokens.to_string());
    let max_tokens = Some(state.setup.policy().past.context.summary_tokens);
    View { max_tokens, ..View::about(prompt, text(state, covers)) }
}

/// The messages as text. Long ones are shortened, so that all of them fit into the budget.
fn text(state: &State, covers: Covers) -> String {
    let messages: Vec<&Message> = state.summed_up(covers).map(|(_, message)| &**message).collect();
    let context = &state.setup.policy().past.context;
    let most = context.tokens_at(SHARE).map(|tokens| tokens.saturating_mul(BYTES_A_TOKEN));
    let all: u64 = messages.iter().map(|message| message.bytes()).sum();
    let each = most.filter(|most| all > *most).map_or(usize::MAX, |most| {
        usize::try_from(most / messages.len().max(1) as u64).unwrap_or(usize::MAX).max(LEAST)
    });
    conversation_text(messages.into_iter(), each)
}

fn bytes(state: &State, _: Wire) -> u64 {
    let open = state.model_calls.get(Purpose::Summarise, None).and_then(ModelCall::covers);
    let covers = open.unwrap_or_else(|| state.before_last());
    SUMMARISE.len() as u64 + state.summed_up(covers).map(|(_, message)| message.bytes()).sum::<u64>()
}
