//! The wire of the OpenAI Responses API, which OpenAI, xAI, Azure, llama-server, vLLM and others speak.
//!
//! Source: the OpenAI API reference, `POST /v1/responses` and "Streaming events", and the guides "Conversation state",
//! "Reasoning models", "Function calling" and "Structured outputs". [`encode`] and [`decode`] are pure.
//!
//! A run does not depend on the provider's memory: requests say `store: false`, and what the provider needs back of a reply
//! (encrypted reasoning, ids of items, items of hosted tools) stands in the reply's seal. With the quirk
//! [`stored_replies`](super::Quirks::stored_replies), replies are stored and a turn sends only what follows the last one.

use std::borrow::Cow;

use windlass_core::message::Part;
use windlass_core::model::{FailureKind, ModelOption, Reply};

use self::decode::Decoder;
use super::marker::retention_refusal;
use super::openai_chat::OpenAiChat;
use super::{Asked, Decode, DecodeError, Dialect, Encoding, KeyHeader, Wire, WireFacts, strict};
use crate::ModelRequest;
use crate::http::{Framing, Report};

pub mod decode;
pub mod encode;
mod ends;
mod hosted;
mod options;
mod own;
mod shapes;

/// The wire's name: layouts of replies carry it.
const NAME: &str = "openai_responses";

/// OpenAI Responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAiResponses;

static FACTS: WireFacts = WireFacts {
    name: NAME,
    base_path: "/v1",
    call_path: "/responses",
    models_path: "models",
    framing: Framing::Events,
    key: KeyHeader::Bearer,
    headers: &[],
    errors: &ends::ERRORS,
    options: options::OPTIONS,
    hosted: hosted::HOSTED,
    betas: None,
    restore: Some(strict::restored),
};

impl Wire for OpenAiResponses {
    fn facts(&self) -> &WireFacts {
        &FACTS
    }

    fn takes(&self, _: &Dialect, part: &Part) -> bool {
        encode::takes(part)
    }

    fn holds_to_objects(&self) -> bool {
        true
    }

    fn path(&self, _: &str, _: bool) -> Cow<'static, str> {
        Cow::Borrowed("responses")
    }

    fn encode(&self, dialect: &Dialect, request: &ModelRequest) -> Encoding {
        encode::encode(dialect, request)
    }

    fn refuses(&self, dialect: &Dialect, request: &ModelRequest) -> Option<String> {
        let is_named = request.model.option(ModelOption::Conversation).is_some();
        if is_named && !dialect.quirks.stored_replies {
            return Some(
                "`conversation`: the provider keeps what it is told only with `stored_replies: true`"
                    .to_owned(),
            );
        }
        strict::refusal(request).or_else(|| retention_refusal(&request.model, false))
    }

    fn failure_kind(&self, report: &Report) -> Option<FailureKind> {
        ends::failure_kind(report)
    }

    fn decode(&self, dialect: &Dialect, body: &[u8], asked: &Asked) -> Result<Reply, DecodeError> {
        decode::decode(dialect, body, asked)
    }

    fn decoder(&self, dialect: &Dialect) -> Box<dyn Decode> {
        Box::new(Decoder::new(dialect))
    }

    fn model_names(&self, body: &[u8]) -> Result<Vec<String>, DecodeError> {
        OpenAiChat.model_names(body)
    }
}
