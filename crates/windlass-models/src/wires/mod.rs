//! The wires: how each API of a model provider writes requests and replies.
//!
//! A wire is one folder here. It implements [`Wire`] with pure functions over bytes; [`HttpModel`](crate::HttpModel) puts
//! HTTP between them: connections, time limits, bounds, statuses, masking. A wire knows no server. Where servers of one wire
//! differ, a [`Quirks`] value says so, and the table of [providers](mod@crate::providers) holds it.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use windlass_core::Text;
use windlass_core::message::Part;
use windlass_core::model::{FailureKind, Refusal, Reply, Usage};

use crate::http::{ErrorWords, Framing, Report};
use crate::{Delta, ModelRequest, providers};

mod annotations;
mod content;
mod effort;
mod elements;
pub(crate) mod hosted;
mod json;
mod layout;
mod loose;
mod marker;
mod money;
pub(crate) mod once;
pub(crate) mod options;
mod own_ids;
mod pieced;
mod prefix;
mod quirks;
mod replies;
mod root;
pub(crate) mod strict;
#[cfg(test)]
mod testing;
mod tools;
mod wrapped;

pub(crate) use effort::is_off;
pub use hosted::HostedForm;
pub(crate) use layout::reworded;
pub use options::Options;
pub(crate) use pieced::IdentifiedBy;
pub use pieced::PiecedTexts;
pub use quirks::{Quirk, Quirks};
pub(crate) use root::sent;
pub(crate) use wrapped::{unwrapped, wrapped};

pub mod anthropic_messages;
pub mod gemini;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;

/// All wires.
pub static WIRES: &[&dyn Wire] = &[
    &openai_chat::OpenAiChat,
    &openai_responses::OpenAiResponses,
    &anthropic_messages::AnthropicMessages,
    &gemini::GEMINI,
    &gemini::VERTEX,
    &ollama::Ollama,
];

/// The wire of this name.
pub fn wire(name: &str) -> Option<&'static dyn Wire> {
    WIRES.iter().copied().find(|wire| wire.facts().name == name)
}

/// The names of all wires.
pub fn wire_names() -> impl Iterator<Item = &'static str> {
    WIRES.iter().map(|wire| wire.facts().name)
}

/// An API of model providers: how its requests and replies are written.
pub trait Wire: Send + Sync + fmt::Debug {
    /// Static facts about the wire.
    fn facts(&self) -> &WireFacts;

    /// The path of a call behind the base URL, without a slash in front. `model` is the plain name.
    fn path(&self, model: &str, stream: bool) -> Cow<'static, str>;

    /// Writes the body of a request. What was encoded stays in the request's [`PrefixCell`](crate::PrefixCell), so that a
    /// turn encodes only its new messages.
    fn encode(&self, dialect: &Dialect, request: &ModelRequest) -> Encoding;

    /// Whether a schema of a reply must be an object without choices: another one goes out as an object's only property. Default:
    /// it may be any.
    fn holds_to_objects(&self) -> bool {
        false
    }

    /// Whether a message of a person may hold this part at a server. Where it may not, the model is told of it in a note.
    fn takes(&self, dialect: &Dialect, part: &Part) -> bool;

    /// Why the request cannot be written for this API without another meaning; the call fails with these words, and nothing
    /// is sent. Default: every request can.
    fn refuses(&self, _: &Dialect, _: &ModelRequest) -> Option<String> {
        None
    }

    /// The kind of a failure that only this API knows, before [`ErrorWords`] are looked at. Default: none.
    fn failure_kind(&self, _: &Report) -> Option<FailureKind> {
        None
    }

    /// Reads a whole reply.
    ///
    /// # Errors
    /// The body is not what the API promises, or it is an error that the provider reports.
    fn decode(&self, dialect: &Dialect, body: &[u8], asked: &Asked) -> Result<Reply, DecodeError>;

    /// Reads a reply out of the body of an error, where the API reports a malformed call of the model as one: the model is told of
    /// it, and the run goes on. Default: no error holds a reply.
    fn reply_in_error(&self, _: &Dialect, _body: &[u8], _: &Asked) -> Option<Reply> {
        None
    }

    /// A reader of one streamed reply.
    fn decoder(&self, dialect: &Dialect) -> Box<dyn Decode>;

    /// Reads the names of models out of the answer to `GET` [`models_path`](WireFacts::models_path).
    ///
    /// # Errors
    /// The body is not what the API promises.
    fn model_names(&self, body: &[u8]) -> Result<Vec<String>, DecodeError>;
}

/// Facts of a wire that need no request: data that the shared HTTP code reads.
#[derive(Clone, Copy, Debug)]
pub struct WireFacts {
    /// The wire's name, in lower case with underscores.
    pub name: &'static str,
    /// The path that a base URL without one gets, such as `/v1`.
    pub base_path: &'static str,
    /// The end of a call's path that people copy into a base URL, such as `/chat/completions`: it is taken off.
    pub call_path: &'static str,
    /// The path of the list of models behind the base URL, without a slash in front.
    pub models_path: &'static str,
    /// The framing of streamed replies.
    pub framing: Framing,
    /// The header that carries the key.
    pub key: KeyHeader,
    /// Headers of every request besides, such as a version of the API.
    pub headers: &'static [(&'static str, &'static str)],
    /// The words of the wire's servers for failures that their statuses do not tell.
    pub errors: &'static ErrorWords,
    /// How it takes the options of a model call.
    pub options: Options,
    /// The forms of the tools that its providers run themselves.
    pub hosted: &'static [HostedForm],
    /// The header that asks for parts of the API by name, where tools of the provider want that ([`beta`](field@HostedForm::beta)).
    pub betas: Option<&'static str>,
    /// The way back from another form of a schema, where the wire sends one. `None`: schemas keep their form, and the pieces of
    /// a reply are given out as they come.
    pub restore: Option<Restore>,
}

/// Brings text of the model back to the schema that it was written for:
/// [`ModelChoice::strict`](windlass_core::model::ModelChoice::strict) may send a form that is `null` where a property may be left
/// out. `None`: the text stays as it is.
pub type Restore = fn(&serde_json::Value, &str) -> Option<String>;

/// The header that carries a provider's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`.
    Bearer,
    /// A header of this name, in lower case, with the key alone.
    Named(&'static str),
}

/// Provider-specific settings for encoding: its label and quirks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The provider's label: `LABEL/` is taken off the model's name, and sealed reasoning of this label may go back.
    pub label: Arc<str>,
    /// The provider's differences from others of its wire.
    pub quirks: Quirks,
}

impl Dialect {
    /// A model's name without its provider, which may stand there by another of its names.
    pub fn plain_name<'n>(&self, name: &'n str) -> &'n str {
        let Some((before, rest)) = name.split_once('/') else { return name };
        let other = || providers::provider(&self.label).is_some_and(|provider| provider.is_named(before));
        if *before == *self.label || other() { rest } else { name }
    }

    /// The label that readable reasoning is sealed with, if the provider wants it back.
    pub fn seal(&self) -> Option<Text> {
        self.quirks.return_reasoning.then(|| self.label.clone())
    }
}

/// An encoded request.
#[derive(Debug)]
pub struct Encoding {
    /// The request's body.
    pub body: Vec<u8>,
    /// Bytes of the messages and tools in it: the base of an estimated token count.
    pub content_bytes: usize,
}

/// The parts of a request that a decoder needs.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The model, by the name that was asked for: replies carry it.
    pub model: Text,
    /// [`Encoding::content_bytes`].
    pub content_bytes: usize,
}

/// Reads the events of one streamed reply.
pub trait Decode: Send {
    /// Decodes the data of one event and adds its pieces to `out`.
    ///
    /// # Errors
    /// The event is not what the API promises, or it is an error that the provider reports.
    fn event(&mut self, data: &[u8], out: &mut VecDeque<Delta>) -> Result<(), DecodeError>;

    /// The texts of the events that come in pieces. Default: none does.
    fn pieces(&self) -> &'static PiecedTexts {
        &PiecedTexts::NONE
    }

    /// Whether the provider said that nothing more comes.
    fn is_done(&self) -> bool;

    /// Whether an item of reasoning is open, though nothing of it may come. Default: the pieces alone tell.
    fn is_thinking(&self) -> bool {
        false
    }

    /// Whether a reason for the end came: then the reply is whole, even if the stream breaks now.
    fn is_finished(&self) -> bool;

    /// Usage as counted by the provider so far, or an estimate once the reply has begun.
    fn usage(&self, content_bytes: usize) -> Usage;

    /// Ends the stream: adds what is still owed, such as an estimated usage. `false`: no reason for the end came, so the
    /// stream was cut.
    fn end(&mut self, content_bytes: usize, out: &mut VecDeque<Delta>) -> bool;
}

/// Why bytes gave no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Kind of failure.
    pub kind: FailureKind,
    /// The status that the provider named within its words.
    pub status: Option<u16>,
    /// The wait that the provider asks for, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// The part of the request that the provider refuses, if its words name one.
    pub refuses: Option<Refusal>,
    /// The provider's words, or what is wrong with them. Not masked yet.
    pub message: String,
    /// The usage that the provider counted in a whole reply that is none nevertheless. A stream's decoder says it by
    /// [`usage`](Decode::usage).
    pub usage: Usage,
}

/// The most bytes of an unreadable reply that an error message quotes.
const QUOTED_BYTES: usize = 200;

impl DecodeError {
    /// A reply that is not what the API promises.
    pub fn protocol(message: impl Into<String>) -> Self {
        Self {
            kind: FailureKind::Protocol,
            status: None,
            retry_after_ms: None,
            refuses: None,
            message: message.into(),
            usage: Usage::default(),
        }
    }

    /// A second reply in the stream of a first one: the stream is broken, and nothing of it counts.
    fn second_reply(first: &str, second: &str) -> Self {
        let message = format!("the stream is broken: reply `{second}` begins within reply `{first}`");
        Self { kind: FailureKind::Cut, ..Self::protocol(message) }
    }

    /// A body that is not JSON of the expected shape.
    pub fn unreadable(error: &serde_json::Error, data: &[u8]) -> Self {
        // serde's words hold the value that did not fit, whatever its length.
        let error = crate::http::cut(&error.to_string());
        Self::protocol(format!("the reply violates the API ({error}): {}", quoted(data)))
    }

    /// An error that the provider reports in a reply that had begun well: its status is 200, so its own code and words
    /// count.
    pub fn reported(report: Report, words: &ErrorWords) -> Self {
        let kind = words.reported_kind(&report);
        let refuses = words.refusal(kind, report.status, &report.message);
        let (status, retry_after_ms) = (report.status, report.wait(kind));
        Self { kind, status, retry_after_ms, refuses, message: report.message, usage: Usage::default() }
    }
}

/// The text of a body, with U+FFFD for bytes that are no UTF-8: what was paid for is read in spite of them. It is checked as a
/// whole, since a reader of bytes would check each text within by itself.
pub(crate) fn text_in(body: &[u8]) -> Cow<'_, str> {
    str::from_utf8(body).map_or_else(|_| String::from_utf8_lossy(body), Cow::Borrowed)
}

/// The beginning of an unreadable body, for an error.
pub(crate) fn quoted(data: &[u8]) -> String {
    let head = data.get(..QUOTED_BYTES).unwrap_or(data);
    let dots = if head.len() < data.len() { "..." } else { "" };
    format!("`{}{dots}`", String::from_utf8_lossy(head).trim())
}

/// An estimated count of tokens: a quarter of the bytes.
pub(crate) fn estimate(input_bytes: usize, output_bytes: usize) -> Usage {
    Usage {
        input: input_bytes.div_ceil(4) as u64,
        output: output_bytes.div_ceil(4) as u64,
        estimated: true,
        ..Usage::default()
    }
}
