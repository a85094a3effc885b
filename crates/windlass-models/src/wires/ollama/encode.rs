//! Owns the request side of Ollama's API: messages and tools to bytes that stay the same from turn to turn.
//!
//! A turn encodes only its new messages; the body is put together by copying bytes.

use windlass_core::model::ToolChoice;
use windlass_core::{Message, ToolSpec};

use self::content::message;
use crate::ModelRequest;
use crate::wires::json::{field, json_string, json_value};
use crate::wires::prefix::{Conversation, Kept, with_kept};
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
        if !self.bytes.is_empty() {
            self.bytes.push(b',');
        }
        message(&mut self.bytes, dialect, new);
    }

    fn tools(specs: &[ToolSpec]) -> Vec<u8> {
        tools(specs.iter())
    }
}

/// Encodes a request, `stream` saying whether the reply comes as lines of JSON.
pub fn encode(dialect: &Dialect, request: &ModelRequest) -> Encoding {
    let mut head = Vec::with_capacity(64 + request.model.name.len());
    head.extend_from_slice(b"{\"model\":");
    json_string(&mut head, dialect.plain_name(&request.model.name));
    head.extend_from_slice(b",\"messages\":[");
    let mut tail = Vec::with_capacity(128);
    settings(&mut tail, request);

    with_kept(&request.prefix, dialect, request, |kept: &Kept<Messages>| {
        let only;
        let tools = match &request.choice {
            ToolChoice::None => &[],
            ToolChoice::Auto | ToolChoice::Required => kept.tools(),
            // The API cannot ask for a tool: the model is shown no other.
            ToolChoice::Named(name) => {
                only = tools(request.tools.iter().filter(|spec| spec.name == *name));
                &only
            }
        };
        let messages = &kept.messages.bytes;
        let parts = [&head, messages, &b"]"[..], tools, &tail];
        let mut body = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
        for part in parts {
            body.extend_from_slice(part);
        }
        Encoding { body, content_bytes: messages.len() + tools.len() }
    })
}

/// `,"tools":[…]` of the offered tools; nothing if there is none.
fn tools<'s>(specs: impl Iterator<Item = &'s ToolSpec>) -> Vec<u8> {
    let mut out = Vec::new();
    for spec in specs.filter(|spec| spec.is_offered()) {
        let begin: &[u8] = if out.is_empty() { b",\"tools\":[" } else { b"," };
        out.extend_from_slice(begin);
        out.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
        json_string(&mut out, &spec.name);
        field(&mut out, "description");
        json_string(&mut out, &spec.description);
        field(&mut out, "parameters");
        json_value(&mut out, &*spec.parameters);
        out.extend_from_slice(b"}}");
    }
    if !out.is_empty() {
        out.push(b']');
    }
    out
}

/// Everything behind messages and tools, with the closing brace.
fn settings(out: &mut Vec<u8>, request: &ModelRequest) {
    if let Some((_, schema)) = &request.response_schema {
        field(out, "format");
        json_value(out, &**schema);
    }
    if let Some(effort) = &request.model.reasoning {
        field(out, "think");
        think(out, effort);
    }
    options(out, request);
    // By default a server drops the oldest messages that do not fit into its context, and the beginning of a reply that grows
    // beyond it. Without, both are seen: as an error, and as a reply that its limit cut off.
    out.extend_from_slice(b",\"truncate\":false,\"shift\":false,\"stream\":");
    out.extend_from_slice(if request.stream { b"true}" } else { b"false}" });
}

/// An effort as Ollama names it: a level, or whether to think at all. Other words go out as they are, for the server to judge.
fn think(out: &mut Vec<u8>, effort: &str) {
    match effort {
        "none" | "false" => out.extend_from_slice(b"false"),
        "true" => out.extend_from_slice(b"true"),
        "minimal" => json_string(out, "low"),
        "xhigh" => json_string(out, "max"),
        level => json_string(out, level),
    }
}

/// `,"options":{…}` of the sampling settings; nothing if there is none (Ollama, "Modelfile: valid parameters and values").
fn options(out: &mut Vec<u8>, request: &ModelRequest) {
    let model = &request.model;
    let finite = |number: &f64| number.is_finite();
    let before = out.len();
    if let Some(temperature) = model.temperature.filter(finite) {
        field(out, "temperature");
        json_value(out, &temperature);
    }
    if let Some(top_p) = model.top_p.filter(finite) {
        field(out, "top_p");
        json_value(out, &top_p);
    }
    if let Some(penalty) = model.presence_penalty.filter(finite) {
        field(out, "presence_penalty");
        json_value(out, &penalty);
    }
    if let Some(max) = model.max_tokens {
        field(out, "num_predict");
        json_value(out, &max);
    }
    if !model.stop.is_empty() {
        field(out, "stop");
        json_value(out, &model.stop);
    }
    if out.len() > before {
        // The first field's comma gives way to the head.
        out.splice(before..=before, *b",\"options\":{");
        out.push(b'}');
    }
}

#[cfg(test)]
mod tests;
