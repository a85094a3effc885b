//! Owns the request side of Ollama's API: messages and tools to bytes that stay the same from turn to turn.
//!
//! A turn encodes only its new messages; the body is put together by copying bytes.

use windlass_core::model::ToolChoice;
use windlass_core::{Message, ToolSpec};

pub(super) use self::content::takes;
use self::content::{is_left_out, message};
use super::options::OPTIONS;
use crate::ModelRequest;
use crate::wires::effort::is_off;
use crate::wires::json::{field, json_string, json_value, number, object};
use crate::wires::once::report;
use crate::wires::options::with_extra;
use crate::wires::prefix::{Conversation, Kept, with_kept};
use crate::wires::tools::{Brackets, offered};
use crate::wires::{Dialect, Encoding};

mod content;

/// The elements of the `messages` array, with commas between them.
struct Messages {
    bytes: Vec<u8>,
}

impl Conversation for Messages {
    fn start(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes + 256) }
    }

    fn add(&mut self, dialect: &Dialect, new: &Message) {
        if is_left_out(dialect, new) {
            return;
        }
        if !self.bytes.is_empty() {
            self.bytes.push(b',');
        }
        message(&mut self.bytes, dialect, new);
    }

    fn tools(request: &ModelRequest) -> Vec<u8> {
        tools(request.tools.iter())
    }
}

/// Encodes a request, `stream` saying whether the reply comes as lines of JSON.
pub fn encode(dialect: &Dialect, request: &ModelRequest) -> Encoding {
    let mut head = Vec::with_capacity(64 + request.model.name.len());
    head.extend_from_slice(b"{\"model\":");
    json_string(&mut head, dialect.plain_name(&request.model.name));
    head.extend_from_slice(b",\"messages\":[");
    let mut tail = Vec::with_capacity(128);
    settings(&mut tail, dialect, request);

    with_kept(&request.prefix, dialect, request, |kept: &Kept<Messages>| {
        let only;
        let tools = match &request.choice {
            ToolChoice::None => &[],
            ToolChoice::Auto | ToolChoice::Required => kept.tools(),
            // The API cannot ask for a tool: the model is shown no other.
            ToolChoice::Named(_) | ToolChoice::OneOf(_) => {
                only = tools(request.tools.iter().filter(|spec| request.choice.allows(&spec.name)));
                &only
            }
        };
        let messages = &kept.messages.bytes;
        let body = [&head, messages, &b"]"[..], tools, &tail].concat();
        Encoding { body, content_bytes: messages.len() + tools.len() }
    })
}

/// `,"tools":[…]` of the offered tools; nothing if there is none.
fn tools<'s>(specs: impl Iterator<Item = &'s ToolSpec>) -> Vec<u8> {
    offered(specs, false, Brackets::TOOLS, |out, tool| {
        out.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
        json_string(out, &tool.spec.name);
        tool.described(out);
        field(out, "parameters");
        json_value(out, tool.schema());
        out.extend_from_slice(b"}}");
    })
}

/// Everything behind messages and tools, with the closing brace.
fn settings(out: &mut Vec<u8>, dialect: &Dialect, request: &ModelRequest) {
    if request.is_json() {
        out.extend_from_slice(b",\"format\":\"json\"");
    } else if let Some((_, schema)) = request.output_schema() {
        field(out, "format");
        json_value(out, &**schema);
    }
    if let Some(effort) = &request.model.reasoning {
        field(out, "think");
        think(out, effort);
        if &**effort == "minimal" {
            report(&request.model, "reasoning", "low is sent, because the API knows no lower effort");
        }
    }
    options(out, dialect, request);
    OPTIONS.write(out, dialect, None, &request.model);
    if request.model.logprobs().is_some() {
        out.extend_from_slice(b",\"logprobs\":true");
    }
    // By default a server drops the oldest messages that do not fit into its context, and the beginning of a reply that grows
    // beyond it. Without, both are seen: as an error, and as a reply that its limit cut off.
    out.extend_from_slice(b",\"truncate\":false,\"shift\":false,\"stream\":");
    out.extend_from_slice(if request.stream { b"true}" } else { b"false}" });
    with_extra(out, &request.model);
}

/// An effort as Ollama names it: a level, or whether to think at all. Other words go out as they are, for the server to judge.
fn think(out: &mut Vec<u8>, effort: &str) {
    match effort {
        off if is_off(off) => out.extend_from_slice(b"false"),
        "true" => out.extend_from_slice(b"true"),
        "minimal" => json_string(out, "low"),
        "xhigh" => json_string(out, "max"),
        level => json_string(out, level),
    }
}

/// `,"options":{…}` of the sampling settings; nothing if there is none (Ollama, "Modelfile: valid parameters and values").
fn options(out: &mut Vec<u8>, dialect: &Dialect, request: &ModelRequest) {
    let model = &request.model;
    let mut fields = Vec::new();
    number(&mut fields, "temperature", model.temperature);
    number(&mut fields, "top_p", model.top_p);
    number(&mut fields, "presence_penalty", model.presence_penalty);
    if let Some(max) = model.max_tokens {
        field(&mut fields, "num_predict");
        json_value(&mut fields, &max);
    }
    if !model.stop.is_empty() {
        field(&mut fields, "stop");
        json_value(&mut fields, &model.stop);
    }
    OPTIONS.write(&mut fields, dialect, Some("options"), model);
    object(out, "options", &fields);
}

#[cfg(test)]
mod tests;
