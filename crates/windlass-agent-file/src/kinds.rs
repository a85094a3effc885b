//! Kinds of values in agent files: how each is written, for the reader and for the schema.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use windlass_tools::valid_name;

use crate::yaml::{Hidden, Kind, OfKind, Valued, of_kind};

/// A type that is read from a text, and what it must look like.
macro_rules! text_kind {
    ($(#[$about:meta])* $Name:ident, $name:literal, $expected:literal, $fits:expr, $schema:tt) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(super) struct $Name(pub(super) String);

        impl AsRef<str> for $Name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl<'de> Deserialize<'de> for $Name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;

                impl Visitor<'_> for Text {
                    type Value = $Name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expected)
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$Name, E> {
                        let fits: fn(&str) -> bool = $fits;
                        if fits(text) {
                            Ok($Name(text.to_owned()))
                        } else {
                            Err(E::invalid_value(Unexpected::Str(text), &self))
                        }
                    }
                }

                deserializer.deserialize_str(Text)
            }
        }

        impl JsonSchema for $Name {
            fn inline_schema() -> bool {
                $name.is_empty()
            }

            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

text_kind! {
    /// A text that is not empty.
    Filled, "", "a non-empty text", |text| !text.trim().is_empty(),
    { "type": "string", "minLength": 1 }
}

text_kind! {
    /// A name that a model can call.
    ToolName, "toolName", "a name of letters, digits, `_` and `-`, at most 64", valid_name,
    { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" }
}

text_kind! {
    /// An address, in which `${NAME}` is read from the environment.
    AddressText, "address", "a non-empty text", |text| !text.trim().is_empty(),
    { "type": "string", "minLength": 1, "description": "A URL. `${NAME}` in it is read from the environment." }
}

/// A secret, in which `${NAME}` is read from the environment.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct SecretText(Hidden);

impl SecretText {
    pub(super) fn as_str(&self) -> &str {
        &self.0.0
    }
}

windlass_core::schema_as!([] SecretText, "secret", |_| json_schema!({
    "type": "string",
    "description": "A secret, or a text with `${NAME}` in it, which is read from the environment. Never logged."
}));

/// A text; numbers and truth values are taken as they would be printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LooseText(pub(super) String);

impl<'de> Deserialize<'de> for LooseText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = String;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
                Ok(text.to_owned())
            }

            fn visit_bool<E: Error>(self, flag: bool) -> Result<String, E> {
                Ok(flag.to_string())
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<String, E> {
                Ok(number.to_string())
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
                Ok(number.to_string())
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<String, E> {
                Ok(number.to_string())
            }
        }

        deserializer.deserialize_any(Text).map(Self)
    }
}

windlass_core::schema_as!(inline [] LooseText, "loose_text", |_| {
    json_schema!({ "type": ["string", "number", "boolean"] })
});

/// A number within bounds, both allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number<const MIN: i64 = 0, const MAX: i64 = { i64::MAX }>(pub(super) f64);

impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for Number<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounds<const MIN: i64, const MAX: i64>;

        impl<const MIN: i64, const MAX: i64> Visitor<'_> for Bounds<MIN, MAX> {
            type Value = f64;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a number from {MIN}")?;
                if MAX < i64::MAX { write!(f, " to {MAX}") } else { Ok(()) }
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
                if (MIN as f64..=MAX as f64).contains(&number) {
                    Ok(number)
                } else {
                    Err(E::invalid_value(Unexpected::Float(number), &self))
                }
            }
        }

        deserializer.deserialize_f64(Bounds::<MIN, MAX>).map(Self)
    }
}

windlass_core::schema_as!(inline [const MIN: i64, const MAX: i64] Number<MIN, MAX>, format!("number_{MIN}_{MAX}"), |_| {
    let mut schema = json_schema!({ "type": "number", "minimum": MIN });
    if MAX < i64::MAX {
        schema.insert("maximum".to_owned(), MAX.into());
    }
    schema
});

/// Names of the writer's own, each with a value, in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pairs<T>(pub(super) Vec<(String, T)>);

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each<T>(std::marker::PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<T> {
            type Value = Vec<(String, T)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }

        deserializer.deserialize_map(Each(std::marker::PhantomData)).map(Self)
    }
}

windlass_core::schema_as!(inline [T: JsonSchema] Pairs<T>, format!("map_of_{}", T::schema_name()), |generator| {
    json_schema!({ "type": "object", "additionalProperties": generator.subschema_for::<T>() })
});

/// A type with a short form, which is a text.
pub(super) trait Short {
    /// The expected form, for errors.
    const EXPECTED: &'static str;
}

/// A text, or a map in its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TextOr<T> {
    Text(Filled),
    Map(T),
}

impl<T: Short + DeserializeOwned> OfKind for TextOr<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>> {
        match kind {
            Kind::Text => Some(value.read().map(Self::Text)),
            Kind::Map => Some(value.read().map(Self::Map)),
            Kind::Nothing | Kind::Flag | Kind::Number | Kind::List => None,
        }
    }
}

impl<'de, T: Short + DeserializeOwned> Deserialize<'de> for TextOr<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_kind(deserializer)
    }
}

windlass_core::schema_as!(inline [T: JsonSchema] TextOr<T>, format!("text_or_{}", T::schema_name()), |generator| {
    json_schema!({ "oneOf": [generator.subschema_for::<Filled>(), generator.subschema_for::<T>()] })
});

/// Options, or nothing in their place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OrNothing<T>(pub(super) T);

impl<T: Default + DeserializeOwned> OfKind for OrNothing<T> {
    const EXPECTED: &'static str = "a map of options";

    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>> {
        match kind {
            Kind::Nothing => Some(Ok(Self::default())),
            Kind::Map => Some(value.read().map(Self)),
            Kind::Flag | Kind::Number | Kind::Text | Kind::List => None,
        }
    }
}

impl<'de, T: Default + DeserializeOwned> Deserialize<'de> for OrNothing<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_kind(deserializer)
    }
}

windlass_core::schema_as!(inline [T: JsonSchema] OrNothing<T>, format!("optional_{}", T::schema_name()), |generator| {
    json_schema!({ "oneOf": [{ "const": null }, generator.subschema_for::<T>()] })
});
