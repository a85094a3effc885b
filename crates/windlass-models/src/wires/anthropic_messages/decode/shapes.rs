//! Owns the shapes of Anthropic's events and messages, as tolerant as servers are different: unknown fields are passed over,
//! absent and `null` are the same.

use std::borrow::Cow;

use crate::wires::loose::{nested, scalar};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// An event of a stream.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Event<'e> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'e, str>,
    #[serde(deserialize_with = "scalar")]
    pub(super) index: Option<u64>,
    #[serde(deserialize_with = "nested")]
    pub(super) message: Option<Start>,
    #[serde(borrow)]
    pub(super) content_block: Option<&'e RawValue>,
    #[serde(borrow)]
    pub(super) delta: Option<&'e RawValue>,
    #[serde(deserialize_with = "nested")]
    pub(super) usage: Option<Counts>,
    pub(super) error: Option<Value>,
}

/// The message that a stream begins with.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Start {
    pub(super) id: Option<Value>,
    #[serde(deserialize_with = "nested")]
    pub(super) usage: Option<Counts>,
}

/// A whole message.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Whole<'e> {
    #[serde(borrow)]
    pub(super) content: Option<&'e RawValue>,
    pub(super) stop_reason: Option<String>,
    #[serde(deserialize_with = "nested")]
    pub(super) stop_details: Option<StopDetails>,
    #[serde(deserialize_with = "nested")]
    pub(super) usage: Option<Counts>,
    pub(super) error: Option<Value>,
}

/// Why a message ended.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct End {
    pub(super) stop_reason: Option<String>,
    #[serde(deserialize_with = "nested")]
    pub(super) stop_details: Option<StopDetails>,
}

/// Details of a refusal.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct StopDetails {
    #[serde(deserialize_with = "scalar")]
    pub(super) explanation: Option<String>,
}

/// The kind of a block or of a piece of one.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Tag<'e> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'e, str>,
}

/// A piece of a block, of a known kind.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece {
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    #[serde(deserialize_with = "scalar")]
    pub(super) signature: Option<String>,
    pub(super) partial_json: Option<String>,
    pub(super) citation: Option<Value>,
}

/// The parts of a text, thinking or call that have a meaning of their own.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Head<'e> {
    pub(super) text: Option<String>,
    pub(super) thinking: Option<String>,
    #[serde(deserialize_with = "scalar")]
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "scalar")]
    pub(super) name: Option<String>,
    #[serde(borrow)]
    pub(super) input: Option<&'e RawValue>,
}

/// Counts of tokens, cumulative over a stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Counts {
    #[serde(deserialize_with = "scalar")]
    pub(super) input_tokens: Option<u64>,
    #[serde(deserialize_with = "scalar")]
    pub(super) output_tokens: Option<u64>,
    #[serde(deserialize_with = "scalar")]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "scalar")]
    pub(super) cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "nested")]
    pub(super) cache_creation: Option<CacheCreation>,
    #[serde(deserialize_with = "nested")]
    pub(super) output_tokens_details: Option<OutputDetails>,
    #[serde(deserialize_with = "nested")]
    pub(super) iterations: Option<Vec<Iteration>>,
}

/// Tokens that were written to the cache, by how long they stay there.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CacheCreation {
    #[serde(deserialize_with = "scalar")]
    pub(super) ephemeral_5m_input_tokens: Option<u64>,
    #[serde(deserialize_with = "scalar")]
    pub(super) ephemeral_1h_input_tokens: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputDetails {
    #[serde(deserialize_with = "scalar")]
    pub(super) thinking_tokens: Option<u64>,
}

/// One of several samplings that the provider made for a reply.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Iteration {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(deserialize_with = "scalar")]
    pub(super) input_tokens: Option<u64>,
    #[serde(deserialize_with = "scalar")]
    pub(super) output_tokens: Option<u64>,
    #[serde(deserialize_with = "scalar")]
    pub(super) cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "scalar")]
    pub(super) cache_creation_input_tokens: Option<u64>,
}
