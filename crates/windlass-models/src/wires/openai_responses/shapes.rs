//! Owns how JSON of the Responses API is read: objects whose fields keep their bytes, so that they can go back unchanged.
//!
//! Nothing is copied before it is looked at, unknown fields are passed over, and absent and `null` are the same.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use windlass_core::model::Usage;

use crate::MAX_CALLS;
use crate::wires::json::json_string;
use crate::wires::loose::scalar;
use crate::wires::money::Reported;

/// The most fields of one object, and the most elements of one list, that are read.
pub(super) const MAX_ITEMS: usize = MAX_CALLS;

/// A JSON object, its fields in their order.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Reads the object in a text.
    pub(super) fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// A field's value; `null` counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let (_, value) = self.0.iter().find(|(key, _)| key == name)?;
        (value.get() != "null").then_some(*value)
    }

    /// A field that is a text.
    pub(super) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        text_of(self.get(name)?)
    }

    /// A field that is a whole number, not negative; it may stand in a text.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let mut json = serde_json::Deserializer::from_str(self.get(name)?.get());
        scalar(&mut json).ok().flatten()
    }

    /// A field that is an object.
    pub(super) fn object(&self, name: &str) -> Option<Self> {
        serde_json::from_str(self.get(name)?.get()).ok()
    }

    /// The objects in a field that is a list; nothing if it is none.
    ///
    /// # Errors
    /// The list is too long.
    pub(super) fn objects(&self, name: &str) -> Result<Vec<Self>, serde_json::Error> {
        let Some(raw) = self.get(name).filter(|raw| raw.get().starts_with('[')) else {
            return Ok(Vec::new());
        };
        let list: List<'a> = serde_json::from_str(raw.get())?;
        Ok(list.0.into_iter().filter_map(|raw| serde_json::from_str(raw.get()).ok()).collect())
    }

    /// A text that may come as another value, whose JSON is the text then (arguments of calls).
    pub(super) fn text_or_json(&self, name: &str) -> Cow<'a, str> {
        let raw = self.get(name);
        raw.map_or(Cow::Borrowed(""), |raw| text_of(raw).unwrap_or_else(|| Cow::Owned(compacted(raw))))
    }

    /// The object without these fields; `None`: there are no others.
    pub(super) fn without(&self, names: &[&str]) -> Option<Box<RawValue>> {
        let mut out = Vec::new();
        for (key, value) in self.0.iter().filter(|(key, _)| !names.contains(&&**key)) {
            out.push(if out.is_empty() { b'{' } else { b',' });
            json_string(&mut out, key);
            out.push(b':');
            compact(&mut out, value);
        }
        if out.is_empty() {
            return None;
        }
        out.push(b'}');
        String::from_utf8(out).ok().and_then(|json| RawValue::from_string(json).ok())
    }

    /// The names of its fields.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(key, _)| &**key)
    }
}

/// Writes a value without the space between its parts: whole replies have some, events of streams have none.
pub(super) fn compact(out: &mut Vec<u8>, value: &RawValue) {
    let (mut in_text, mut escaped) = (false, false);
    for byte in value.get().bytes() {
        if in_text {
            in_text = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte.is_ascii_whitespace() {
            continue;
        } else {
            in_text = byte == b'"';
        }
        out.push(byte);
    }
}

/// A value without the space between its parts.
pub(super) fn compacted(value: &RawValue) -> String {
    let mut out = Vec::with_capacity(value.get().len());
    compact(&mut out, value);
    String::from_utf8(out).unwrap_or_default()
}

/// The text that a JSON string stands for.
fn text_of(raw: &RawValue) -> Option<Cow<'_, str>> {
    let text: Key<'_> = serde_json::from_str(raw.get()).ok()?;
    Some(text.0)
}

/// A JSON string, borrowed where it has no escapes.
struct Key<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Reader<'a> {
            type Value = Key<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'a>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Key<'a>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Reader(PhantomData))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Reader<'a> {
            type Value = Fields<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'a>, A::Error> {
                let mut fields = Vec::new();
                while let Some((key, value)) = map.next_entry::<Key<'a>, &'a RawValue>()? {
                    if fields.len() == MAX_ITEMS {
                        return Err(A::Error::custom(format!("an object of more than {MAX_ITEMS} fields")));
                    }
                    fields.push((key.0, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// The elements of a list.
struct List<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for List<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'a>(PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Reader<'a> {
            type Value = List<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<List<'a>, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = items.next_element()? {
                    if all.len() == MAX_ITEMS {
                        return Err(A::Error::custom(format!("more than {MAX_ITEMS} items in a list")));
                    }
                    all.push(item);
                }
                Ok(List(all))
            }
        }
        deserializer.deserialize_seq(Reader(PhantomData))
    }
}

/// The usage in a response (API reference, "The response object", `usage`). `None` where nothing was counted.
///
/// OpenAI counts reasoning as output. Where the total is larger than input and output (xAI), the difference is output, too.
pub(super) fn usage_of(response: &Fields<'_>) -> Option<Usage> {
    let usage = response.object("usage")?;
    let (input, output) = (usage.number("input_tokens"), usage.number("output_tokens"));
    if input.is_none() && output.is_none() {
        return None;
    }
    let detail = |of: &str, name: &str| usage.object(of).and_then(|details| details.number(name));
    let (input, output) = (input.unwrap_or(0), output.unwrap_or(0));
    let output = output.max(usage.number("total_tokens").unwrap_or(0).saturating_sub(input));
    Some(Usage {
        input,
        output,
        cached: detail("input_tokens_details", "cached_tokens").unwrap_or(0),
        cache_write: detail("input_tokens_details", "cache_write_tokens").unwrap_or(0),
        reasoning: detail("output_tokens_details", "reasoning_tokens").unwrap_or(0),
        estimated: false,
        reported: Reported {
            cost: usage.get("cost"),
            details: usage.get("cost_details"),
            is_byok: usage.get("is_byok"),
            ticks: usage.get("cost_in_usd_ticks"),
        }
        .pico()
        .into(),
    })
}

#[cfg(test)]
mod tests;
