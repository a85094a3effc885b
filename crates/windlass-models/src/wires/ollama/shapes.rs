//! Owns the shapes of Ollama's replies and lines. Unknown fields are passed over; absent and `null` are the same.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::MAX_CALLS;
use crate::wires::annotations::WireToken;
use crate::wires::loose::{nested, scalar};

/// The most bytes of a reported error that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// A whole reply, or a line of a streamed one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Body {
    pub(super) message: Option<ReplyMessage>,
    #[serde(deserialize_with = "scalar")]
    pub(super) done: Option<bool>,
    pub(super) done_reason: Option<Box<str>>,
    /// Tokens of the request; absent where the server took all of them from its cache.
    #[serde(deserialize_with = "scalar")]
    pub(super) prompt_eval_count: Option<u64>,
    /// Tokens of the reply.
    #[serde(deserialize_with = "scalar")]
    pub(super) eval_count: Option<u64>,
    pub(super) error: Option<Box<RawValue>>,
    #[serde(deserialize_with = "nested")]
    pub(super) logprobs: Option<Vec<WireToken>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ReplyMessage {
    pub(super) content: Option<String>,
    #[serde(deserialize_with = "scalar")]
    pub(super) thinking: Option<String>,
    pub(super) images: Bounded<String>,
    pub(super) tool_calls: Bounded<Call>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Call {
    #[serde(deserialize_with = "scalar")]
    pub(super) id: Option<String>,
    pub(super) function: Option<Function>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Function {
    #[serde(deserialize_with = "scalar")]
    pub(super) name: Option<String>,
    arguments: Option<Box<RawValue>>,
}

impl Function {
    /// The arguments as text. Absent and empty ones are an empty object; text in place of an object is taken as it is.
    pub(super) fn args(&self) -> String {
        let raw = self.arguments.as_deref().map_or("", RawValue::get).trim();
        let text = if raw.starts_with('"') { serde_json::from_str::<String>(raw).ok() } else { None };
        let args = text.as_deref().unwrap_or(raw);
        if args.trim().is_empty() { "{}".to_owned() } else { args.to_owned() }
    }
}

impl Body {
    /// The error in place of a reply, shortened if it is too long.
    pub(super) fn error(&self) -> Option<Value> {
        let text = self.error.as_deref()?.get();
        let head = text.get(..text.floor_char_boundary(MAX_ERROR_BYTES)).unwrap_or(text);
        // A part of a JSON value is no JSON value: it is told as text.
        Some(serde_json::from_str(head).unwrap_or_else(|_| Value::from(head)))
    }
}

/// A list of at most [`MAX_CALLS`] items, or `null`.
#[derive(Debug)]
pub(super) struct Bounded<T>(pub(super) Vec<T>);

impl<T> Default for Bounded<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Bounded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Bounded<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list or null")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Bounded::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = items.next_element()? {
                    if all.len() == MAX_CALLS {
                        return Err(A::Error::custom(format!("more than {MAX_CALLS} items in a list")));
                    }
                    all.push(item);
                }
                Ok(Bounded(all))
            }
        }
        deserializer.deserialize_any(Reader(PhantomData))
    }
}
