//! Things that come with Windlass and are named in agent files: built-in tools, services.

use std::fmt;
use std::marker::PhantomData;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeSeed, EnumAccess, Error, SeqAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use windlass_core::settings::refusal;
use windlass_core::text::{did_you_mean, nearest};

use crate::yaml::{At, Entries, Kind, OfKind, Valued, of_kind};

/// A choice from a catalogue, with its options.
pub(super) trait Catalogue: Sized {
    /// Kind of the entries, for messages.
    const WHAT: &'static str;
    /// The code of the error that there is none of a name.
    const UNKNOWN: &'static str;
    /// Names of the schema's definitions: of the names, and of the options.
    const DEFINITIONS: [&'static str; 2];

    /// The entry that a name denotes.
    type Entry: Copy + 'static;
    /// The names.
    const NAMES: &'static [(&'static str, Self::Entry)];

    /// Schema of its options.
    fn options(entry: Self::Entry, generator: &mut SchemaGenerator) -> Schema;

    /// Reads its options; there may be nothing in their place.
    ///
    /// # Errors
    /// They do not fit.
    fn read<'de, A: VariantAccess<'de>>(entry: Self::Entry, options: A) -> Result<Self, A::Error>;
}

/// One choice: its name, or its name with options.
#[derive(Clone, Debug)]
pub(super) struct Choice<T>(pub(super) T);

impl<'de, T: Catalogue> Deserialize<'de> for Choice<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("", &[], Named(PhantomData)).map(Self)
    }
}

struct Named<T>(PhantomData<T>);

impl<'de, T: Catalogue> Visitor<'de> for Named<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {}'s name, or a map of names with their options", T::WHAT)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<T, A::Error> {
        let (entry, options) = data.variant_seed(Name::<T>(PhantomData))?;
        T::read(entry, options)
    }
}

struct Name<T>(PhantomData<T>);

impl<'de, T: Catalogue> DeserializeSeed<'de> for Name<T> {
    type Value = T::Entry;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T::Entry, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl<T: Catalogue> Visitor<'_> for Name<T> {
    type Value = T::Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a {}'s name", T::WHAT)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<T::Entry, E> {
        let entry = T::NAMES.iter().find(|(known, _)| *known == name).map(|(_, entry)| *entry);
        entry.ok_or_else(|| {
            let names = names::<T>();
            let close = did_you_mean(&nearest(name, names.iter().copied()));
            let message = format!("There is no {} `{name}`{close}", T::WHAT);
            E::custom(refusal(T::UNKNOWN, &message, &format!("the {}s are {}", T::WHAT, names.join(", "))))
        })
    }
}

/// Choices: a name, a map of names with their options, or a list of such.
#[derive(Clone, Debug)]
pub(super) struct Choices<T>(pub(super) Vec<At<T>>);

impl<T: Catalogue> Choices<T> {
    fn of(choices: Vec<At<Choice<T>>>) -> Self {
        let plain = |At { value: Choice(value), place, path, literal }| At { value, place, path, literal };
        Self(choices.into_iter().map(plain).collect())
    }
}

impl<T: Catalogue> OfKind for Choices<T> {
    const EXPECTED: &'static str = "a name, a map of names with their options, or a list of these";

    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>> {
        Some(match kind {
            Kind::List => value.read().map(|lists: Vec<Item<T>>| {
                Self(lists.into_iter().flat_map(|Item(Self(choices))| choices).collect())
            }),
            Kind::Map => value.read().map(|Entries(choices)| Self::of(choices)),
            Kind::Text => value.read().map(|choice| Self::of(vec![choice])),
            Kind::Nothing | Kind::Flag | Kind::Number => return None,
        })
    }
}

impl<'de, T: Catalogue> Deserialize<'de> for Choices<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_kind(deserializer)
    }
}

/// Choices within a list: no further list.
struct Item<T>(Choices<T>);

impl<T: Catalogue> OfKind for Item<T> {
    const EXPECTED: &'static str = "a name, or a map of names with their options";

    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>> {
        match kind {
            Kind::Map | Kind::Text => Some(value.read().map(Self)),
            Kind::Nothing | Kind::Flag | Kind::Number | Kind::List => None,
        }
    }
}

impl<'de, T: Catalogue> Deserialize<'de> for Item<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_kind(deserializer)
    }
}

windlass_core::schema_as!(inline [T: Catalogue] Choices<T>, T::WHAT, |generator| {
    let name = generator.subschema_for::<NameSchema<T>>();
    let options = generator.subschema_for::<OptionsSchema<T>>();
    let items = json_schema!({ "oneOf": [name, options] });
    json_schema!({ "oneOf": [name, { "type": "array", "items": items }, options] })
});

fn names<T: Catalogue>() -> Vec<&'static str> {
    T::NAMES.iter().map(|(name, _)| *name).collect()
}

struct NameSchema<T>(PhantomData<T>);

windlass_core::schema_as!([T: Catalogue] NameSchema<T>, T::DEFINITIONS[0], |_| {
    json_schema!({ "description": format!("A {}.", T::WHAT), "enum": names::<T>() })
});

struct OptionsSchema<T>(PhantomData<T>);

windlass_core::schema_as!([T: Catalogue] OptionsSchema<T>, T::DEFINITIONS[1], |generator| {
    let options = T::NAMES.iter();
    let options = options.map(|(name, entry)| {
        let mut options = T::options(*entry, generator);
        options.insert("description".to_owned(), format!("Options of `{name}`.").into());
        ((*name).to_owned(), options.into())
    });
    let options: Map<String, Value> = options.collect();
    json_schema!({
        "description": format!("Options of each {}.", T::WHAT),
        "type": "object",
        "properties": options,
        "additionalProperties": false
    })
});
