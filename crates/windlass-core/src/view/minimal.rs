//! The last round only: the run's input, the messages of people, the last reply with calls and its results, and everything
//! after it. Earlier runs of the session are left out but for their pinned messages, and so are attempts that were in vain.

use std::sync::Arc;

use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::view::{Growth, Maker, Messages, View, full};
use crate::vocabulary::message::Message;
use crate::vocabulary::model::Wire;

pub(crate) const MAKER: Maker = Maker { view, bytes, growth: Growth::Built };

fn view(state: &State, model_call: &ModelCall) -> View {
    let whole = full::view(state, model_call);
    let messages: Messages = visible_messages(state).map(|(_, message)| message.clone()).collect();
    let bytes = bytes(state, full::wire(state, model_call));
    View { messages: messages.worded_like(&whole.messages), bytes, ..whole }
}

fn bytes(state: &State, wire: Wire) -> u64 {
    full::prompt_bytes(state)
        + visible_messages(state).map(|(_, message)| full::message_bytes(message, wire)).sum::<u64>()
}

/// The messages that it has, each found by its place.
pub(crate) fn visible_messages(state: &State) -> impl Iterator<Item = (usize, &Arc<Message>)> {
    let (history, progress) = (state.conversation.history(), &state.progress);
    let first =
        progress.round().filter(|round| *round >= progress.input().end).unwrap_or(progress.input().end);
    let steered = progress.steered().iter().copied().filter(|at| *at < first);
    let mut before = history.pinned_before(first);
    before.extend(progress.input().clone().chain(steered));
    before.sort_unstable();
    before.dedup();
    let places = before.into_iter().chain(first..history.len());
    let found = places.filter_map(|at| Some((at, history.get(at)?)));
    found.filter(|(at, message)| !progress.is_vain(*at, message))
}
