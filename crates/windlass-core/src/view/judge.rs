//! The request to a judge: the objective, the input and the draft, in one message.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::view::{Growth, Maker, View, contract};
use crate::vocabulary::message::Message;
use crate::vocabulary::model::Wire;

pub(crate) const MAKER: Maker = Maker { view, bytes, growth: Growth::Built };

fn view(state: &State, model_call: &ModelCall) -> View {
    let output_form = contract::schema(state, model_call.purpose());
    View { output_form, ..View::about(state.setup.policy().wording.texts.judge.clone(), asked(state)) }
}

fn bytes(state: &State, _: Wire) -> u64 {
    (state.setup.policy().wording.texts.judge.len() + asked(state).len()) as u64
}

/// The text of a message.
fn text_of(message: &Message) -> Cow<'_, str> {
    match message {
        Message::System { text } => (&**text).into(),
        Message::Assistant(reply) => reply.text.as_deref().unwrap_or_default().into(),
        Message::User { content, .. } | Message::TaskDelegation { content } => content.text(),
        Message::Tool(result) => result.content.text(),
    }
}

/// The task, and the draft: the last reply.
fn asked(state: &State) -> String {
    let history = state.conversation.history();
    let texts = &state.setup.policy().wording.texts;
    let mut text = String::new();
    let mut section = |heading: &str, parts: &mut dyn Iterator<Item = Arc<Message>>| {
        let mut heading = Some(heading);
        for part in parts {
            let body = text_of(&part);
            let body = texts.unworded(&body);
            if body.trim().is_empty() {
                continue;
            }
            let before = if text.is_empty() { "" } else { "\n\n" };
            // Writing into a String cannot fail.
            let _infallible = match heading.take() {
                Some(heading) => write!(text, "{before}{heading}:\n{body}"),
                None => write!(text, "{before}{body}"),
            };
        }
    };
    section("Objective", &mut state.setup.objectives());
    let progress = &state.progress;
    let asked = progress.input().clone().chain(progress.steered().iter().copied());
    section("Input", &mut asked.filter_map(|at| history.get(at).cloned()));
    section("Draft answer", &mut history.last_non_tool().cloned().into_iter());
    if progress.unread() > 0 {
        let _infallible = write!(text, "\n\n{}", texts.judge_again);
    }
    text
}
