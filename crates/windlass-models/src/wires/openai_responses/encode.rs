//! Owns the request side of the Responses API: messages and tools to bytes that stay the same from turn to turn.
//!
//! Instructions stand in `input` as messages of the role `system`, not in `instructions`: there they keep their place among the
//! other messages, every server's templates know the role, and OpenAI reads it as `developer` where the model wants that.
//! `instructions` would have to be repeated beside `previous_response_id`, and xAI refuses both together.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;

use windlass_core::model::{ModelChoice, ToolChoice};
use windlass_core::{Message, ToolSpec};

use self::items::{Open, message};
use crate::ModelRequest;
use crate::wires::json::{field, json_string, json_value, number};
use crate::wires::prefix::{Conversation, Kept, with_kept};
use crate::wires::strict;
use crate::wires::tools::named;
use crate::wires::{Dialect, Encoding};

mod content;
mod items;

/// The most characters of a schema's name (API reference, `text.format.name`).
const MAX_SCHEMA_NAME: usize = 64;

/// The beginnings of items that have a place for a marker.
const MARKED: [&[u8]; 2] = [b"{\"type\":\"message\"", b"{\"type\":\"function_call_output\""];

/// The elements of the `input` array, with commas between them and none marked.
struct Messages {
    bytes: Vec<u8>,
    /// End of each message in `bytes`. A message may be several elements, or none.
    ends: Vec<usize>,
    /// Calls of the last replies whose results are written in a form of their own.
    open: Open,
    /// The number of messages in the request that was made last.
    sent: Cell<Option<usize>>,
}

impl Conversation for Messages {
    fn start(bytes: usize) -> Self {
        let bytes = Vec::with_capacity(bytes + 256);
        Self { bytes, ends: Vec::new(), open: BTreeMap::new(), sent: Cell::new(None) }
    }

    fn add(&mut self, dialect: &Dialect, new: &Message) {
        message(&mut self.bytes, dialect, new, &mut self.open, false);
        self.ends.push(self.bytes.len());
    }

    fn tools(specs: &[ToolSpec]) -> Vec<u8> {
        let offered = specs.iter().filter(|spec| spec.is_offered());
        tools(offered.map(|spec| (spec, Cow::Borrowed(&*spec.parameters))), false)
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
        let strict = strict_tools(request);
        let tools = strict.as_deref().unwrap_or_else(|| kept.tools());
        let tools = if request.choice == ToolChoice::None { &[] } else { tools };
        let mut middle = Vec::new();
        if !tools.is_empty() {
            tool_choice(&mut middle, request);
        }
        let marked = kept.messages.marked(dialect, request);
        let mut messages = marked.as_ref().unwrap_or(&kept.messages.bytes).as_slice();
        if let Some((from, id)) = kept.messages.previous(dialect, request) {
            messages = kept.messages.since(from);
            field(&mut middle, "previous_response_id");
            json_string(&mut middle, &id);
        }
        let body = [&head, messages, &b"]"[..], tools, &middle, &tail].concat();
        Encoding { body, content_bytes: messages.len() + tools.len() }
    })
}

impl Messages {
    /// The messages with the marked ones written anew; `None`: there is none. What is kept stays as it is, so that a marker
    /// may move from turn to turn.
    fn marked(&self, dialect: &Dialect, request: &ModelRequest) -> Option<Vec<u8>> {
        let places = if dialect.quirks.cache_control { request.marked() } else { Vec::new() };
        if places.is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(self.bytes.len() + 64 * places.len());
        let mut copied = 0;
        for place in places {
            let before = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
            let (Some(end), Some(marked)) = (self.ends.get(place), request.message(place)) else { continue };
            // A comma stands between two messages.
            let start = if before == 0 { 0 } else { before + 1 };
            let kept = self.bytes.get(start..*end).unwrap_or_default();
            if !content::can_be_marked(&marked) || !MARKED.iter().any(|begin| kept.starts_with(begin)) {
                continue;
            }
            let mut anew = Vec::new();
            message(&mut anew, dialect, &marked, &mut Open::new(), true);
            out.extend_from_slice(self.bytes.get(copied..start).unwrap_or_default());
            out.extend_from_slice(&anew);
            copied = *end;
        }
        out.extend_from_slice(self.bytes.get(copied..).unwrap_or_default());
        Some(out)
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
        let Message::Assistant(said) = &**reply else { return None };
        Some((sent + 1, items::response_of(said, dialect)?))
    }

    /// The messages from a place on.
    fn since(&self, place: usize) -> &[u8] {
        let before = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let new = self.bytes.get(before..).unwrap_or_default();
        new.strip_prefix(b",").unwrap_or(new)
    }
}

/// `,"tools":[…]`; nothing if there is none. The API's default is strict, so it is said of each tool.
fn tools<'s>(
    specs: impl Iterator<Item = (&'s ToolSpec, Cow<'s, serde_json::Value>)>,
    strict: bool,
) -> Vec<u8> {
    let mut out = Vec::new();
    for (spec, parameters) in specs {
        let begin: &[u8] = if out.is_empty() { b",\"tools\":[" } else { b"," };
        out.extend_from_slice(begin);
        out.extend_from_slice(b"{\"type\":\"function\",");
        named(&mut out, spec);
        field(&mut out, "parameters");
        json_value(&mut out, &*parameters);
        field(&mut out, "strict");
        json_value(&mut out, &strict);
        out.push(b'}');
    }
    if !out.is_empty() {
        out.push(b']');
    }
    out
}

/// The tools with strict schemas, where those are asked for.
fn strict_tools(request: &ModelRequest) -> Option<Vec<u8>> {
    if !request.model.strict {
        return None;
    }
    let offered = request.tools.iter().filter(|spec| spec.is_offered());
    Some(tools(
        offered.filter_map(|spec| Some((spec, Cow::Owned(strict::rewrite(&spec.parameters).ok()?)))),
        true,
    ))
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
    }
    if let Some(parallel) = request.model.parallel {
        field(out, "parallel_tool_calls");
        json_value(out, &parallel);
    }
}

/// Everything behind messages and tools, with the closing brace.
///
/// The API has no `stop` and no `presence_penalty`. They are sent where they are set, so that a server says what it does not
/// take: leaving them out would change what the agent asks for without a word.
fn settings(out: &mut Vec<u8>, dialect: &Dialect, request: &ModelRequest) {
    let model = &request.model;
    if let Some((name, schema)) = &request.response_schema {
        response_format(out, name, schema, model.strict);
    }
    number(out, "temperature", model.temperature);
    if let Some(max) = model.max_tokens {
        field(out, "max_output_tokens");
        json_value(out, &max);
    }
    number(out, "top_p", model.top_p);
    number(out, "presence_penalty", model.presence_penalty);
    if let Some(reasoning) = &model.reasoning {
        reasoning_of(out, reasoning);
    }
    if !model.metadata.is_empty() {
        field(out, "metadata");
        json_value(out, &model.metadata);
    }
    if !model.stop.is_empty() {
        field(out, "stop");
        json_value(out, &model.stop);
    }
    field(out, "store");
    json_value(out, &dialect.quirks.stored_replies);
    if thinks(dialect, model) {
        out.extend_from_slice(b",\"include\":[\"reasoning.encrypted_content\"]");
    }
    if request.stream {
        out.extend_from_slice(b",\"stream\":true");
    }
    out.push(b'}');
}

/// `text.format`. A schema that strict mode takes as it is costs nothing to be enforced; another one only where it is asked.
fn response_format(out: &mut Vec<u8>, name: &str, schema: &serde_json::Value, asked: bool) {
    let rewritten = strict::rewrite(schema).ok();
    let strict = rewritten.filter(|strict| asked || strict == schema);
    out.extend_from_slice(b",\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":");
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let name = name.chars().map(|letter| if allowed(letter) { letter } else { '_' });
    json_string(out, &name.take(MAX_SCHEMA_NAME).collect::<String>());
    field(out, "schema");
    json_value(out, strict.as_ref().unwrap_or(schema));
    field(out, "strict");
    json_value(out, &strict.is_some());
    out.extend_from_slice(b"}}");
}

/// `reasoning`. The setting is the effort; behind a slash it may name the summary: `high/auto`, `/detailed`. Without one no
/// summary is asked for: OpenAI gives them to verified organizations only and refuses the others' requests.
fn reasoning_of(out: &mut Vec<u8>, setting: &str) {
    let (effort, summary) = setting.split_once('/').unwrap_or((setting, ""));
    out.extend_from_slice(b",\"reasoning\":{");
    let mut comma = "";
    for (name, value) in [("effort", effort), ("summary", summary)] {
        if !value.is_empty() {
            out.extend_from_slice(format!("{comma}\"{name}\":").as_bytes());
            json_string(out, value);
            comma = ",";
        }
    }
    out.push(b'}');
}

/// Whether the model may reason, so that its reasoning is asked for in the form that can go back. OpenAI refuses that for its
/// models that do not reason, so there it goes by the name (guide "Reasoning models").
fn thinks(dialect: &Dialect, model: &ModelChoice) -> bool {
    if model.reasoning.is_some() {
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
