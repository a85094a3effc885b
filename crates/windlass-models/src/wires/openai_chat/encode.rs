//! Owns the request side of OpenAI Chat Completions: messages and tools to bytes that stay the same from turn to turn.
//!
//! A turn encodes only its new messages; the body is put together by copying bytes.

use windlass_core::Message;
use windlass_core::model::{ModelChoice, ToolChoice};

pub(super) use self::content::takes;
use self::content::{is_left_out, message};
pub(super) use self::ids::is_long;
use super::hosted;
use super::options::OPTIONS;
use crate::ModelRequest;
use crate::wires::effort::effort;
use crate::wires::elements::Elements;
use crate::wires::json::{field, json_string, json_value, listed, number, object};
use crate::wires::marker::{LIFETIMES, lifetime, marker};
use crate::wires::options::with_extra;
use crate::wires::own_ids::OwnIds;
use crate::wires::prefix::{Conversation, Kept, with_kept};
use crate::wires::strict;
use crate::wires::tools::{Brackets, held};
use crate::wires::{Dialect, Encoding};

mod content;
mod ids;

/// The elements of the `messages` array; their ends are kept if some may be marked.
struct Messages {
    elements: Elements,
    /// The provider's own ids of calls.
    ids: OwnIds,
}

impl Conversation for Messages {
    fn start(bytes: usize) -> Self {
        Self { elements: Elements::with_capacity(bytes + 256), ids: OwnIds::default() }
    }

    fn add(&mut self, dialect: &Dialect, new: &Message) {
        self.ids.note(&dialect.label, new, is_long);
        let bytes = &mut self.elements.bytes;
        if !is_left_out(dialect, new) {
            if !bytes.is_empty() {
                bytes.push(b',');
            }
            message(bytes, dialect, &self.ids, new, &[]);
        }
        if dialect.quirks.cache_control {
            self.elements.end();
        }
    }

    fn tools(request: &ModelRequest) -> Vec<u8> {
        tools(request)
    }
}

/// Encodes a request, `stream` saying whether the reply comes as server-sent events.
pub fn encode(dialect: &Dialect, request: &ModelRequest) -> Encoding {
    let mut head = Vec::with_capacity(64 + request.model.name.len());
    head.extend_from_slice(b"{\"model\":");
    json_string(&mut head, dialect.plain_name(&request.model.name));
    head.extend_from_slice(b",\"messages\":[");
    let mut tail = Vec::with_capacity(128);
    settings(&mut tail, dialect, request);

    with_kept(&request.prefix, dialect, request, |kept: &Kept<Messages>| {
        let tools = if request.choice == ToolChoice::None { &[] } else { kept.tools() };
        let mut choice = Vec::new();
        if !tools.is_empty() {
            tool_choice(&mut choice, dialect, &request.choice);
            if let Some(parallel) = request.model.parallel {
                field(&mut choice, "parallel_tool_calls");
                json_value(&mut choice, &parallel);
            }
        }
        let marked = kept.messages.marked(dialect, request);
        let messages = marked.as_ref().unwrap_or(&kept.messages.elements.bytes);
        let body = [&head, messages, &b"]"[..], tools, &choice, &tail].concat();
        Encoding { body, content_bytes: messages.len() + tools.len() }
    })
}

impl Messages {
    /// The messages with the marked ones written anew; `None`: there is none.
    fn marked(&self, dialect: &Dialect, request: &ModelRequest) -> Option<Vec<u8>> {
        let places = if dialect.quirks.cache_control { request.marked() } else { Vec::new() };
        let mark = marker(&request.model);
        self.elements.marked(&places, request, |marked, kept| {
            // A message that is left out has no place for a mark.
            if kept.is_empty() {
                return None;
            }
            let mut anew = Vec::new();
            message(&mut anew, dialect, &self.ids, marked, &mark);
            Some(anew)
        })
    }
}

/// `,"tools":[…]` of the offered tools; nothing if there is none.
fn tools(request: &ModelRequest) -> Vec<u8> {
    held(request, Brackets::TOOLS, |out, tool| {
        out.extend_from_slice(b"{\"type\":\"function\",\"function\":{");
        tool.named(out);
        field(out, "parameters");
        match tool.form {
            Some(schema) => {
                json_value(out, schema);
                out.extend_from_slice(b",\"strict\":true");
            }
            None => json_value(out, tool.schema()),
        }
        out.extend_from_slice(b"}}");
    })
}

fn tool_choice(out: &mut Vec<u8>, dialect: &Dialect, choice: &ToolChoice) {
    match choice {
        ToolChoice::Auto | ToolChoice::None => {}
        ToolChoice::Named(name) => {
            out.extend_from_slice(b",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":");
            json_string(out, name);
            out.extend_from_slice(b"}}");
        }
        ToolChoice::OneOf(names) if dialect.quirks.allowed_tools => {
            out.extend_from_slice(
                b",\"tool_choice\":{\"type\":\"allowed_tools\",\"allowed_tools\":{\"mode\":\"required\",\"tools\":[",
            );
            listed(out, names, |out, name| {
                out.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
                json_string(out, name);
                out.extend_from_slice(b"}}");
            });
            out.extend_from_slice(b"]}}");
        }
        // Other servers do not know a choice among some: the engine holds the model to it.
        ToolChoice::Required | ToolChoice::OneOf(_) => {
            out.extend_from_slice(b",\"tool_choice\":\"required\"");
        }
    }
}

/// Everything behind messages and tools, with the closing brace.
fn settings(out: &mut Vec<u8>, dialect: &Dialect, request: &ModelRequest) {
    if request.is_json() {
        out.extend_from_slice(b",\"response_format\":{\"type\":\"json_object\"}");
    } else if let Some((name, schema)) = request.output_schema() {
        out.extend_from_slice(b",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":");
        json_string(out, name);
        // OpenAI refuses a schema that is called strict and is not.
        let form = strict::output_form(request);
        let form = form.as_deref().and_then(|form| form.as_ref().ok());
        let held = form.filter(|form| request.is_output_strict() || *form == &**schema);
        field(out, "strict");
        json_value(out, &held.is_some());
        field(out, "schema");
        json_value(out, held.unwrap_or(schema));
        out.extend_from_slice(b"}}");
    }
    number(out, "temperature", request.model.temperature);
    if let Some(max) = request.model.max_tokens {
        field(out, if dialect.quirks.completion_tokens { "max_completion_tokens" } else { "max_tokens" });
        json_value(out, &max);
    }
    number(out, "top_p", request.model.top_p);
    number(out, "presence_penalty", request.model.presence_penalty);
    reasoning(out, dialect, &request.model);
    if !request.model.metadata.is_empty() {
        field(out, "metadata");
        json_value(out, &request.model.metadata);
    }
    if !request.model.stop.is_empty() {
        field(out, "stop");
        json_value(out, &request.model.stop);
    }
    OPTIONS.write(out, dialect, None, &request.model);
    let in_marks = |lifetime: &&str| dialect.quirks.cache_control && LIFETIMES.contains(lifetime);
    if let Some(lifetime) = lifetime(&request.model).filter(|lifetime| !in_marks(lifetime)) {
        field(out, "prompt_cache_retention");
        json_string(out, lifetime);
    }
    if request.choice != ToolChoice::None {
        hosted::write(out, dialect, request);
    }
    if request.model.logprobs().is_some() {
        out.extend_from_slice(b",\"logprobs\":true");
    }
    if request.stream {
        out.extend_from_slice(b",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    }
    out.push(b'}');
    with_extra(out, &request.model);
}

/// The effort, and at servers that have one the object of how the model reasons: tokens, and whether the reply has its thoughts.
fn reasoning(out: &mut Vec<u8>, dialect: &Dialect, model: &ModelChoice) {
    let effort = effort(dialect, model);
    if !dialect.quirks.reasoning_object {
        if let Some(effort) = effort {
            field(out, "reasoning_effort");
            json_string(out, effort);
        }
        return;
    }
    let mut own = Vec::new();
    if let Some(effort) = effort {
        field(&mut own, "effort");
        json_string(&mut own, effort);
    }
    let set = model.reasoning_options();
    if let Some(budget) = set.and_then(|set| set.budget_tokens) {
        field(&mut own, "max_tokens");
        json_value(&mut own, &budget);
    }
    if let Some(show) = set.and_then(|set| set.show) {
        field(&mut own, "exclude");
        json_value(&mut own, &!show);
    }
    object(out, "reasoning", &own);
}

#[cfg(test)]
mod tests;
