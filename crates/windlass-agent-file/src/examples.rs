//! Worked examples: they become messages before the input.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use windlass_core::message::{AssistantMessage, Content, ToolCall, ToolMessage};
use windlass_core::{CallId, Message};

use super::kinds::{Filled, LooseText};
use crate::yaml::{At, YamlError};

/// A worked example.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// The user's message.
    pub user: String,
    /// The calls that follow, all in one turn.
    pub calls: Vec<ExampleCall>,
    /// The answer.
    pub assistant: Option<String>,
}

/// A call of a worked example.
#[derive(Clone, Debug, PartialEq)]
pub struct ExampleCall {
    /// The tool.
    pub name: String,
    /// Its arguments, an object.
    pub args: Value,
    /// Its result.
    pub result: String,
}

/// A worked example.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "example", extend("anyOf" = [
    { "required": ["assistant"] },
    { "required": ["calls"], "properties": { "calls": { "minItems": 1 } } },
]))]
pub(super) struct ExampleKeys {
    /// The user's message: text, or JSON.
    user: Value,
    /// The calls that follow, in one turn.
    #[serde(default)]
    calls: Vec<CallKeys>,
    /// The answer.
    assistant: Option<LooseText>,
}

/// A call with its result.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct CallKeys {
    /// The tool.
    name: Filled,
    /// Its arguments.
    #[serde(default)]
    args: Map<String, Value>,
    /// Its result: text, or JSON.
    result: Value,
}

pub(super) fn example(keys: At<ExampleKeys>) -> Result<Example, YamlError> {
    if keys.value.calls.is_empty() && keys.value.assistant.is_none() {
        let message = format!("`{}` has neither `calls` nor `assistant`", keys.path);
        return Err(keys.error("agent.example", message));
    }
    let ExampleKeys { user, calls, assistant } = keys.value;
    let calls = calls.into_iter().map(|call| ExampleCall {
        name: call.name.0,
        args: Value::Object(call.args),
        result: text_or_json(call.result),
    });
    Ok(Example { user: text_or_json(user), calls: calls.collect(), assistant: assistant.map(|text| text.0) })
}

/// A text as it is, anything else as compact JSON.
fn text_or_json(value: Value) -> String {
    if let Value::String(text) = value { text } else { value.to_string() }
}

/// The examples as a conversation. Call ids are `example_1_1`, …: no provider makes such.
pub(super) fn messages(examples: &[Example]) -> Vec<Message> {
    let mut messages = Vec::new();
    for (at, example) in examples.iter().enumerate() {
        messages.push(Message::user(example.user.as_str()));
        if !example.calls.is_empty() {
            let id = |nth: usize| CallId::from(format!("example_{}_{}", at + 1, nth + 1));
            let calls = example.calls.iter().enumerate().map(|(nth, call)| ToolCall {
                id: id(nth),
                name: call.name.as_str().into(),
                args: call.args.to_string().into(),
                provider_id: None,
                ..ToolCall::default()
            });
            messages.push(Message::Assistant(AssistantMessage {
                calls: calls.collect(),
                ..AssistantMessage::default()
            }));
            messages.extend(example.calls.iter().enumerate().map(|(nth, call)| {
                Message::Tool(ToolMessage {
                    call: id(nth),
                    name: call.name.as_str().into(),
                    content: Content::from(call.result.as_str()),
                    failed: false,
                })
            }));
        }
        if let Some(text) = &example.assistant {
            messages.push(Message::assistant(text.as_str()));
        }
    }
    messages
}
