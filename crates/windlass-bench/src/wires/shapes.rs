//! The bytes of replies on each wire, as the providers' references show them.

mod chat;
mod gemini;
mod messages;
mod ollama;
mod responses;

use serde_json::Value;

use super::script::{Script, ScriptedReply};

/// The API of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Chat,
    Responses,
    Messages,
    Gemini,
    Ollama,
}

/// Tokens that replies name.
const TOKENS: (u64, u64) = (420, 16);

impl Shape {
    pub(super) fn of(path: &str) -> Option<Self> {
        match path {
            "/v1/chat/completions" => Some(Self::Chat),
            "/v1/responses" => Some(Self::Responses),
            "/v1/messages" => Some(Self::Messages),
            "/api/chat" => Some(Self::Ollama),
            path if path.starts_with("/v1beta/models/") => Some(Self::Gemini),
            _ => None,
        }
    }

    pub(super) fn streams(self, path: &str, body: &[u8]) -> bool {
        match self {
            Self::Gemini => path.contains(":streamGenerateContent"),
            Self::Chat | Self::Responses | Self::Messages | Self::Ollama => {
                memchr::memmem::find(body, b"\"stream\":true").is_some()
            }
        }
    }

    /// The number of results in a request. Their marks stand in no text, where quotes are escaped.
    pub(super) fn results(self, body: &[u8]) -> usize {
        let mark: &[u8] = match self {
            Self::Chat | Self::Ollama => b"\"role\":\"tool\"",
            Self::Responses => b"\"type\":\"function_call_output\"",
            Self::Messages => b"\"type\":\"tool_result\"",
            Self::Gemini => b"\"functionResponse\":",
        };
        memchr::memmem::find_iter(body, mark).count()
    }

    pub(super) fn content_type(self) -> &'static str {
        if self == Self::Ollama { "application/x-ndjson" } else { "text/event-stream" }
    }
}

/// The reply after so many results: its events with their framing, or all of it as one.
pub(super) fn reply(shape: Shape, script: &Script, streams: bool, results: usize) -> Vec<String> {
    let reply = script.next(results);
    match (shape, streams) {
        (Shape::Chat, true) => chat::events(&reply),
        (Shape::Chat, false) => vec![chat::whole(&reply).to_string()],
        (Shape::Responses, true) => responses::events(&reply),
        (Shape::Responses, false) => vec![responses::whole(&reply).to_string()],
        (Shape::Messages, true) => messages::events(&reply),
        (Shape::Messages, false) => vec![messages::whole(&reply).to_string()],
        (Shape::Gemini, true) => gemini::events(&reply),
        (Shape::Gemini, false) => vec![gemini::whole(&reply).to_string()],
        (Shape::Ollama, true) => ollama::events(&reply),
        (Shape::Ollama, false) => vec![ollama::whole(&reply).to_string()],
    }
}

/// An event without a name.
fn data(event: &Value) -> String {
    format!("data: {event}\n\n")
}

/// An event whose name is its type.
fn named(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

/// Arguments as JSON.
fn parsed(args: &str) -> Value {
    serde_json::from_str(args).unwrap_or_default()
}

/// A text in four pieces.
fn quarters(text: &str) -> impl Iterator<Item = String> {
    let pieces = text.as_bytes().chunks(text.len().div_ceil(4).max(1));
    pieces.map(|piece| String::from_utf8_lossy(piece).into_owned())
}
