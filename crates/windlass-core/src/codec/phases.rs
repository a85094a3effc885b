//! Turns in two phases: actions as one JSON object that is not streamed, then the answer (KAOS, pull request 59).
//!
//! A turn's first call asks for actions. When there are none, a second call without tools gives the answer.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use windlass_text::steps;

use crate::codec::fenced::{delegation, tool_call};
use crate::codec::forms::ReadCall;
use crate::policy::values::{Phases, Stop};
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::call_args::Span;
use crate::vocabulary::ids::{ActionId, Text};
use crate::vocabulary::purpose::ToolChoice;
use crate::vocabulary::tool::ToolSpec;

/// The most actions of one reply.
const MOST_ACTIONS: usize = 64;

pub(crate) const TOOL_INSTRUCTIONS: &str = "To use a tool, respond with this JSON object and nothing else:\n\
    {\"tool\": \"tool_name\", \"arguments\": {\"arg1\": \"value1\"}}";
pub(crate) const DELEGATE_INSTRUCTIONS: &str = "To delegate a task to another agent, respond with this JSON object and \
    nothing else:\n{\"agent\": \"agent_name\", \"task\": \"task description\"}";
pub(crate) const NO_ACTION: &str = "If no action is needed, respond with {} and nothing else. \
    You will then be asked for your answer.";

impl State {
    /// Whether this call asks for actions only: their text is no answer, and is not shown while it is written.
    pub fn asks_for_actions(&self, action: ActionId) -> bool {
        self.model_call(action).is_some_and(|model_call| self.is_for_actions(model_call))
    }

    pub(crate) fn is_for_actions(&self, model_call: &ModelCall) -> bool {
        let replies = &self.setup.policy().replies;
        replies.phases == Phases::Two
            && replies.stop == Stop::Text
            && *model_call.choice() == ToolChoice::Auto
            && self.toolbox.all().iter().any(ToolSpec::is_offered)
    }
}

/// A reply of the first phase. Other fields do not count.
#[derive(Deserialize)]
struct Object<'t> {
    tool: Option<IgnoredAny>,
    agent: Option<IgnoredAny>,
    #[serde(borrow)]
    actions: Option<Vec<&'t RawValue>>,
}

/// The actions that a reply is. Empty: it is none. An object that cannot be read is one with a fault.
pub(crate) fn actions_in(text: &Text) -> Vec<ReadCall> {
    let whole = unfenced(text.trim());
    if !whole.starts_with('{') {
        return Vec::new();
    }
    steps::add(whole.len());
    let mut calls = match serde_json::from_str::<Object<'_>>(whole) {
        Ok(Object { actions: Some(list), .. }) => {
            list.into_iter().take(MOST_ACTIONS).map(|one| action(text, one.get())).collect()
        }
        Ok(Object { tool: None, agent: None, actions: None }) => Vec::new(),
        Ok(_) | Err(_) => vec![action(text, whole)],
    };
    // Nothing of such a reply is text beside its calls.
    if let Some(first) = calls.first_mut() {
        first.place = Span::of(text, text);
    }
    calls
}

fn action(text: &Text, object: &str) -> ReadCall {
    let hands_over = serde_json::from_str::<Object<'_>>(object)
        .is_ok_and(|action| action.tool.is_none() && action.agent.is_some());
    let read = if hands_over { delegation } else { tool_call };
    ReadCall { place: Span::of(object, text), ..read(text, Ok(object)) }
}

/// A text without the fence around all of it.
pub(crate) fn unfenced(text: &str) -> &str {
    let body = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    body.and_then(|body| body.strip_suffix("```")).unwrap_or(text).trim()
}
