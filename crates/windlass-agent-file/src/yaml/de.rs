//! From the tree to types: a serde deserializer whose every error points at its place.
//!
//! A type that needs positions wraps its parts in [`At`]. A type with several notations asks for the value's [`Kind`]
//! ([`OfKind`](super::OfKind)). Maps are closed: types deny unknown fields, so a key that no field takes is refused.

use std::fmt::Display;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, Expected, Unexpected, Visitor};
use windlass_core::settings::refusal_parts;
use windlass_core::text::nearest;

use super::access::{Entries, Items, Located, OfKind, Singles, Variant, Word};
use super::at::{AT, ENTRIES, Kind, OF_KIND, SECRET};
use super::error::{Problem, YamlError};
use super::node::{Key, Node, NodeValue, Place};
use super::read::{Field, join, one_of};

impl Field<'_> {
    /// The value as that type.
    ///
    /// # Errors
    /// It does not fit; the error points at what does not.
    pub fn decode<T: for<'de> serde::Deserialize<'de>>(&self) -> Result<T, YamlError> {
        self.decode_with(std::marker::PhantomData)
    }

    /// The same for a type whose decoding needs context.
    ///
    /// # Errors
    /// As there.
    pub fn decode_with<'de, S: DeserializeSeed<'de>>(&'de self, seed: S) -> Result<S::Value, YamlError> {
        let path = Path::Root(&self.path);
        Reader::new(self.node, &path).placed(|reader| seed.deserialize(reader)).map_err(Fault::into_error)
    }
}

/// Path of a value. Rendered only on demand, because paths of deep values are long.
pub(super) enum Path<'p> {
    Root(&'p str),
    Key(&'p Path<'p>, &'p str),
    Item(&'p Path<'p>, usize),
}

impl Path<'_> {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Root(path) => (*path).to_owned(),
            Self::Key(parent, key) => join(&parent.text(), key),
            Self::Item(parent, at) => join(&parent.text(), &at.to_string()),
        }
    }
}

/// An error, before and after its position is known.
#[derive(Debug)]
pub(super) enum Fault {
    Wrong { expected: String },
    UnknownWord { word: String, known: &'static [&'static str] },
    UnknownKey { key: String, known: &'static [&'static str] },
    MissingKey(&'static str),
    Words(String),
    Placed(Box<YamlError>),
}

/// The codes of values that their types refuse in their own words.
const REFUSED: [&str; 5] = [
    "policy.cache",
    "policy.unknown_preset",
    "agent.unknown_builtin",
    "agent.unknown_service",
    "agent.unknown_hosted",
];
/// The code where they name none.
const USUAL: &str = "yaml.refused";

impl Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wrong { expected } => write!(f, "expected {expected}"),
            Self::UnknownWord { word, .. } => write!(f, "Unknown word `{word}`"),
            Self::UnknownKey { key, .. } => write!(f, "Unknown key `{key}`"),
            Self::MissingKey(key) => write!(f, "Key `{key}` is missing"),
            Self::Words(words) => f.write_str(words),
            Self::Placed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Fault {}

impl Error for Fault {
    fn custom<T: Display>(message: T) -> Self {
        Self::Words(message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::Wrong { expected: in_words(&expected.to_string()).to_owned() }
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::Wrong { expected: in_words(&expected.to_string()).to_owned() }
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Self::UnknownWord { word: word.to_owned(), known }
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self::UnknownKey { key: key.to_owned(), known }
    }

    fn missing_field(key: &'static str) -> Self {
        Self::MissingKey(key)
    }
}

impl Fault {
    pub(super) fn at(self, place: Place, path: &Path<'_>, found: &dyn Fn() -> String) -> Self {
        let path = || path.text();
        let (path, problem) = match self {
            Self::Placed(_) => return self,
            Self::Wrong { expected } => {
                (path(), Problem::WrongValue { path: path(), expected, found: found() })
            }
            Self::UnknownWord { known, .. } => {
                (path(), Problem::WrongValue { path: path(), expected: one_of(known), found: found() })
            }
            Self::UnknownKey { key, known } => {
                let nearest = nearest(&key, known.iter().copied());
                let known = known.iter().map(|key| (*key).to_owned()).collect();
                (join(&path(), &key), Problem::UnknownKey { path: path(), key, nearest, known })
            }
            Self::MissingKey(key) => {
                (join(&path(), key), Problem::MissingKey { path: path(), key: key.to_owned() })
            }
            Self::Words(words) => {
                let (code, message, help) = refusal_parts(&words);
                let code = REFUSED.into_iter().find(|known| code == Some(known)).unwrap_or(USUAL);
                let (message, help) = (message.to_owned(), help.map(str::to_owned));
                (path(), Problem::Other { code, message, help })
            }
        };
        Self::Placed(Box::new(YamlError::new(place, path, problem)))
    }

    /// The same where a key was read: an unknown word is an unknown key.
    pub(super) fn of_key(self) -> Self {
        if let Self::UnknownWord { word, known } = self {
            Self::UnknownKey { key: word, known }
        } else {
            self
        }
    }

    fn into_error(self) -> YamlError {
        let placed = self.at(Place { line: 1, column: 1 }, &Path::Root(""), &String::new);
        if let Self::Placed(error) = placed {
            return *error;
        }
        // It has just been given a place.
        let problem = Problem::Other { code: USUAL, message: placed.to_string(), help: None };
        YamlError::new(Place::default(), "", problem)
    }
}

/// Translates serde's wording of an expected form.
fn in_words(expected: &str) -> &str {
    match expected {
        "a string" | "a borrowed string" | "string" => "a text",
        "a boolean" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number from 0",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        other if other.starts_with("struct ") => "a map",
        other => other,
    }
}

/// A value of the tree.
pub(super) struct Reader<'n, 'p> {
    node: &'n Node,
    path: &'p Path<'p>,
    /// Whether what is found must not be shown.
    secret: bool,
}

impl<'n, 'p> Reader<'n, 'p> {
    pub(super) fn new(node: &'n Node, path: &'p Path<'p>) -> Self {
        Self { node, path, secret: false }
    }

    /// Gives an error the value's position, unless it already has a deeper one.
    pub(super) fn placed<T>(self, read: impl FnOnce(Self) -> Result<T, Fault>) -> Result<T, Fault> {
        let (node, path, secret) = (self.node, self.path, self.secret);
        let found = || if secret { node.kind().to_owned() } else { node.describe() };
        read(self).map_err(|fault| fault.at(node.place(), path, &found))
    }

    fn any<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.node.value {
            NodeValue::Null => visitor.visit_unit(),
            NodeValue::Bool(flag) => visitor.visit_bool(*flag),
            NodeValue::Int(number) => int(*number, visitor),
            NodeValue::Float(number) => visitor.visit_f64(*number),
            NodeValue::String(text) => visitor.visit_borrowed_str(text),
            NodeValue::List(items) => self.list(items, visitor),
            NodeValue::Map(entries) => self.map(entries, visitor),
        }
    }

    fn list<V: Visitor<'n>>(&self, items: &'n [Node], visitor: V) -> Result<V::Value, Fault> {
        let expected = (&visitor as &dyn Expected).to_string();
        let mut list = Items { items: items.iter().enumerate(), path: self.path };
        let value = visitor.visit_seq(&mut list)?;
        if list.items.next().is_some() { Err(wrong(&expected)) } else { Ok(value) }
    }

    fn map<V: Visitor<'n>>(&self, entries: &'n [(Key, Node)], visitor: V) -> Result<V::Value, Fault> {
        let expected = (&visitor as &dyn Expected).to_string();
        let mut map = Entries { left: entries.iter(), value: None, path: self.path };
        let value = visitor.visit_map(&mut map)?;
        if map.left.next().is_some() { Err(wrong(&expected)) } else { Ok(value) }
    }

    /// Whole numbers may be written with an exponent: 2e3.
    fn whole<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        if let NodeValue::Float(number) = self.node.value
            && number >= 0.0
            && number.fract() == 0.0
            && number < 9.0e15
        {
            visitor.visit_u64(number as u64)
        } else {
            self.any(visitor)
        }
    }

    fn number<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        if let NodeValue::Int(number) = self.node.value {
            visitor.visit_f64(number as f64)
        } else {
            self.any(visitor)
        }
    }

    fn kind(&self) -> Kind {
        match self.node.value {
            NodeValue::Null => Kind::Nothing,
            NodeValue::Bool(_) => Kind::Flag,
            NodeValue::Int(_) | NodeValue::Float(_) => Kind::Number,
            NodeValue::String(_) => Kind::Text,
            NodeValue::List(_) => Kind::List,
            NodeValue::Map(_) => Kind::Map,
        }
    }
}

fn wrong(expected: &str) -> Fault {
    Fault::Wrong { expected: in_words(expected).to_owned() }
}

fn int<'n, V: Visitor<'n>>(number: i128, visitor: V) -> Result<V::Value, Fault> {
    match (u64::try_from(number), i64::try_from(number)) {
        (Ok(number), _) => visitor.visit_u64(number),
        (_, Ok(number)) => visitor.visit_i64(number),
        // The reader of documents makes no such number.
        _ => visitor.visit_f64(number as f64),
    }
}

macro_rules! forward {
    ($($method:ident => $to:ident)*) => {
        $(fn $method<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.placed(|reader| reader.$to(visitor))
        })*
    };
}

impl<'n> Deserializer<'n> for Reader<'n, '_> {
    type Error = Fault;

    forward! {
        deserialize_any => any
        deserialize_bool => any
        deserialize_i8 => whole
        deserialize_i16 => whole
        deserialize_i32 => whole
        deserialize_i64 => whole
        deserialize_u8 => whole
        deserialize_u16 => whole
        deserialize_u32 => whole
        deserialize_u64 => whole
        deserialize_f32 => number
        deserialize_f64 => number
        deserialize_char => any
        deserialize_str => any
        deserialize_string => any
        deserialize_bytes => any
        deserialize_byte_buf => any
        deserialize_unit => any
        deserialize_seq => any
        deserialize_map => any
        deserialize_identifier => any
        deserialize_ignored_any => any
    }

    /// A key that stands there has a value: nothing is none.
    fn deserialize_option<V: Visitor<'n>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_unit_struct<V: Visitor<'n>>(self, _: &'static str, visitor: V) -> Result<V::Value, Fault> {
        self.placed(|reader| reader.any(visitor))
    }

    fn deserialize_newtype_struct<V: Visitor<'n>>(
        mut self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let (node, path, kind) = (self.node, self.path, self.kind());
        match name {
            SECRET => {
                self.secret = true;
                self.placed(|reader| reader.any(visitor))
            }
            AT => visitor.visit_seq(Located {
                place: node.place(),
                path: path.text(),
                literal: node.literal,
                step: 0,
                value: Some(self),
            }),
            OF_KIND => self.placed(|_| visitor.visit_seq(OfKind { node, path, kind: Some(kind) })),
            ENTRIES => self.placed(|reader| {
                if let NodeValue::Map(entries) = &node.value {
                    visitor.visit_seq(Singles { entries: entries.iter(), path })
                } else {
                    reader.any(visitor)
                }
            }),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_tuple<V: Visitor<'n>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        self.placed(|reader| reader.any(visitor))
    }

    fn deserialize_tuple_struct<V: Visitor<'n>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.placed(|reader| reader.any(visitor))
    }

    /// Only from a map: the fields of a list would have no names.
    fn deserialize_struct<V: Visitor<'n>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.placed(|reader| {
            if let NodeValue::Map(entries) = &reader.node.value {
                reader.map(entries, visitor)
            } else {
                Err(wrong(&(&visitor as &dyn Expected).to_string()))
            }
        })
    }

    fn deserialize_enum<V: Visitor<'n>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let expected = match (&visitor as &dyn Expected).to_string() {
            derived if derived.starts_with("enum ") => one_of(variants),
            own => own,
        };
        self.placed(|reader| {
            let known = |name: &str| variants.is_empty() || variants.contains(&name);
            match &reader.node.value {
                NodeValue::String(word) if known(word) => visitor.visit_enum(Word { word, expected }),
                NodeValue::Map(entries) => match entries.as_slice() {
                    [(key, value)] => visitor.visit_enum(Variant { key, value, path: reader.path }),
                    _ => Err(wrong(&expected)),
                },
                NodeValue::Null
                | NodeValue::Bool(_)
                | NodeValue::Int(_)
                | NodeValue::Float(_)
                | NodeValue::String(_)
                | NodeValue::List(_) => Err(wrong(&expected)),
            }
        })
    }
}
