//! All calls and results, without reasoning and without attempts that were in vain. It is made once, message by message, so
//! that each request begins with the one before it.

use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::view::{Growth, Maker, Messages, View, full};
use crate::vocabulary::history::History;
use crate::vocabulary::model::Wire;

pub(crate) const MAKER: Maker = Maker { view, bytes, growth: Growth::Appended };

fn view(state: &State, model_call: &ModelCall) -> View {
    let whole = full::view(state, model_call);
    let history = now(state);
    let bytes = bytes_of(state, &history, full::wire(state, model_call));
    View { messages: Messages::from(history).worded_like(&whole.messages), bytes, ..whole }
}

/// Between two calls, the messages since the last one are not in it yet.
fn bytes(state: &State, wire: Wire) -> u64 {
    bytes_of(state, &now(state), wire)
}

fn bytes_of(state: &State, history: &History, wire: Wire) -> u64 {
    let bytes = match wire {
        Wire::Schema | Wire::Fenced => history.bytes_as_text(),
        Wire::Auto | Wire::Native => history.bytes(),
    };
    full::prompt_bytes(state) + bytes
}

fn now(state: &State) -> History {
    let mut progress = state.progress.clone();
    progress.distil(state.conversation.history());
    progress.into_essence()
}
