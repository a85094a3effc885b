//! The blackboard in place of the conversation: the run's input with the blackboard after it, messages of people (of earlier
//! runs the pinned ones), and the last round of calls with all that follows it.

use std::sync::Arc;

use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::view::{Growth, Maker, Messages, View, full, minimal};
use crate::vocabulary::message::{Content, Message, Part};
use crate::vocabulary::model::Wire;

pub(crate) const MAKER: Maker = Maker { view, bytes, growth: Growth::Built };

/// The line between the input and the blackboard (PromptChain).
const CURRENT_STATE: &str = "CURRENT STATE:\n";

fn view(state: &State, model_call: &ModelCall) -> View {
    let (whole, wire) = (full::view(state, model_call), full::wire(state, model_call));
    let messages: Messages = visible_messages(state).collect();
    let messages_bytes = messages.iter().map(|message| full::message_bytes(message, wire)).sum::<u64>();
    View {
        bytes: full::prompt_bytes(state) + messages_bytes,
        messages: messages.worded_like(&whole.messages),
        ..whole
    }
}

/// The text of the input is not copied for it.
fn bytes(state: &State, wire: Wire) -> u64 {
    let mut between = CURRENT_STATE.len();
    let last = state.progress.input().clone().last();
    let messages = minimal::visible_messages(state).map(|(place, message)| {
        if Some(place) == last {
            between += lead(message).len();
        }
        full::message_bytes(message, wire)
    });
    let messages = messages.sum::<u64>();
    full::prompt_bytes(state) + messages + (between + blackboard(state).len()) as u64
}

fn visible_messages(state: &State) -> impl Iterator<Item = Arc<Message>> {
    let last = state.progress.input().clone().last();
    let mut visible: Vec<Arc<Message>> = Vec::new();
    let mut blackboard = Some(blackboard(state));
    for (place, message) in minimal::visible_messages(state) {
        let followed = blackboard
            .as_ref()
            .filter(|_| Some(place) == last)
            .and_then(|blackboard| after(message, blackboard));
        if followed.is_some() {
            blackboard = None;
        }
        visible.push(followed.unwrap_or_else(|| message.clone()));
    }
    let missing =
        blackboard.map(|blackboard| Arc::new(Message::user(format!("{CURRENT_STATE}{blackboard}"))));
    missing.into_iter().chain(visible)
}

/// The text between an input and the blackboard's own line.
fn lead(input: &Message) -> &'static str {
    match input {
        Message::User { content: Content::Text(_), .. } => "\n\n",
        Message::User { .. }
        | Message::TaskDelegation { .. }
        | Message::System { .. }
        | Message::Assistant(_)
        | Message::Tool(_) => "",
    }
}

/// The blackboard follows the input in one message. `None`: the input is no message of a user.
fn after(input: &Message, blackboard: &str) -> Option<Arc<Message>> {
    let content = match input {
        Message::User { content: Content::Text(text), .. } => {
            Content::Text([&**text, lead(input), CURRENT_STATE, blackboard].concat().into())
        }
        Message::User { content, .. } | Message::TaskDelegation { content } => {
            let own = match content {
                Content::Text(text) => vec![Part::Text { text: text.clone() }],
                Content::Parts(parts) => parts.clone(),
            };
            let blackboard = Part::Text { text: format!("{CURRENT_STATE}{blackboard}").into() };
            Content::Parts(own.into_iter().chain([blackboard]).collect())
        }
        Message::System { .. } | Message::Assistant(_) | Message::Tool(_) => return None,
    };
    Some(Arc::new(Message::User { content, pinned: input.is_pinned() }))
}

fn blackboard(state: &State) -> String {
    let objective = state.setup.objectives().find_map(|message| match &*message {
        Message::System { text } => Some(text.clone()),
        Message::User { .. } | Message::TaskDelegation { .. } | Message::Assistant(_) | Message::Tool(_) => {
            None
        }
    });
    let objective = objective.as_deref().unwrap_or_default();
    state.progress.blackboard().show(objective, state.ledger.counters().iterations)
}
