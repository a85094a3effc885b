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

use crate::MAX_CALLS;

/// The most bytes of a reported error that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// A whole reply, or a chunk of a streamed one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Body {
    pub(super) choices: First<Choice>,
    pub(super) usage: Option<WireUsage>,
    #[serde(deserialize_with = "error")]
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    pub(super) delta: Option<Said>,
    pub(super) message: Option<Said>,
    pub(super) finish_reason: Option<Box<str>>,
    /// Some servers (Moonshot) count here.
    pub(super) usage: Option<WireUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    pub(super) content: Words,
    pub(super) reasoning_content: Words,
    pub(super) reasoning: Words,
    pub(super) refusal: Words,
    pub(super) tool_calls: CallPieces,
    /// The form before `tool_calls`.
    pub(super) function_call: Option<Function>,
}

/// A provider's error in place of a reply, shortened if it is too long.
pub(in crate::wires) fn error<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let Some(raw) = Option::<Box<RawValue>>::deserialize(deserializer)? else { return Ok(None) };
    let text = raw.get();
    if text.len() > MAX_ERROR_BYTES {
        return Ok(text.get(..text.floor_char_boundary(MAX_ERROR_BYTES)).map(Value::from));
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
    pub(super) index: Option<u32>,
    pub(super) id: Option<String>,
    pub(super) function: Option<Function>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function {
    pub(super) name: Option<String>,
    pub(super) arguments: Arguments,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    pub(super) prompt_tokens: Option<u64>,
    pub(super) completion_tokens: Option<u64>,
    pub(super) prompt_tokens_details: Option<InputDetails>,
    pub(super) completion_tokens_details: Option<OutputDetails>,
    /// DeepSeek's name for cached tokens.
    pub(super) prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct InputDetails {
    pub(super) cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct OutputDetails {
    pub(super) reasoning_tokens: Option<u64>,
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

/// Text that comes as a string, as `null`, or as a list of `{"type":"text","text":…}`.
#[derive(Debug, Default)]
pub(super) struct Words(pub(super) String);

#[derive(Default, Deserialize)]
#[serde(default)]
struct TextPart {
    text: Option<String>,
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Words;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a list of text parts or null")
            }
            fn visit_unit<E>(self) -> Result<Words, E> {
                Ok(Words::default())
            }
            fn visit_str<E>(self, text: &str) -> Result<Words, E> {
                Ok(Words(text.to_owned()))
            }
            fn visit_string<E>(self, text: String) -> Result<Words, E> {
                Ok(Words(text))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Words, A::Error> {
                let mut all = String::new();
                while let Some(part) = items.next_element::<TextPart>()? {
                    all.push_str(part.text.as_deref().unwrap_or_default());
                }
                Ok(Words(all))
            }
        }
        deserializer.deserialize_any(Reader)
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
