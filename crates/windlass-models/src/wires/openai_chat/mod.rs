//! The wire of OpenAI Chat Completions, which OpenAI and nearly every other server speaks.
//!
//! Source: the OpenAI API reference, `POST /v1/chat/completions`. [`encode`] and [`decode`] are pure.

use std::borrow::Cow;

use serde::Deserialize;
use windlass_core::message::Part;
use windlass_core::model::Reply;

use self::decode::Decoder;
use super::marker::retention_refusal;
use super::{Asked, Decode, DecodeError, Dialect, Encoding, KeyHeader, Wire, WireFacts, strict, text_in};
use crate::ModelRequest;
use crate::http::{ErrorWords, Framing};

mod annotations;
pub mod decode;
pub mod encode;
mod hosted;
mod metadata;
mod options;
mod parts;
mod salvage;
pub(super) mod shapes;
mod usage;

/// OpenAI Chat Completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAiChat;

static FACTS: WireFacts = WireFacts {
    name: "openai_chat",
    base_path: "/v1",
    call_path: "/chat/completions",
    models_path: "models",
    framing: Framing::Events,
    key: KeyHeader::Bearer,
    headers: &[],
    errors: &ERRORS,
    options: options::OPTIONS,
    hosted: hosted::HOSTED,
    betas: None,
    restore: Some(strict::restored),
};

/// Error wordings of OpenAI, vLLM, llama-server, Ollama and gateways, for what a status does not tell.
pub(super) static ERRORS: ErrorWords = ErrorWords {
    context_length: &[
        "context_length_exceeded",
        "maximum context length",
        "max context length",
        "prompt too long",
        // Perplexity.
        "too_many_prompt_tokens",
        "exceeds the available context size",
        "exceed_context_size",
        "context window",
        "context size",
        "prompt is too long",
        "input is too long",
        "too many tokens in prompt",
    ],
    tools: &["tools", "tool use", "tool calling", "function calling"],
    tool_choice: &["tool_choice", "tool choice"],
    calls: &["tool_calls"],
    // The last two are llama-server's, for a schema that it makes no grammar of.
    schemas: &[
        "response_format",
        "response format",
        "json_schema",
        "json schema",
        "structured output",
        "json mode",
        "guided_json",
        "grammar",
        "initialize samplers",
    ],
    unsupported: &[
        "not support",
        "unsupported",
        "does not accept",
        "not available",
        "not allowed",
        "requires --jinja",
        "requires --enable-auto-tool-choice",
        "not implemented",
    ],
    rate_limited: &["rate_limit_exceeded", "rate limit"],
    overloaded: &["overloaded"],
};

impl Wire for OpenAiChat {
    fn facts(&self) -> &WireFacts {
        &FACTS
    }

    fn takes(&self, dialect: &Dialect, part: &Part) -> bool {
        encode::takes(dialect, part)
    }

    fn holds_to_objects(&self) -> bool {
        true
    }

    fn path(&self, _: &str, _: bool) -> Cow<'static, str> {
        Cow::Borrowed("chat/completions")
    }

    fn refuses(&self, dialect: &Dialect, request: &ModelRequest) -> Option<String> {
        hosted::refusal(dialect, request)
            .or_else(|| strict::refusal(request))
            .or_else(|| retention_refusal(&request.model, dialect.quirks.cache_control))
    }

    fn encode(&self, dialect: &Dialect, request: &ModelRequest) -> Encoding {
        encode::encode(dialect, request)
    }

    fn decode(&self, dialect: &Dialect, body: &[u8], asked: &Asked) -> Result<Reply, DecodeError> {
        decode::decode(dialect, body, asked)
    }

    fn decoder(&self, dialect: &Dialect) -> Box<dyn Decode> {
        Box::new(Decoder::new(dialect))
    }

    fn reply_in_error(&self, dialect: &Dialect, body: &[u8], asked: &Asked) -> Option<Reply> {
        decode::decode_error(dialect, body, asked)
    }

    fn model_names(&self, body: &[u8]) -> Result<Vec<String>, DecodeError> {
        let list: List =
            serde_json::from_str(&text_in(body)).map_err(|error| DecodeError::protocol(error.to_string()))?;
        let listed = list.data.or(list.models).unwrap_or_default();
        Ok(listed.into_iter().filter_map(|model| model.id.or(model.name)).collect())
    }
}

/// The list of models as OpenAI gives it; llama-server and others add one of their own beside it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct List {
    data: Option<Vec<Listed>>,
    models: Option<Vec<Listed>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Listed {
    id: Option<String>,
    name: Option<String>,
}
