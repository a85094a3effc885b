//! Owns the request side of OpenAI Chat Completions: messages and tools to bytes that stay the same from turn to turn.
//!
//! Source: the OpenAI API reference, `POST /v1/chat/completions`. What has been encoded stays in the run's
//! [`PrefixCell`]: a turn encodes only its new messages, and the body is put together by copying bytes.

use std::any::Any;
use std::sync::{Arc, PoisonError};

use windlass_core::{Message, Results, ToolChoice, ToolSpec};

use self::content::message;
use super::json::{field, json_string, json_value};
use crate::{ModelRequest, PrefixCell};

mod content;

/// How one adapter writes requests, where servers differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The provider's label: `LABEL/` is taken off the model's name, and sealed reasoning of this label may go back.
    pub label: Arc<str>,
    /// Writes `max_completion_tokens` instead of `max_tokens` (the API at OpenAI itself).
    pub completion_tokens: bool,
    /// Writes `cache_control` into messages that are marked: OpenAI itself and strict servers refuse it.
    pub cache_control: bool,
    /// Sends `reasoning_content` back for messages whose reasoning this provider sealed (E44).
    pub return_reasoning: bool,
}

/// What a run's cell holds for this wire.
#[derive(Debug)]
struct Encoded {
    dialect: Dialect,
    prompt: Arc<Vec<Arc<Message>>>,
    fenced: Option<Arc<Results>>,
    edits: u64,
    /// How many messages of the history are in `messages`, and the last of them.
    count: usize,
    last: Option<Arc<Message>>,
    /// The elements of the `messages` array, with commas between them and none marked.
    messages: Vec<u8>,
    /// Where each of them ends in `messages`, where some may be marked.
    ends: Vec<usize>,
    tools: Option<(Arc<Vec<ToolSpec>>, Vec<u8>)>,
}

/// An encoded request.
#[derive(Debug)]
pub struct Encoding {
    /// The request's body.
    pub body: Vec<u8>,
    /// Bytes of the messages and tools in it: the base of an estimated token count.
    pub content_bytes: usize,
}

/// Encodes a request, `stream` saying whether the reply comes as server-sent events.
pub fn encode(dialect: &Dialect, request: &ModelRequest) -> Encoding {
    let mut head = Vec::with_capacity(64 + request.model.name.len());
    head.extend_from_slice(b"{\"model\":");
    json_string(&mut head, plain_name(&dialect.label, &request.model.name));
    head.extend_from_slice(b",\"messages\":[");
    let mut tail = Vec::with_capacity(128);
    settings(&mut tail, dialect, request);

    with_encoded(&request.prefix, dialect, request, |encoded| {
        let with_tools = request.choice != ToolChoice::None;
        let tools = encoded.tools.as_ref().filter(|(_, bytes)| with_tools && !bytes.is_empty());
        let tools = tools.map_or(&[][..], |(_, bytes)| bytes);
        let mut choice = Vec::new();
        if !tools.is_empty() {
            tool_choice(&mut choice, &request.choice);
        }
        let marked = encoded.marked(request);
        let messages = marked.as_ref().unwrap_or(&encoded.messages);
        let parts = [&head, messages, &b"]"[..], tools, &choice, &tail];
        let mut body = Vec::with_capacity(parts.iter().map(|part| part.len()).sum());
        for part in parts {
            body.extend_from_slice(part);
        }
        Encoding { body, content_bytes: messages.len() + tools.len() }
    })
}

/// The model's name without its provider.
pub fn plain_name<'n>(label: &str, name: &'n str) -> &'n str {
    name.strip_prefix(label).and_then(|rest| rest.strip_prefix('/')).unwrap_or(name)
}

fn with_encoded<T>(
    cell: &PrefixCell,
    dialect: &Dialect,
    request: &ModelRequest,
    use_it: impl FnOnce(&Encoded) -> T,
) -> T {
    // A panic between two whole writes leaves a cell that the checks below still judge rightly.
    let mut slot = cell.0.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = slot.take().and_then(|any: Box<dyn Any + Send>| any.downcast::<Encoded>().ok());
    let mut encoded = match kept {
        Some(kept) if kept.fits(dialect, request) => kept,
        other => Box::new(Encoded::start(dialect, request, other.and_then(|old| old.tools))),
    };
    encoded.go_on(request);
    let result = use_it(&encoded);
    *slot = Some(encoded);
    result
}

impl Encoded {
    fn start(
        dialect: &Dialect,
        request: &ModelRequest,
        tools: Option<(Arc<Vec<ToolSpec>>, Vec<u8>)>,
    ) -> Self {
        let mut encoded = Self {
            dialect: dialect.clone(),
            prompt: request.prompt.clone(),
            fenced: request.fenced.clone(),
            edits: request.history.edits(),
            count: 0,
            last: None,
            messages: Vec::with_capacity(request.history.bytes() as usize + 256),
            ends: Vec::new(),
            tools,
        };
        for text in request.prompt.iter() {
            encoded.add(text);
        }
        encoded
    }

    /// Whether what is kept is the beginning of this request.
    fn fits(&self, dialect: &Dialect, request: &ModelRequest) -> bool {
        let history = &request.history;
        let same_last = match (&self.last, self.count.checked_sub(1)) {
            (Some(last), Some(at)) => history.since(at).next().is_some_and(|now| Arc::ptr_eq(last, now)),
            _ => true,
        };
        self.edits == history.edits()
            && self.count <= history.len()
            && same_last
            && (Arc::ptr_eq(&self.prompt, &request.prompt) || self.prompt == request.prompt)
            && self.fenced == request.fenced
            && self.dialect == *dialect
    }

    fn go_on(&mut self, request: &ModelRequest) {
        for new in request.history.since(self.count) {
            self.add(&request.outgoing(new));
        }
        self.count = request.history.len();
        self.last = request.history.last().cloned();
        if !self.tools.as_ref().is_some_and(|(kept, _)| Arc::ptr_eq(kept, &request.tools)) {
            self.tools = Some((request.tools.clone(), tools(&request.tools)));
        }
    }

    fn add(&mut self, new: &Message) {
        if !self.messages.is_empty() {
            self.messages.push(b',');
        }
        message(&mut self.messages, &self.dialect, new, false);
        if self.dialect.cache_control {
            self.ends.push(self.messages.len());
        }
    }

    /// The messages with the marked ones written anew; `None`: there is none. What is kept stays as it is, so that a
    /// marker may move from turn to turn.
    fn marked(&self, request: &ModelRequest) -> Option<Vec<u8>> {
        let places = if self.dialect.cache_control { request.marked() } else { Vec::new() };
        if places.is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(self.messages.len() + 64 * places.len());
        let mut copied = 0;
        for place in places {
            let before = place.checked_sub(1).and_then(|before| self.ends.get(before));
            // A comma stands between two messages.
            let start = before.map_or(0, |end| end + 1);
            let (Some(end), Some(marked)) = (self.ends.get(place), request.message(place)) else { continue };
            out.extend_from_slice(self.messages.get(copied..start).unwrap_or_default());
            message(&mut out, &self.dialect, &marked, true);
            copied = *end;
        }
        out.extend_from_slice(self.messages.get(copied..).unwrap_or_default());
        Some(out)
    }
}

/// `,"tools":[…]` of the offered tools; nothing if there is none.
fn tools(specs: &[ToolSpec]) -> Vec<u8> {
    let mut out = Vec::new();
    for spec in specs.iter().filter(|spec| spec.offered) {
        let begin: &[u8] = if out.is_empty() { b",\"tools\":[" } else { b"," };
        out.extend_from_slice(begin);
        out.extend_from_slice(b"{\"type\":\"function\",\"function\":{\"name\":");
        json_string(&mut out, &spec.name);
        if !spec.description.is_empty() {
            field(&mut out, "description");
            json_string(&mut out, &spec.description);
        }
        field(&mut out, "parameters");
        json_value(&mut out, &*spec.parameters);
        out.extend_from_slice(b"}}");
    }
    if !out.is_empty() {
        out.push(b']');
    }
    out
}

fn tool_choice(out: &mut Vec<u8>, choice: &ToolChoice) {
    match choice {
        ToolChoice::Auto | ToolChoice::None => {}
        ToolChoice::Required => out.extend_from_slice(b",\"tool_choice\":\"required\""),
        ToolChoice::Named(name) => {
            out.extend_from_slice(b",\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":");
            json_string(out, name);
            out.extend_from_slice(b"}}");
        }
    }
}

/// Everything behind messages and tools, with the closing brace.
fn settings(out: &mut Vec<u8>, dialect: &Dialect, request: &ModelRequest) {
    if let Some((name, schema)) = &request.response_schema {
        out.extend_from_slice(b",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":");
        json_string(out, name);
        out.extend_from_slice(b",\"strict\":true,\"schema\":");
        json_value(out, &**schema);
        out.extend_from_slice(b"}}");
    }
    if let Some(temperature) = request.model.temperature.filter(|temperature| temperature.is_finite()) {
        field(out, "temperature");
        json_value(out, &temperature);
    }
    if let Some(max) = request.model.max_tokens {
        field(out, if dialect.completion_tokens { "max_completion_tokens" } else { "max_tokens" });
        json_value(out, &max);
    }
    let finite = |number: &f64| number.is_finite();
    if let Some(top_p) = request.model.top_p.filter(finite) {
        field(out, "top_p");
        json_value(out, &top_p);
    }
    if let Some(penalty) = request.model.presence_penalty.filter(finite) {
        field(out, "presence_penalty");
        json_value(out, &penalty);
    }
    if let Some(reasoning) = &request.model.reasoning {
        field(out, "reasoning_effort");
        json_string(out, reasoning);
    }
    if !request.model.metadata.is_empty() {
        field(out, "metadata");
        json_value(out, &request.model.metadata);
    }
    if !request.model.stop.is_empty() {
        field(out, "stop");
        json_value(out, &request.model.stop);
    }
    if request.stream {
        out.extend_from_slice(b",\"stream\":true,\"stream_options\":{\"include_usage\":true}");
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests;
