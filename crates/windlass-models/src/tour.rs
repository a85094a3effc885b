//! Owns the offline tour: a stand-in for a language model that shows what agents and tools do, without any network.
//!
//! It knows no tool and no example by heart: it reads the user's message by a few rules, looks among the offered
//! tools for fitting ones, asks them, and words what they answered.

use std::collections::BTreeMap;

use futures_util::stream;
use serde_json::{Value, json};
use windlass_core::message::ToolCall;
use windlass_core::model::{Reply, ReplyCall, StopReason, ToolChoice, Usage};
use windlass_core::tool::ToolKind;
use windlass_core::{CallId, Message, Text, ToolSpec};

use self::fit::{Need, Planned, allowed_folders_tool, need_of, plan, tool_for};
use self::intent::{Intent, intents};
use crate::{Delta, Deltas, Model, ModelRequest};

mod fit;
mod intent;
mod sums;

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
    let offered: &[ToolSpec] = if request.choice == ToolChoice::None { &[] } else { &request.tools };
    let wanted = intents(&input);
    let planned = planned(offered, &wanted, &done);
    let (text, planned) = match planned {
        calls if !calls.is_empty() => (None, calls),
        _ => {
            let text = if done.is_empty() {
                introduction(offered, &wanted)
            } else {
                answer(request, &wanted, &done)
            };
            let forced = forced(offered, &request.choice, &text).filter(|_| done.is_empty());
            match forced.or_else(|| finish(offered, &text)) {
                Some(call) => (None, vec![call]),
                None => (Some(text), Vec::new()),
            }
        }
    };
    let text = match (&request.response_schema, text) {
        (Some((_, schema)), Some(text)) => Some(fill(schema, &text).to_string()),
        (_, text) => text,
    };
    let calls: Vec<ReplyCall> = planned
        .into_iter()
        .map(|call| ReplyCall { id: None, name: call.name, args: call.args.into() })
        .collect();
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

/// The calls to make now: none once there are results, unless the first results only listed the allowed folders.
fn planned(tools: &[ToolSpec], wanted: &[Intent], done: &[Done<'_>]) -> Vec<Planned> {
    let allowed = tool_for(tools, Need::Allowed).map(|spec| &spec.name);
    let folders_only = done.iter().all(|one| Some(&one.call.name) == allowed && !one.failed);
    if !done.is_empty() && !folders_only {
        return Vec::new();
    }
    let base = done.iter().flat_map(|one| one.text.lines()).map(str::trim).find(|line| line.starts_with('/'));
    let mut calls: Vec<Planned> = Vec::new();
    for intent in wanted {
        let Some(mut call) = plan(tools, intent, base) else { continue };
        let relative = matches!(intent, Intent::List(path) | Intent::Read(path) if !path.starts_with('/'));
        if let Some(allowed) = allowed_folders_tool(tools, &call.name).filter(|_| relative && done.is_empty())
        {
            call = Planned { name: allowed.name.clone(), args: "{}".to_owned() };
        }
        if !calls.contains(&call) {
            calls.push(call);
        }
    }
    // First the folders alone: everything else is asked once they are known.
    if let Some(first) = calls.iter().find(|call| Some(&call.name) == allowed) {
        return vec![first.clone()];
    }
    calls
}

/// Words for all results.
fn answer(request: &ModelRequest, wanted: &[Intent], done: &[Done<'_>]) -> String {
    let telling =
        done.iter().filter(|one| one.failed || need(request, &one.call.name) != Some(Need::Allowed));
    let mut parts: Vec<String> = telling.map(|one| tell(request, wanted, one)).collect();
    if parts.is_empty() {
        parts.extend(done.iter().map(|one| format!("`{}` says: {}", one.call.name, quoted(&one.text))));
    }
    parts.join("\n\n")
}

fn need(request: &ModelRequest, name: &Text) -> Option<Need> {
    request.tools.iter().find(|spec| spec.name == *name).and_then(need_of)
}

fn tell(request: &ModelRequest, wanted: &[Intent], one: &Done<'_>) -> String {
    let result = quoted(&one.text);
    if one.failed {
        return format!("`{}` did not work: {result}", one.call.name);
    }
    let args: Value = serde_json::from_str(&one.call.args).unwrap_or_default();
    let first = args.as_object().and_then(|args| args.values().find_map(Value::as_str)).unwrap_or_default();
    let sum = wanted.iter().find_map(|intent| match intent {
        Intent::Sum { text, expression }
            if plan(&request.tools, intent, None).is_some_and(|call| call.args == *one.call.args) =>
        {
            Some(text.as_str()).filter(|text| !text.is_empty()).or(Some(expression))
        }
        Intent::Sum { .. } | Intent::Time | Intent::List(_) | Intent::Read(_) => None,
    });
    match (need(request, &one.call.name), sum) {
        (_, Some(sum)) => {
            let mut letters = sum.chars();
            let start = letters.next().map(char::to_uppercase).into_iter().flatten();
            format!("{} is {result}.", start.chain(letters).collect::<String>())
        }
        (Some(Need::Now), _) => format!("It is {result}."),
        (Some(Need::List), _) => format!("These files are in `{first}`:\n{result}"),
        (Some(Need::Read), _) => format!("`{first}` says:\n\n{result}"),
        _ => format!("`{}` says: {result}", one.call.name),
    }
}

fn quoted(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((at, _)) => format!("{}\n[...]", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// What the tour is and can do with these tools.
fn introduction(tools: &[ToolSpec], wanted: &[Intent]) -> String {
    let examples = [
        (Need::Calculate, "What is 17% of 2350?"),
        (Need::Now, "What day is it?"),
        (Need::List, "Which files are here?"),
        (Need::Read, "Read README.md"),
    ];
    let can: Vec<String> = examples
        .iter()
        .filter_map(|(need, example)| {
            Some(format!("- \"{example}\" (with `{}`)", tool_for(tools, *need)?.name))
        })
        .collect();
    let lacking = if wanted.is_empty() { "" } else { "None of the tools that I am offered fits this. " };
    let can = match can.as_slice() {
        [] => "With tools for arithmetic, the time or files I could show more.".to_owned(),
        can => format!("Ask me for example:\n{}", can.join("\n")),
    };
    format!(
        "{lacking}I am the offline tour of Windlass: a few rules, no language model. {can}\n\
         For real answers, set OPENAI_API_KEY or start Ollama or llama-server."
    )
}

/// A call where one is demanded and none suggests itself: of the named tool, else of one that ends the run.
fn forced(tools: &[ToolSpec], choice: &ToolChoice, text: &str) -> Option<Planned> {
    let mut offered = tools.iter().filter(|spec| spec.is_offered());
    let ends = |spec: &&ToolSpec| {
        ["finish", "final", "answer", "submit"].iter().any(|word| spec.name.to_lowercase().contains(word))
    };
    let spec = match choice {
        ToolChoice::Auto | ToolChoice::None => return None,
        ToolChoice::Required => offered.clone().find(ends).or_else(|| offered.next())?,
        ToolChoice::Named(name) => offered.find(|spec| spec.name == *name)?,
    };
    Some(Planned { name: spec.name.clone(), args: fill(&spec.parameters, text).to_string() })
}

/// The call that ends a typed run, with the text as its output's texts.
fn finish(tools: &[ToolSpec], text: &str) -> Option<Planned> {
    let spec = tools.iter().find(|spec| matches!(spec.kind, ToolKind::Finish(_)))?;
    Some(Planned { name: spec.name.clone(), args: fill(&spec.parameters, text).to_string() })
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
