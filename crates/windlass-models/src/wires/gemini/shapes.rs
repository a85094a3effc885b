//! Owns the shapes of Gemini's replies and of their pieces, which are the same (`GenerateContentResponse`).
//!
//! Unknown fields are passed over, absent and `null` are the same, and only the first candidate is read. Parts are kept as
//! they came, so that one that nobody knows here can go back.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Number, Value};

use crate::wires::loose::{nested, scalar};
use crate::wires::openai_chat::shapes::{First, error};

/// The most parts of one reply, or of one piece of it.
const MAX_PARTS: usize = 65_536;

/// A whole reply, or a piece of a streamed one.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Body {
    pub(super) candidates: First<Candidate>,
    #[serde(deserialize_with = "nested")]
    pub(super) prompt_feedback: Option<PromptFeedback>,
    #[serde(deserialize_with = "nested")]
    pub(super) usage_metadata: Option<WireUsage>,
    #[serde(deserialize_with = "error")]
    pub(super) error: Option<Box<Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PromptFeedback {
    pub(super) block_reason: Option<Box<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Candidate {
    pub(super) content: Option<Content>,
    #[serde(deserialize_with = "reason")]
    pub(super) finish_reason: Option<Box<str>>,
    #[serde(deserialize_with = "scalar")]
    pub(super) finish_message: Option<String>,
    #[serde(deserialize_with = "nested")]
    pub(super) grounding_metadata: Option<Value>,
    #[serde(deserialize_with = "nested")]
    pub(super) url_context_metadata: Option<Value>,
    #[serde(deserialize_with = "nested")]
    pub(super) citation_metadata: Option<Value>,
    #[serde(deserialize_with = "nested")]
    pub(super) logprobs_result: Option<Value>,
}

/// The reasons whose numbers are the same in both of Google's APIs (`FinishReason` in their protocol buffers).
const NUMBERED: [&str; 5] = ["STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER"];

/// A reason for an end by its name, or by its number, as servers write it that are asked for `enum-encoding=int`. Zero is none.
fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<str>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Reason {
        Name(Box<str>),
        Number(usize),
    }
    Ok(match Option::deserialize(deserializer)? {
        None | Some(Reason::Number(0)) => None,
        Some(Reason::Name(name)) => Some(name),
        Some(Reason::Number(number)) => {
            let name = NUMBERED.get(number - 1).map(|name| (*name).into());
            Some(name.unwrap_or_else(|| number.to_string().into()))
        }
    })
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Content {
    pub(super) parts: Parts,
}

/// The contents that a part may have, as far as they are understood here; a part with none of them belongs to the provider.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WirePart {
    pub(super) text: Option<String>,
    #[serde(deserialize_with = "scalar")]
    pub(super) thought: Option<bool>,
    #[serde(deserialize_with = "scalar")]
    pub(super) thought_signature: Option<Box<str>>,
    pub(super) function_call: Option<FunctionCall>,
    pub(super) inline_data: Option<Blob>,
    pub(super) file_data: Option<FileData>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FunctionCall {
    #[serde(deserialize_with = "scalar")]
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) args: Option<Box<RawValue>>,
    pub(super) partial_args: PartialArgs,
    #[serde(deserialize_with = "scalar")]
    pub(super) will_continue: Option<bool>,
}

/// A piece of an argument (Vertex AI, `PartialArg`).
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PartialArg {
    pub(super) json_path: String,
    pub(super) string_value: Option<String>,
    pub(super) number_value: Option<Number>,
    pub(super) bool_value: Option<bool>,
    #[serde(deserialize_with = "scalar")]
    pub(super) will_continue: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Blob {
    pub(super) mime_type: Option<Box<str>>,
    pub(super) display_name: Option<Box<str>>,
    pub(super) data: Option<Box<str>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct FileData {
    pub(super) mime_type: Option<Box<str>>,
    pub(super) display_name: Option<Box<str>>,
    pub(super) file_uri: Option<Box<str>>,
}

/// Counts of tokens (`UsageMetadata`).
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    #[serde(rename = "promptTokenCount", deserialize_with = "scalar")]
    pub(super) prompt: Option<u64>,
    #[serde(rename = "cachedContentTokenCount", deserialize_with = "scalar")]
    pub(super) cached: Option<u64>,
    #[serde(rename = "candidatesTokenCount", deserialize_with = "scalar")]
    pub(super) candidates: Option<u64>,
    #[serde(rename = "thoughtsTokenCount", deserialize_with = "scalar")]
    pub(super) thoughts: Option<u64>,
    #[serde(rename = "toolUsePromptTokenCount", deserialize_with = "scalar")]
    pub(super) tools: Option<u64>,
    #[serde(rename = "totalTokenCount", deserialize_with = "scalar")]
    pub(super) total: Option<u64>,
}

/// The parts of a content, or `null`, each as it came.
#[derive(Debug, Default)]
pub(super) struct Parts(pub(super) Vec<Box<RawValue>>);

/// Pieces of arguments, or `null`.
#[derive(Debug, Default)]
pub(super) struct PartialArgs(pub(super) Vec<PartialArg>);

impl<'de> Deserialize<'de> for Parts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Bounded(PhantomData)).map(Self)
    }
}

impl<'de> Deserialize<'de> for PartialArgs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Bounded(PhantomData)).map(Self)
    }
}

/// A reader of a list that has at most [`MAX_PARTS`] elements.
struct Bounded<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Bounded<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or null")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut all = Vec::new();
        while let Some(item) = items.next_element()? {
            if all.len() == MAX_PARTS {
                return Err(A::Error::custom(format!("more than {MAX_PARTS} parts")));
            }
            all.push(item);
        }
        Ok(all)
    }
}
