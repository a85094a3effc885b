//! The blackboard in place of the conversation: the run's input with the blackboard after it, messages of people (of earlier
//! runs the pinned ones), and the last round of calls with all that follows it.

use std::sync::Arc;

use super::{Growth, Maker, Messages, View, full, minimal};
use crate::asks::Ask;
use crate::message::{Content, Message, Part};
use crate::policy::Wire;
use crate::state::State;

pub(super) const MAKER: Maker = Maker { view, bytes, growth: Growth::Built };

/// The line between the input and the blackboard (PromptChain).
const CURRENT_STATE: &str = "CURRENT STATE:\n";

fn view(state: &State, ask: &Ask) -> View {
    let whole = full::view(state, ask);
    let messages: Messages = shown(state).collect();
    let bytes = bytes(state, full::wire(state, ask));
    View { messages: messages.worded_like(&whole.messages), bytes, ..whole }
}

fn bytes(state: &State, wire: Wire) -> u64 {
    full::prompt_bytes(state) + shown(state).map(|message| full::message_bytes(&message, wire)).sum::<u64>()
}

fn shown(state: &State) -> impl Iterator<Item = Arc<Message>> {
    let last = state.progress.input.clone().last();
    let mut shown: Vec<Arc<Message>> = Vec::new();
    let mut board = Some(board(state));
    for (place, message) in minimal::shown(state) {
        let with_board = board.take_if(|_| Some(place) == last);
        shown.push(with_board.map_or_else(|| message.clone(), |board| after(message, &board)));
    }
    let missing = board.map(|board| Arc::new(Message::user(format!("{CURRENT_STATE}{board}"))));
    missing.into_iter().chain(shown)
}

/// The blackboard follows the input in one message.
fn after(input: &Arc<Message>, board: &str) -> Arc<Message> {
    let text = format!("\n\n{CURRENT_STATE}{board}");
    let content = match &**input {
        Message::User { content: Content::Text(input), .. } => Content::Text(format!("{input}{text}").into()),
        Message::User { content, .. } | Message::TaskDelegation { content } => {
            let own = match content {
                Content::Text(text) => vec![Part::Text { text: text.clone() }],
                Content::Parts(parts) => parts.clone(),
            };
            let board = Part::Text { text: text.trim_start().into() };
            Content::Parts(own.into_iter().chain([board]).collect())
        }
        Message::System { .. } | Message::Assistant(_) | Message::Tool(_) => return input.clone(),
    };
    Arc::new(Message::User { content, pinned: input.is_pinned() })
}

fn board(state: &State) -> String {
    let objective = state.setup.objectives().find_map(|message| match &*message {
        Message::System { text } => Some(text.clone()),
        Message::User { .. } | Message::TaskDelegation { .. } | Message::Assistant(_) | Message::Tool(_) => {
            None
        }
    });
    let objective = objective.as_deref().unwrap_or_default();
    state.progress.board.show(objective, state.ledger.counters.iterations)
}
