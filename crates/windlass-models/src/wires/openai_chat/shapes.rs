//! Owns the shapes of OpenAI Chat Completions' replies and chunks, as tolerant as servers are different.
//!
//! Unknown fields are passed over, absent and `null` are the same, and only the first choice is read. What a reply may
//! have any number of is read without a value for each, or up to a bound.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::parts::{Details, Pieces, Words};
use super::usage::WireUsage;
use crate::MAX_CALLS;
use crate::wires::annotations::WireToken;
use crate::wires::loose::{Scalar, nested, scalar};

/// The most bytes of a reported error that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// A whole reply, or a chunk of a streamed one. What most chunks lack is boxed: a value is moved a few times while it is
/// read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Body {
    pub(super) choices: First<Choice>,
    #[serde(deserialize_with = "nested")]
    pub(super) usage: Option<Box<WireUsage>>,
    /// The model that answered.
    #[serde(deserialize_with = "scalar")]
    pub(super) model: Option<Answering>,
    #[serde(deserialize_with = "error")]
    pub(super) error: Option<Box<Value>>,
    /// Groq's own: counts, and why a stream was stopped early.
    #[serde(deserialize_with = "nested")]
    pub(super) x_groq: Option<Box<Groq>>,
    /// Words of an error that is not wrapped in `error`.
    #[serde(deserialize_with = "error")]
    pub(super) message: Option<Box<Value>>,
    #[serde(deserialize_with = "error")]
    pub(super) detail: Option<Box<Value>>,
    /// Addresses of the sources of the reply so far (Perplexity, xAI).
    #[serde(deserialize_with = "nested")]
    pub(super) citations: Option<Box<Sources>>,
    /// The same sources with their titles (Perplexity).
    #[serde(deserialize_with = "nested")]
    pub(super) search_results: Option<Box<Sources>>,
}

/// The family of the model that answered, read from its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answering {
    pub(super) is_gemini: bool,
}

impl Scalar for Answering {
    fn of_text(text: &str) -> Option<Self> {
        Some(Self { is_gemini: text.starts_with("google/") || text.starts_with("gemini") })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Groq {
    #[serde(deserialize_with = "nested")]
    pub(super) usage: Option<Box<WireUsage>>,
    #[serde(deserialize_with = "error")]
    pub(super) error: Option<Box<Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    /// Its number among several.
    #[serde(deserialize_with = "scalar")]
    pub(super) index: Option<u32>,
    pub(super) delta: Option<ReplyMessage>,
    pub(super) message: Option<Box<ReplyMessage>>,
    pub(super) finish_reason: Option<Box<str>>,
    #[serde(deserialize_with = "nested")]
    pub(super) logprobs: Option<Box<Logprobs>>,
    /// Some servers (Moonshot) count here.
    #[serde(deserialize_with = "nested")]
    pub(super) usage: Option<Box<WireUsage>>,
    /// OpenRouter: what went wrong at the provider behind it.
    #[serde(deserialize_with = "error")]
    pub(super) error: Option<Box<Value>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReplyMessage {
    pub(super) content: Pieces,
    pub(super) reasoning_content: Words,
    pub(super) reasoning: Words,
    /// OpenRouter's blocks of reasoning, which go back as they came.
    pub(super) reasoning_details: Details,
    pub(super) refusal: Words,
    pub(super) tool_calls: CallPieces,
    /// The form before `tool_calls`.
    pub(super) function_call: Option<Box<Function>>,
    /// OpenRouter's images that the model made.
    pub(super) images: Pieces,
    /// Gemini's own: a signature of thoughts beside the text.
    pub(super) extra_content: Option<Box<RawValue>>,
    /// Sources of the text (OpenAI's search models, OpenRouter).
    #[serde(deserialize_with = "nested")]
    pub(super) annotations: Option<Box<Sources>>,
    #[serde(deserialize_with = "nested")]
    pub(super) audio: Option<Box<Audio>>,
}

/// Sources of a reply, each in its server's form.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Sources(pub(super) Vec<Value>);

/// Speech of the model: whole, or a piece of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Audio {
    #[serde(deserialize_with = "scalar")]
    pub(super) data: Option<String>,
    #[serde(deserialize_with = "scalar")]
    pub(super) transcript: Option<String>,
}

/// Tokens with their probabilities: OpenAI's lists, or those of servers that keep texts and numbers apart (Together AI).
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Logprobs {
    pub(super) content: Option<Vec<WireToken>>,
    pub(super) refusal: Option<Vec<WireToken>>,
    pub(super) tokens: Option<Vec<Box<str>>>,
    #[serde(rename = "token_logprobs")]
    pub(super) numbers: Option<Vec<Option<f64>>>,
}

/// A provider's error in place of a reply, shortened if it is too long.
pub(in crate::wires) fn error<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Box<Value>>, D::Error> {
    let Some(raw) = Option::<Box<RawValue>>::deserialize(deserializer)? else { return Ok(None) };
    let text = raw.get();
    if text.len() > MAX_ERROR_BYTES {
        return Ok(text.get(..text.floor_char_boundary(MAX_ERROR_BYTES)).map(|text| Box::new(text.into())));
    }
    // Some servers send an empty one in each chunk.
    if matches!(text, "\"\"" | "{}" | "[]" | "false") {
        return Ok(None);
    }
    serde_json::from_str(text).map(Some).map_err(D::Error::custom)
}

/// Pieces of calls, or `null`.
#[derive(Debug, Default)]
pub(super) struct CallPieces(pub(super) Vec<CallPiece>);

impl<'de> Deserialize<'de> for CallPieces {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = CallPieces;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list or null")
            }
            fn visit_unit<E>(self) -> Result<CallPieces, E> {
                Ok(CallPieces::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<CallPieces, A::Error> {
                let mut pieces = Vec::new();
                while let Some(piece) = items.next_element()? {
                    if pieces.len() == MAX_CALLS {
                        return Err(A::Error::custom(format!("more than {MAX_CALLS} tool calls")));
                    }
                    pieces.push(piece);
                }
                Ok(CallPieces(pieces))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallPiece {
    #[serde(deserialize_with = "scalar")]
    pub(super) index: Option<u32>,
    #[serde(deserialize_with = "scalar")]
    pub(super) id: Option<String>,
    pub(super) function: Option<Function>,
    /// Gemini's own: a signature of the thoughts before the call.
    pub(super) extra_content: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function {
    #[serde(deserialize_with = "scalar")]
    pub(super) name: Option<String>,
    pub(super) arguments: Arguments,
}

/// The first element of an array, read without making a list.
#[derive(Debug)]
pub(in crate::wires) struct First<T>(pub(in crate::wires) Option<T>);

impl<T> Default for First<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for First<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = First<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list or null")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(First(None))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let first = items.next_element()?;
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(First(first))
            }
        }
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

/// Arguments as a string, as `null`, or (against the specification) as an object, which is accepted.
#[derive(Debug, Default)]
pub(super) struct Arguments(pub(super) String);

impl<'de> Deserialize<'de> for Arguments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Arguments;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, an object or null")
            }
            fn visit_unit<E>(self) -> Result<Arguments, E> {
                Ok(Arguments::default())
            }
            fn visit_str<E>(self, text: &str) -> Result<Arguments, E> {
                Ok(Arguments(text.to_owned()))
            }
            fn visit_string<E>(self, text: String) -> Result<Arguments, E> {
                Ok(Arguments(text))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Arguments, A::Error> {
                let mut all = String::from("{");
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    let key = serde_json::to_string(&key).map_err(A::Error::custom)?;
                    all.extend([if all.len() > 1 { "," } else { "" }, &key, ":", value.get()]);
                }
                all.push('}');
                Ok(Arguments(all))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
