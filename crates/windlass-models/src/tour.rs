//! Owns the offline tour: a stand-in for a language model that shows what agents and tools do, without any network.
//!
//! It knows no tool by heart: it calls the offered tools that the question is about, and repeats what they answered.

use std::collections::BTreeMap;

use futures_util::stream;
use serde_json::{Value, json};
use windlass_core::message::ToolCall;
use windlass_core::model::{Reply, ReplyCall, StopReason, ToolChoice, Usage};
use windlass_core::tool::ToolKind;
use windlass_core::{CallId, Message, ToolSpec};

use self::question::{Question, called};
use crate::{Delta, Deltas, Model, ModelRequest};

mod question;

/// The most characters of a result that an answer repeats.
const MAX_QUOTED_CHARS: usize = 2000;

/// The offline model `tour`: no language model, but a few rules that find work for the tools that are offered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tour;

impl Model for Tour {
    fn provider(&self) -> &'static str {
        "windlass"
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let reply = reply(&request);
        let deltas = if request.stream { pieces(&reply) } else { vec![Delta::Whole(Box::new(reply))] };
        Box::pin(stream::iter(deltas.into_iter().map(Ok)))
    }
}

/// A call since the user's last message, with its result.
struct Done<'h> {
    call: &'h ToolCall,
    text: String,
    failed: bool,
}

fn reply(request: &ModelRequest) -> Reply {
    let (input, done) = since_last_user(request);
    let question = Question::of(&input);
    let tools: &[ToolSpec] = if request.choice == ToolChoice::None { &[] } else { &request.tools };
    let tools = offered(tools);
    let mut text = None;
    let mut calls = if done.is_empty() { question.calls(&tools) } else { Vec::new() };
    if calls.is_empty() {
        let words =
            if done.is_empty() { introduction(&tools) } else { answer(&question, &done).join("\n\n") };
        let forced = forced(&tools, &request.choice, &words).filter(|_| done.is_empty());
        match (forced.or_else(|| finish(&tools, &words)), &request.response_schema) {
            (Some(call), _) => calls = vec![call],
            (None, Some((_, schema))) => text = Some(fill(schema, &words).to_string()),
            (None, None) => text = Some(words),
        }
    }
    let written = text.as_ref().map_or(0, String::len)
        + calls.iter().map(|call| call.name.len() + call.args.len()).sum::<usize>();
    let read = request.prompt.iter().map(|message| message.bytes()).sum::<u64>() + request.messages.bytes();
    Reply {
        text: text.map(Into::into),
        stop: if calls.is_empty() { StopReason::Stop } else { StopReason::ToolCalls },
        calls,
        usage: Usage {
            input: read.div_ceil(4),
            output: written.div_ceil(4) as u64,
            estimated: true,
            ..Usage::default()
        },
        model: request.model.name.clone(),
        ..Reply::default()
    }
}

fn offered(tools: &[ToolSpec]) -> Vec<&ToolSpec> {
    tools.iter().filter(|spec| spec.is_offered()).collect()
}

/// The user's last message, and the calls made since then.
fn since_last_user(request: &ModelRequest) -> (String, Vec<Done<'_>>) {
    let mut input = String::new();
    let mut calls: BTreeMap<&CallId, &ToolCall> = BTreeMap::new();
    let mut done = Vec::new();
    for message in request.messages.iter() {
        match &**message {
            Message::User { content, .. } | Message::TaskDelegation { content } => {
                input = content.text().into_owned();
                calls.clear();
                done.clear();
            }
            Message::Assistant(turn) => calls.extend(turn.calls.iter().map(|call| (&call.id, call))),
            Message::Tool(result) => {
                let text = result.content.text().into_owned();
                done.extend(calls.get(&result.call).map(|call| Done { call, text, failed: result.failed }));
            }
            Message::System { .. } => {}
        }
    }
    (input, done)
}

/// Words for each result.
fn answer(question: &Question<'_>, done: &[Done<'_>]) -> Vec<String> {
    let one = |Done { call, text, failed }: &Done<'_>| {
        let (name, result) = (&call.name, quoted(text));
        if *failed {
            // The usual words for what a person denied: `windlass_core::policy::Results`.
            let denied = result.split_once(&format!("The call of {name} was denied"));
            return match denied.map(|(_, reason)| reason.trim_start_matches([':', '.', ' '])) {
                Some("") => format!("`{name}` was not allowed."),
                Some(reason) => format!("`{name}` was not allowed: {reason}"),
                None => format!("`{name}` did not work: {result}"),
            };
        }
        match question.sum(&call.args) {
            Some(sum) => format!("{sum} is {result}."),
            None if result.contains('\n') => format!("`{name}` says:\n{result}"),
            None => format!("`{name}` says: {result}"),
        }
    };
    done.iter().map(one).collect()
}

fn quoted(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((at, _)) => format!("{}\n[...]", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A text on the tour and its abilities with these tools.
fn introduction(tools: &[&ToolSpec]) -> String {
    let examples = [
        "What is 17% of 2350?",
        "What day is it?",
        "Which files are here?",
        "Read README.md",
        "Save notes.txt: Owls hunt at night.",
    ];
    let can = examples.iter().filter_map(|example| {
        let calls = Question::of(example).calls(tools);
        Some(format!("\n- \"{example}\" (with `{}`)", calls.first()?.name))
    });
    let can = match can.collect::<String>() {
        none if none.is_empty() => {
            "With tools for arithmetic, the time or files I could show more.".to_owned()
        }
        can => format!("Ask me for example:{can}"),
    };
    format!(
        "I am the offline tour of Windlass: a few rules, no language model. {can}\n\
         For real answers, set OPENAI_API_KEY or start Ollama or llama-server."
    )
}

/// A call where one is demanded and none suggests itself: of the named tool, else of one that ends the run.
fn forced(tools: &[&ToolSpec], choice: &ToolChoice, text: &str) -> Option<ReplyCall> {
    let ends = |spec: &&&ToolSpec| {
        ["finish", "final", "answer", "submit"].iter().any(|word| spec.name.to_lowercase().contains(word))
    };
    let spec = match choice {
        ToolChoice::Auto | ToolChoice::None => return None,
        ToolChoice::Required => tools.iter().find(ends).or(tools.first())?,
        ToolChoice::Named(_) | ToolChoice::OneOf(_) => tools.iter().find(|spec| choice.allows(&spec.name))?,
    };
    Some(called(spec, &fill(&spec.parameters, text)))
}

/// The call that ends a typed run, with the text as its output's texts.
fn finish(tools: &[&ToolSpec], text: &str) -> Option<ReplyCall> {
    let spec = tools.iter().find(|spec| matches!(spec.kind, ToolKind::Finish(_)))?;
    Some(called(spec, &fill(&spec.parameters, text)))
}

/// The smallest value of a schema's type, with the text as its texts.
fn fill(schema: &Value, text: &str) -> Value {
    if let Some(value) = ["const", "default"].iter().find_map(|key| schema.get(key)) {
        return value.clone();
    }
    if let Some(first) = schema.get("enum").and_then(Value::as_array).and_then(|values| values.first()) {
        return first.clone();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            let names = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            let one = |name: &Value| {
                let name = name.as_str()?;
                let inner = schema.get("properties").and_then(|all| all.get(name)).unwrap_or(&Value::Null);
                Some((name.to_owned(), fill(inner, text)))
            };
            Value::Object(names.filter_map(one).collect())
        }
        Some("number" | "integer") => schema.get("minimum").cloned().unwrap_or_else(|| json!(0)),
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        Some("null") => Value::Null,
        _ => json!(text),
    }
}

/// The reply as a stream: its text word by word.
fn pieces(reply: &Reply) -> Vec<Delta> {
    let words = reply.text.iter().flat_map(|text| text.split_inclusive(' '));
    let text = words.map(|word| Delta::Text(word.to_owned()));
    let calls = reply.calls.iter().zip(0..).map(|(call, index)| Delta::Call {
        index: Some(index),
        id: None,
        name: Some(call.name.to_string()),
        args: call.args.to_string(),
    });
    text.chain(calls).chain([Delta::Usage(reply.usage), Delta::Stop(reply.stop)]).collect()
}

#[cfg(test)]
mod tests;
