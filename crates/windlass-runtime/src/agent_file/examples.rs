//! Worked examples: they become messages before the input.

use serde_json::Value;
use windlass_core::{AssistantMessage, CallId, Content, Message, ToolCall, ToolMessage};

use crate::yaml::{Field, YamlError};

/// A worked example.
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// What the user says.
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

pub(super) fn decode(field: &Field<'_>) -> Result<Vec<Example>, YamlError> {
    field.list()?.iter().map(example).collect()
}

fn example(field: &Field<'_>) -> Result<Example, YamlError> {
    let mut map = field.map()?;
    let user = text_or_json(&map.required("user")?);
    let calls = map.or("calls", Vec::new(), |calls| calls.list()?.iter().map(call).collect())?;
    let assistant = map.maybe("assistant", |text| text.loose_text())?;
    map.finish()?;
    if calls.is_empty() && assistant.is_none() {
        return Err(
            field.error("agent.example", format!("`{}` has neither `calls` nor `assistant`", field.path))
        );
    }
    Ok(Example { user, calls, assistant })
}

fn call(field: &Field<'_>) -> Result<ExampleCall, YamlError> {
    let mut map = field.map()?;
    let call = ExampleCall {
        name: map.required("name")?.filled_text()?.to_owned(),
        args: Value::Object(map.or("args", serde_json::Map::new(), |args| args.json_object())?),
        result: text_or_json(&map.required("result")?),
    };
    map.finish()?;
    Ok(call)
}

/// A text as it is, anything else as compact JSON.
fn text_or_json(field: &Field<'_>) -> String {
    field.node.as_str().map_or_else(|| field.json().to_string(), str::to_owned)
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
