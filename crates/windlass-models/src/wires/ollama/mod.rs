//! The wire of Ollama's own API.
//!
//! Source: Ollama, `docs/api.md` ("Generate a chat completion", "List local models") and the pages "Streaming", "Tool calling",
//! "Thinking", "Structured outputs", "Errors" and "Authentication" of its documentation. [`encode`] and [`decode`] are pure.
//!
//! The API has no forced choice of a tool, no limit to one call a reply, no strict schemas, no metadata and no cache markers:
//! a request for one tool offers that tool only, and the others are left out. It takes images as base64 only, and no files: both
//! become notes. A server needs no key; `https://ollama.com` takes one as a bearer token.

use std::borrow::Cow;

use serde::Deserialize;
use windlass_core::message::Part;
use windlass_core::model::Reply;

use self::decode::Decoder;
use super::{Asked, Decode, DecodeError, Dialect, Encoding, KeyHeader, Wire, WireFacts, text_in};
use crate::ModelRequest;
use crate::http::{ErrorWords, Framing};

pub mod decode;
pub mod encode;
mod options;
mod shapes;

/// Ollama's `/api/chat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ollama;

static FACTS: WireFacts = WireFacts {
    name: "ollama",
    base_path: "/api",
    call_path: "/chat",
    models_path: "tags",
    framing: Framing::Lines,
    key: KeyHeader::Bearer,
    headers: &[],
    errors: &ERRORS,
    options: options::OPTIONS,
    hosted: &[],
    betas: None,
    restore: None,
};

/// Error wordings of Ollama, of the llama-server in it, and of its cloud.
static ERRORS: ErrorWords = ErrorWords {
    context_length: &[
        "context length",
        "context size",
        "context window",
        "exceed_context_size",
        "prompt is too long",
        "input length exceeds",
    ],
    tools: &["tools", "tool calling"],
    tool_choice: &[],
    calls: &[],
    schemas: &["grammar", "json schema", "structured output", "in format", "required for format"],
    unsupported: &["not support", "unsupported"],
    rate_limited: &["rate limit", "usage limit", "too many requests"],
    overloaded: &["server busy", "maximum pending requests", "overloaded"],
};

impl Wire for Ollama {
    fn facts(&self) -> &WireFacts {
        &FACTS
    }

    fn takes(&self, _: &Dialect, part: &Part) -> bool {
        encode::takes(part)
    }

    fn refuses(&self, _: &Dialect, request: &ModelRequest) -> Option<String> {
        let tool = request.tools.iter().find(|tool| tool.is_offered() && tool.strict == Some(true))?;
        Some(format!("tool `{}`: `strict` has no place in its API", tool.name))
    }

    fn path(&self, _: &str, _: bool) -> Cow<'static, str> {
        Cow::Borrowed("chat")
    }

    fn encode(&self, dialect: &Dialect, request: &ModelRequest) -> Encoding {
        encode::encode(dialect, request)
    }

    fn decode(&self, dialect: &Dialect, body: &[u8], asked: &Asked) -> Result<Reply, DecodeError> {
        decode::decode(body, &asked.model, dialect.seal(), asked.content_bytes)
    }

    fn decoder(&self, dialect: &Dialect) -> Box<dyn Decode> {
        Box::new(Decoder::new(dialect.seal()))
    }

    fn model_names(&self, body: &[u8]) -> Result<Vec<String>, DecodeError> {
        let list: List =
            serde_json::from_str(&text_in(body)).map_err(|error| DecodeError::protocol(error.to_string()))?;
        Ok(list
            .models
            .unwrap_or_default()
            .into_iter()
            .filter_map(|model| model.name.or(model.model))
            .collect())
    }
}

/// The answer to `GET /api/tags`.
#[derive(Default, Deserialize)]
#[serde(default)]
struct List {
    models: Option<Vec<Listed>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Listed {
    name: Option<String>,
    model: Option<String>,
}
