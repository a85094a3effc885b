//! Values with several written forms, such as `off`, `on` or a map: one description gives their reader and their schema.

use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// A word or flag that denotes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word<'t> {
    /// A text.
    Text(&'t str),
    /// `true` or `false`.
    Flag(bool),
}

/// The written forms of a value: words, a number, a map. `windlass_core::written!` makes `Deserialize` and `JsonSchema`
/// of them.
pub trait Written: Sized {
    /// The expected form, for errors.
    const EXPECTED: &'static str;
    /// The map form.
    type Map: for<'de> Deserialize<'de> + JsonSchema + Into<Self>;

    /// The words and flags that denote a value.
    fn words() -> Vec<(Word<'static>, Self)>;

    /// The value for a whole number, if the setting accepts numbers.
    fn number(_number: u32) -> Option<Self> {
        None
    }
}

/// Implements `Deserialize` and `JsonSchema` for a type by its [`Written`] forms.
#[macro_export]
macro_rules! written {
    ($type:ident) => {
        impl<'de> ::serde::Deserialize<'de> for $type {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::settings::read(deserializer)
            }
        }

        impl ::schemars::JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $crate::settings::schema::<Self>(generator)
            }
        }
    };
}

/// Reads a value in any of its written forms.
///
/// # Errors
/// It has none of them.
pub fn read<'de, T: Written, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Forms(PhantomData))
}

/// The JSON Schema of all written forms of a value.
pub fn schema<T: Written>(generator: &mut SchemaGenerator) -> Schema {
    let words = T::words().into_iter().map(|(word, _)| match word {
        Word::Text(text) => json!(text),
        Word::Flag(flag) => json!(flag),
    });
    let mut forms = vec![json!({ "enum": words.collect::<Vec<_>>() })];
    if T::number(0).is_some() {
        forms.push(json!({ "type": "integer", "minimum": 0 }));
    }
    let map = T::Map::json_schema(generator).to_value();
    match map.get("oneOf").and_then(Value::as_array) {
        // Several maps stand beside the other forms.
        Some(maps) => forms.extend(maps.iter().cloned()),
        None => forms.push(map),
    }
    json!({ "oneOf": forms }).try_into().unwrap_or_default()
}

struct Forms<T>(PhantomData<T>);

impl<T: Written> Forms<T> {
    fn word<E: Error>(self, written: Word<'_>, found: Unexpected<'_>) -> Result<T, E> {
        let mut words = T::words().into_iter();
        let value = words.find(|(word, _)| *word == written).map(|(_, value)| value);
        value.ok_or_else(|| E::invalid_value(found, &self))
    }
}

impl<'de, T: Written> Visitor<'de> for Forms<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        self.word(Word::Text(text), Unexpected::Str(text))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<T, E> {
        self.word(Word::Flag(flag), Unexpected::Bool(flag))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        let value = u32::try_from(number).ok().and_then(T::number);
        value.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::Map::deserialize(MapAccessDeserializer::new(map)).map(Into::into)
    }
}
