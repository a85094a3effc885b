//! The wire of Anthropic Messages, which Anthropic, its cloud partners and several gateways and local servers speak.
//!
//! Source: the Claude API reference, `POST /v1/messages`, in the version 2023-06-01. [`encode`] and [`decode`] are pure.

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
mod hosted;
mod models;
mod options;

/// Anthropic Messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnthropicMessages;

/// The wire's name, under which layouts of replies are kept.
const NAME: &str = "anthropic_messages";

static FACTS: WireFacts = WireFacts {
    name: NAME,
    base_path: "/v1",
    call_path: "/messages",
    // A page has 20 models unless more are asked for, up to 1000 ("List Models").
    models_path: "models?limit=1000",
    framing: Framing::Events,
    key: KeyHeader::Named("x-api-key"),
    headers: &[("anthropic-version", "2023-06-01")],
    errors: &ERRORS,
    options: options::OPTIONS,
    hosted: hosted::HOSTED,
    betas: Some("anthropic-beta"),
    restore: None,
};

/// Error wordings of Anthropic and of local servers on this wire, for what a status does not tell (Claude docs, "Errors").
static ERRORS: ErrorWords = ErrorWords {
    context_length: &[
        "prompt is too long",
        "exceed context limit",
        "exceeds the available context size",
        "exceed_context_size",
        "context window",
        "context length",
    ],
    // "tools" alone stands in the paths of faulty schemas (`tools.0.input_schema: …`), which are no refusal of tools.
    tools: &["support tools", "tools param", "tool use", "tool calling", "function calling"],
    tool_choice: &["tool_choice"],
    calls: &["tool_use"],
    schemas: &["output_config", "output_format", "structured output", "json_schema", "grammar"],
    unsupported: &["not support", "unsupported", "not available", "requires --jinja", "not implemented"],
    rate_limited: &["rate_limit_error", "rate limit"],
    overloaded: &["overloaded"],
};

impl Wire for AnthropicMessages {
    fn facts(&self) -> &WireFacts {
        &FACTS
    }

    fn takes(&self, _: &Dialect, part: &Part) -> bool {
        encode::takes(part)
    }

    fn holds_to_objects(&self) -> bool {
        true
    }

    fn refuses(&self, dialect: &Dialect, request: &ModelRequest) -> Option<String> {
        let any =
            "its API holds a reply to a schema, not to any object: name a schema, or ask by `mode: prompt`";
        let json = request.is_json().then(|| format!("`output: {{ json: true }}`: {any}"));
        json.or_else(|| encode::refusal(dialect, &request.model))
    }

    fn path(&self, _: &str, _: bool) -> Cow<'static, str> {
        Cow::Borrowed("messages")
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

    fn model_names(&self, body: &[u8]) -> Result<Vec<String>, DecodeError> {
        let list: List =
            serde_json::from_str(&text_in(body)).map_err(|error| DecodeError::protocol(error.to_string()))?;
        Ok(list.data.into_iter().map(|model| model.id).collect())
    }
}

/// The list of models (Claude API reference, "List Models").
#[derive(Deserialize)]
struct List {
    data: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
}
