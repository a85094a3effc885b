//! The `limits` of an agent file: numbers in the units that people write, each with what follows when it is reached.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use serde::de::{DeserializeSeed, Error, Expected, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::policy::limits::{AtLimit, Limit};
use crate::vocabulary::limit::LimitKind;

/// Limits that are set, in their kept units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimitKeys(pub BTreeMap<LimitKind, Limit>);

impl LimitKeys {
    /// Sets the value of a limit, in its kept unit; what follows when it is reached stays as it is.
    pub fn set(&mut self, kind: LimitKind, max: u64) {
        self.0.entry(kind).or_insert(Limit { max, at_limit: None }).max = max;
    }
}

/// One limit, read as that kind is written.
#[derive(Clone, Copy, Debug)]
pub struct LimitKey(pub LimitKind);

static NAMES: LazyLock<[&str; LimitKind::SETTABLE.len()]> =
    LazyLock::new(|| LimitKind::SETTABLE.map(LimitKind::name));

impl<'de> Deserialize<'de> for LimitKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Limits)
    }
}

struct Limits;

impl<'de> Visitor<'de> for Limits {
    type Value = LimitKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of limits")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LimitKeys, A::Error> {
        let mut limits = BTreeMap::new();
        while let Some(kind) = map.next_key_seed(KindSeed)? {
            limits.insert(kind, map.next_value_seed(LimitKey(kind))?);
        }
        Ok(LimitKeys(limits))
    }
}

struct KindSeed;

impl<'de> DeserializeSeed<'de> for KindSeed {
    type Value = LimitKind;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<LimitKind, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for KindSeed {
    type Value = LimitKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a limit")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<LimitKind, E> {
        LimitKind::from_name(name).ok_or_else(|| E::unknown_field(name, &*NAMES))
    }
}

impl<'de> DeserializeSeed<'de> for LimitKey {
    type Value = Limit;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Limit, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for LimitKey {
    type Value = Limit;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number from 0, or { max, at_limit }")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Limit, E> {
        max_of(self.0, number, &self)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Limit, E> {
        max_of(self.0, number as f64, &self)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Limit, E> {
        max_of(self.0, number as f64, &self)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Limit, A::Error> {
        let (mut limit, mut at_limit) = (None, None);
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match &*key {
                "max" => limit = Some(map.next_value_seed(Max(self.0))?),
                "at_limit" => at_limit = Some(map.next_value()?),
                _ => return Err(A::Error::unknown_field(&key, &["max", "at_limit"])),
            }
        }
        let limit = limit.ok_or_else(|| A::Error::missing_field("max"))?;
        Ok(Limit { at_limit, ..limit })
    }
}

/// The `max` of a limit.
struct Max(LimitKind);

impl<'de> DeserializeSeed<'de> for Max {
    type Value = Limit;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Limit, D::Error> {
        deserializer.deserialize_f64(self)
    }
}

impl Visitor<'_> for Max {
    type Value = Limit;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number from 0")?;
        if self.0.keep(0.5).is_none() { f.write_str(" without a fraction") } else { Ok(()) }
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Limit, E> {
        max_of(self.0, number, &self)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Limit, E> {
        max_of(self.0, number as f64, &self)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Limit, E> {
        max_of(self.0, number as f64, &self)
    }
}

fn max_of<E: Error>(kind: LimitKind, number: f64, expected: &dyn Expected) -> Result<Limit, E> {
    let max = kind.keep(number).ok_or_else(|| E::invalid_value(Unexpected::Float(number), expected))?;
    Ok(Limit { max, at_limit: None })
}

crate::schema_as!([] LimitKeys, "limits", |generator| {
    let limit = generator.subschema_for::<LimitForm>().to_value();
    // The kinds' own comments describe them.
    let kinds = LimitKind::json_schema(generator).to_value();
    let about = |kind: LimitKind| {
        let kinds = kinds.get("oneOf").and_then(Value::as_array)?;
        kinds.iter().find(|own| own["const"] == kind.name())?.get("description").cloned()
    };
    let keys = LimitKind::SETTABLE.into_iter().map(|kind| {
        let mut schema = limit.clone();
        if let (Value::Object(schema), Some(about)) = (&mut schema, about(kind)) {
            schema.insert("description".to_owned(), about);
        }
        (kind.name().to_owned(), schema)
    });
    let keys: Map<String, Value> = keys.collect();
    let schema = json!({ "type": "object", "properties": keys, "additionalProperties": false });
    schema.try_into().unwrap_or_default()
});

/// The schema of one limit.
struct LimitForm;

crate::schema_as!([] LimitForm, "limit", |generator| {
    let mut at_limit = generator.subschema_for::<AtLimit>();
    let about = "What follows when it is reached, in place of the loop's own `at_limit`.";
    at_limit.insert("description".to_owned(), about.into());
    let map = json!({
        "type": "object",
        "properties": {
            "max": { "description": "The limit.", "type": "number", "minimum": 0 },
            "at_limit": at_limit
        },
        "required": ["max"],
        "additionalProperties": false
    });
    json!({ "oneOf": [{ "type": "number", "minimum": 0 }, map] }).try_into().unwrap_or_default()
});
