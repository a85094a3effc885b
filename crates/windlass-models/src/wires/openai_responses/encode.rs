//! Owns the request side of the Responses API: messages and tools to bytes that stay the same from turn to turn.
//!
//! Instructions stand in `input` as messages of the role `system`, not in `instructions`: there they keep their place among the
//! other messages, every server's templates know the role, and OpenAI reads it as `developer` where the model wants that.
//! `instructions` would have to be repeated beside `previous_response_id`, and xAI refuses both together.

use std::cell::Cell;
use std::collections::BTreeMap;

use windlass_core::Message;
use windlass_core::model::{ModelChoice, ModelOption, OptionValue, ToolChoice};

pub(super) use self::content::takes;
pub(super) use self::items::is_odd;
use self::items::{CallIds, Open, message};
use super::hosted::{HOSTED, included};
use super::options::OPTIONS;
use crate::ModelRequest;
use crate::wires::effort::{effort, is_off};
use crate::wires::elements::Elements;
use crate::wires::hosted::with_hosted;
use crate::wires::json::{field, json_string, json_value, listed, number, object};
use crate::wires::options::with_extra;
use crate::wires::own_ids::OwnIds;
use crate::wires::prefix::{Conversation, Kept, with_kept};
use crate::wires::strict;
use crate::wires::tools::{Brackets, DEFERRED, held};
use crate::wires::{Dialect, Encoding};

mod content;
mod items;

/// The most characters of a schema's name (API reference, `text.format.name`).
const MAX_SCHEMA_NAME: usize = 64;

/// The beginnings of items that have a place for a marker.
const MARKED: [&[u8]; 2] = [b"{\"type\":\"message\"", b"{\"type\":\"function_call_output\""];

/// The elements of the `input` array.
struct Messages {
    elements: Elements,
    /// Calls of the last replies whose results are written in a form of their own.
    open: Open,
    /// The provider's own ids of calls.
    ids: OwnIds,
    /// The number of messages in the request that was made last.
    sent: Cell<Option<usize>>,
}

impl Conversation for Messages {
    fn start(bytes: usize) -> Self {
        let elements = Elements::with_capacity(bytes + 256);
        Self { elements, open: BTreeMap::new(), ids: OwnIds::default(), sent: Cell::new(None) }
    }

    fn add(&mut self, dialect: &Dialect, new: &Message) {
        self.ids.note(&dialect.label, new, is_odd);
        let mut ids = CallIds { open: &mut self.open, own: &self.ids };
        message(&mut self.elements.bytes, dialect, new, &mut ids, false);
        self.elements.end();
    }

    fn tools(request: &ModelRequest) -> Vec<u8> {
        with_hosted(tools(request), request, HOSTED)
    }
}

/// Encodes a request.
pub fn encode(dialect: &Dialect, request: &ModelRequest) -> Encoding {
    let mut head = Vec::with_capacity(64 + request.model.name.len());
    head.extend_from_slice(b"{\"model\":");
    json_string(&mut head, dialect.plain_name(&request.model.name));
    head.extend_from_slice(b",\"input\":[");
    let mut tail = Vec::with_capacity(192);
    settings(&mut tail, dialect, request);

    with_kept(&request.prefix, dialect, request, |kept: &Kept<Messages>| {
        let tools = if request.choice == ToolChoice::None { &[] } else { kept.tools() };
        let mut middle = Vec::new();
        if !tools.is_empty() {
            tool_choice(&mut middle, request);
        }
        let marked = kept.messages.marked(dialect, request);
        let mut messages = marked.as_ref().unwrap_or(&kept.messages.elements.bytes).as_slice();
        let previous = kept.messages.previous(dialect, request);
        if let Some(OptionValue::Text(id)) = request.model.option(ModelOption::Conversation) {
            messages = kept.messages.elements.since(known_to_provider(dialect, request));
            field(&mut middle, "conversation");
            json_string(&mut middle, id);
        } else if let Some((from, id)) = previous {
            messages = kept.messages.elements.since(from);
            field(&mut middle, "previous_response_id");
            json_string(&mut middle, &id);
        }
        let body = [&head, messages, &b"]"[..], tools, &middle, &tail].concat();
        Encoding { body, content_bytes: messages.len() + tools.len() }
    })
}

impl Messages {
    /// The messages with the marked ones written anew; `None`: there is none.
    fn marked(&self, dialect: &Dialect, request: &ModelRequest) -> Option<Vec<u8>> {
        let places = if dialect.quirks.cache_control { request.marked() } else { Vec::new() };
        self.elements.marked(&places, request, |marked, kept| {
            if !content::can_be_marked(marked) || !MARKED.iter().any(|begin| kept.starts_with(begin)) {
                return None;
            }
            let mut anew = Vec::new();
            let mut ids = CallIds { open: &mut Open::new(), own: &self.ids };
            message(&mut anew, dialect, marked, &mut ids, true);
            Some(anew)
        })
    }

    /// The place of the first message that the provider does not have yet, and the id of the stored response before it.
    ///
    /// The response must answer the very request that was made last from here, and each request is sent so only once: after
    /// a failure, a restart or an edit of the history the whole input goes out, and the provider's memory does not matter.
    fn previous(&self, dialect: &Dialect, request: &ModelRequest) -> Option<(usize, String)> {
        let count = request.prompt.len() + request.messages.len();
        let sent = self.sent.replace(Some(count))?;
        if !dialect.quirks.stored_replies || sent + 1 >= count {
            return None;
        }
        let reply = request.messages.at(sent.checked_sub(request.prompt.len())?)?;
        let Message::Assistant(message) = &**reply else { return None };
        Some((sent + 1, items::response_of(message, dialect)?))
    }
}

/// The place of the first message that a conversation at the provider does not have yet: it has everything up to the last stored response
/// (API reference, "Conversations").
fn known_to_provider(dialect: &Dialect, request: &ModelRequest) -> usize {
    let is_stored = |message: &Message| matches!(message, Message::Assistant(reply) if items::response_of(reply, dialect).is_some());
    let mut places = (0..request.messages.len()).rev();
    let last = places.find(|place| request.messages.at(*place).is_some_and(|message| is_stored(message)));
    last.map_or(0, |last| request.prompt.len() + last + 1)
}

/// `,"tools":[…]`; nothing if there is none. The API's default is strict, so it is said of each tool.
fn tools(request: &ModelRequest) -> Vec<u8> {
    held(request, Brackets::TOOLS, |out, tool| {
        out.extend_from_slice(b"{\"type\":\"function\",");
        tool.named(out);
        field(out, "parameters");
        json_value(out, tool.form.unwrap_or_else(|| tool.schema()));
        field(out, "strict");
        json_value(out, &tool.form.is_some());
        if request.is_deferred(tool.spec) {
            out.extend_from_slice(DEFERRED);
        }
        out.push(b'}');
    })
}

fn tool_choice(out: &mut Vec<u8>, request: &ModelRequest) {
    match &request.choice {
        ToolChoice::Auto | ToolChoice::None => {}
        ToolChoice::Required => out.extend_from_slice(b",\"tool_choice\":\"required\""),
        ToolChoice::Named(name) => {
            out.extend_from_slice(b",\"tool_choice\":{\"type\":\"function\",\"name\":");
            json_string(out, name);
            out.push(b'}');
        }
        ToolChoice::OneOf(names) => {
            out.extend_from_slice(
                b",\"tool_choice\":{\"type\":\"allowed_tools\",\"mode\":\"required\",\"tools\":[",
            );
            listed(out, names, |out, name| {
                out.extend_from_slice(b"{\"type\":\"function\",\"name\":");
                json_string(out, name);
                out.push(b'}');
            });
            out.extend_from_slice(b"]}");
        }
    }
    if let Some(parallel) = request.model.parallel {
        field(out, "parallel_tool_calls");
        json_value(out, &parallel);
    }
}

/// Everything behind messages and tools, with the closing brace.
///
/// The API has no `stop` and no `presence_penalty` (API reference, "Create a model response") and refuses requests with one.
fn settings(out: &mut Vec<u8>, dialect: &Dialect, request: &ModelRequest) {
    let model = &request.model;
    let mut text = Vec::new();
    if request.is_json() {
        text.extend_from_slice(b",\"format\":{\"type\":\"json_object\"}");
    } else if let Some((name, schema)) = request.output_schema() {
        let form = strict::output_form(request);
        let form = form.as_deref().and_then(|form| form.as_ref().ok());
        let held = form.filter(|form| request.is_output_strict() || *form == &**schema);
        response_format(&mut text, name, held.unwrap_or(schema), held.is_some());
    }
    OPTIONS.write(&mut text, dialect, Some("text"), model);
    object(out, "text", &text);
    number(out, "temperature", model.temperature);
    if let Some(max) = model.max_tokens {
        field(out, "max_output_tokens");
        json_value(out, &max);
    }
    number(out, "top_p", model.top_p);
    reasoning(out, dialect, model);
    if !model.metadata.is_empty() {
        field(out, "metadata");
        json_value(out, &model.metadata);
    }
    OPTIONS.write(out, dialect, None, model);
    field(out, "store");
    json_value(out, &dialect.quirks.stored_replies);
    let thoughts = thinks(dialect, model).then_some("reasoning.encrypted_content");
    let logprobs = model.logprobs().map(|_| "message.output_text.logprobs");
    let mut included = thoughts.into_iter().chain(logprobs).chain(included(request)).peekable();
    if included.peek().is_some() {
        out.extend_from_slice(b",\"include\":[");
        listed(out, included, json_string);
        out.push(b']');
    }
    if request.stream {
        out.extend_from_slice(b",\"stream\":true");
    }
    out.push(b'}');
    with_extra(out, model);
}

/// `text.format`. A schema that strict mode takes as it is costs nothing to be enforced; another one only where it is asked.
fn response_format(out: &mut Vec<u8>, name: &str, schema: &serde_json::Value, strict: bool) {
    out.extend_from_slice(b",\"format\":{\"type\":\"json_schema\",\"name\":");
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let name = name.chars().map(|letter| if allowed(letter) { letter } else { '_' });
    json_string(out, &name.take(MAX_SCHEMA_NAME).collect::<String>());
    field(out, "schema");
    json_value(out, schema);
    field(out, "strict");
    json_value(out, &strict);
    out.push(b'}');
}

/// `reasoning`: the effort, and the summary of its thoughts. Without a setting no summary is asked for: OpenAI gives them to verified
/// organizations only and refuses the others' requests.
fn reasoning(out: &mut Vec<u8>, dialect: &Dialect, model: &ModelChoice) {
    let effort = effort(dialect, model);
    let set = model.reasoning_options();
    let auto = set.and_then(|set| set.show).filter(|show| *show).map(|_| "auto");
    let summary = set.and_then(|set| set.summary.as_deref()).or(auto);
    let mut own = Vec::new();
    for (name, value) in [("effort", effort), ("summary", summary)] {
        if let Some(value) = value {
            field(&mut own, name);
            json_string(&mut own, value);
        }
    }
    object(out, "reasoning", &own);
}

/// Whether the model may reason, so that its reasoning is asked for in the form that can go back. OpenAI refuses that for its
/// models that do not reason, so there it goes by the name (guide "Reasoning models").
fn thinks(dialect: &Dialect, model: &ModelChoice) -> bool {
    if model.reasoning.as_deref().is_some_and(|effort| !is_off(effort)) || model.reasoning_options().is_some()
    {
        return true;
    }
    let name = dialect.plain_name(&model.name);
    let name = name.rsplit('/').next().unwrap_or(name);
    let version = |prefix: &str| name.strip_prefix(prefix)?.chars().next()?.to_digit(10);
    let reasons = version("o").is_some()
        || version("gpt-").is_some_and(|version| version >= 5)
        || name.starts_with("codex")
        || name.starts_with("grok");
    reasons && !name.contains("-chat")
}

#[cfg(test)]
mod tests;
