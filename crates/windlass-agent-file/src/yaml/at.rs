//! Types that know more of what they are read from than its value: where it stands, and what kind of value it is.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::{Problem, YamlError};
use super::node::{Node, NodeValue, Place};

// Names by which types ask the tree's deserializer for more.
pub(super) const AT: &str = "windlass:at";
pub(super) const OF_KIND: &str = "windlass:of_kind";
pub(super) const ENTRIES: &str = "windlass:entries";
pub(super) const SECRET: &str = "windlass:secret";

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    /// The value.
    pub value: T,
    /// Position of its start.
    pub place: Place,
    /// Its dotted path.
    pub path: String,
    /// Whether it is a text in literal style (`|`).
    pub literal: bool,
}

impl<T> At<T> {
    /// An error at this value.
    pub fn error(&self, code: &'static str, message: impl Into<String>) -> YamlError {
        let problem = Problem::Other { code, message: message.into(), help: None };
        YamlError::new(self.place, self.path.clone(), problem)
    }

    /// Another value at the same place.
    pub fn with<U>(&self, value: U) -> At<U> {
        At { value, place: self.place, path: self.path.clone(), literal: self.literal }
    }
}

impl<T: AsRef<str>> At<T> {
    /// The error that this text is something else than expected.
    pub fn wrong(&self, expected: &str) -> YamlError {
        let found = Node::new(NodeValue::String(self.value.as_ref().to_owned()), self.place).describe();
        let problem = Problem::WrongValue { path: self.path.clone(), expected: expected.to_owned(), found };
        YamlError::new(self.place, self.path.clone(), problem)
    }
}

impl<T: Default> Default for At<T> {
    fn default() -> Self {
        Self { value: T::default(), place: Place::default(), path: String::new(), literal: false }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(AT, Located(PhantomData))
    }
}

struct Located<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Located<T> {
    type Value = At<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    /// From a source that knows no places.
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<At<T>, D::Error> {
        let value = T::deserialize(deserializer)?;
        Ok(At { value, place: Place::default(), path: String::new(), literal: false })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<At<T>, A::Error> {
        let place = Place { line: next(&mut parts)?, column: next(&mut parts)? };
        let (path, literal) = (next(&mut parts)?, next(&mut parts)?);
        Ok(At { value: next(&mut parts)?, place, path, literal })
    }
}

fn next<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(parts: &mut A) -> Result<T, A::Error> {
    parts.next_element()?.ok_or_else(|| A::Error::custom("the value is missing"))
}

/// Kind of a value in the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Nothing,
    /// `true` or `false`.
    Flag,
    /// A number.
    Number,
    /// A text.
    Text,
    /// A list.
    List,
    /// A map.
    Map,
}

const KINDS: [Kind; 6] = [Kind::Nothing, Kind::Flag, Kind::Number, Kind::Text, Kind::List, Kind::Map];

/// A type that is read in another way from each kind of value.
pub trait OfKind: Sized {
    /// The expected form, for errors.
    const EXPECTED: &'static str;

    /// Reads it from a value of that kind; `None`: no such value fits.
    ///
    /// # Errors
    /// The value does not fit.
    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>>;
}

/// A value whose kind is known, to be read once.
#[derive(Debug)]
pub struct Valued<A>(A);

impl<'de, A: SeqAccess<'de>> Valued<A> {
    /// The value as that type.
    ///
    /// # Errors
    /// It does not fit.
    pub fn read<T: Deserialize<'de>>(mut self) -> Result<T, A::Error> {
        next(&mut self.0)
    }
}

/// Reads a value by its kind.
///
/// # Errors
/// It does not fit.
pub fn of_kind<'de, T: OfKind, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_newtype_struct(OF_KIND, ByKind(PhantomData))
}

struct ByKind<T>(PhantomData<T>);

impl<'de, T: OfKind> Visitor<'de> for ByKind<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<T, A::Error> {
        let kind: u8 = next(&mut parts)?;
        let kind = KINDS.into_iter().find(|known| *known as u8 == kind).unwrap_or(Kind::Nothing);
        T::of_kind(kind, Valued(parts)).unwrap_or_else(|| Err(A::Error::invalid_length(0, &self)))
    }
}

/// One value, or a list of them.
#[derive(Clone, Debug, PartialEq)]
pub struct OneOrMany<T>(pub Vec<T>);

impl<T> Default for OneOrMany<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: DeserializeOwned> OfKind for OneOrMany<T> {
    const EXPECTED: &'static str = "a value or a list";

    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>> {
        Some(match kind {
            Kind::List => value.read().map(Self),
            Kind::Nothing | Kind::Flag | Kind::Number | Kind::Text | Kind::Map => {
                value.read().map(|one| Self(vec![one]))
            }
        })
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for OneOrMany<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_kind(deserializer)
    }
}

windlass_core::schema_as!(inline [T: JsonSchema] OneOrMany<T>, format!("one_or_many_{}", T::schema_name()), |generator| {
    let one = generator.subschema_for::<T>();
    json_schema!({ "oneOf": [one, { "type": "array", "minItems": 1, "items": one }] })
});

impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// The entries of a map in the order of the document, each read as a map of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(entry) = entries.next_element()? {
                    all.push(entry);
                }
                Ok(all)
            }
        }

        deserializer.deserialize_newtype_struct(ENTRIES, Each(PhantomData)).map(Self)
    }
}

/// A text that errors do not show.
#[derive(Clone, PartialEq, Eq)]
pub struct Hidden(pub String);

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl<'de> Deserialize<'de> for Hidden {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl<'de> Visitor<'de> for Text {
            type Value = String;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<String, E> {
                Ok(text.to_owned())
            }

            fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
                String::deserialize(deserializer)
            }
        }

        deserializer.deserialize_newtype_struct(SECRET, Text).map(Self)
    }
}
