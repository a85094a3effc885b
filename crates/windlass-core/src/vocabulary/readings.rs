//! Owns how an argument of a text form is read where its schema wants another type than its notation says: `1991` is the
//! text `"1991"` for a parameter of type string, and `"1991"` the number for one of type integer.
//!
//! The decision is made once, when a reply is read, and stored beside the place of the arguments ([`Readings`]): a fold
//! reads no schema.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::vocabulary::ids::Text;

/// Maximum number of parts of a parameter's schema that are looked at. Beyond it the argument stays as it is written.
const MOST_PARTS: u32 = 256;

/// The way to read an argument in place of its notation's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReadAs {
    /// As a text, whatever value stands there.
    Text,
    /// As the value that its text is, in JSON or one of Python's words.
    Value,
}

/// The arguments that are not read as they are written, by name.
pub(crate) type Readings = BTreeMap<Text, ReadAs>;

/// The source of decisions on arguments.
pub(crate) enum Reading<'r> {
    /// A tool's parameters; decisions are added to the readings.
    Schema(&'r Value, Readings),
    /// Decisions that were stored.
    Stored(&'r Readings),
}

impl Reading<'_> {
    /// The decisions that were made.
    pub(crate) fn made(self) -> Readings {
        match self {
            Self::Schema(_, readings) => readings,
            Self::Stored(readings) => readings.clone(),
        }
    }

    /// How to read this argument, which is `written` as JSON. `None`: as it is written.
    pub(crate) fn of(&mut self, key: &str, written: &str) -> Option<ReadAs> {
        match self {
            Self::Stored(readings) => readings.get(key).copied(),
            Self::Schema(parameters, readings) => {
                let found = wanted(parameters, key, written)?;
                readings.insert(key.into(), found);
                Some(found)
            }
        }
    }
}

/// The value that a text is. `None`: it is none.
pub(crate) fn value_of(text: &str) -> Option<Cow<'_, str>> {
    let text = text.trim();
    match text {
        "True" => Some("true".into()),
        "False" => Some("false".into()),
        "None" => Some("null".into()),
        json => serde_json::from_str::<&RawValue>(json).ok().map(|value| value.get().into()),
    }
}

/// The reading by a tool's parameters: as it is written if its type is allowed, else the first reading that is.
fn wanted(parameters: &Value, key: &str, written: &str) -> Option<ReadAs> {
    let parameter = parameters.get("properties")?.get(key)?;
    let allowed = |kind| Types { root: parameters, left: MOST_PARTS }.allow(parameter, kind);
    if allowed(Kind::of(written)) != Some(false) {
        return None;
    }
    if !written.starts_with('"') {
        return (allowed(Kind::String) == Some(true)).then_some(ReadAs::Text);
    }
    let text: Cow<'_, str> = serde_json::from_str(written).ok()?;
    let value = value_of(&text)?;
    (allowed(Kind::of(&value)) == Some(true)).then_some(ReadAs::Value)
}

/// A type of JSON Schema.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Null,
    Array,
    Object,
}

impl Kind {
    fn of(json: &str) -> Self {
        match json.as_bytes().first() {
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            Some(b'[') => Self::Array,
            Some(b'{') => Self::Object,
            // 1.0 is an integer (JSON Schema 2020-12, 6.1.1).
            _ if json.parse::<f64>().is_ok_and(|number| number.fract() == 0.0) => Self::Integer,
            _ => Self::Number,
        }
    }

    fn is(self, name: &str) -> bool {
        match self {
            Self::String => name == "string",
            Self::Integer => matches!(name, "integer" | "number"),
            Self::Number => name == "number",
            Self::Boolean => name == "boolean",
            Self::Null => name == "null",
            Self::Array => name == "array",
            Self::Object => name == "object",
        }
    }
}

/// The types that a schema allows.
struct Types<'s> {
    root: &'s Value,
    left: u32,
}

impl Types<'_> {
    /// Whether values of that type are allowed; `None`: the schema does not say.
    fn allow(&mut self, schema: &Value, kind: Kind) -> Option<bool> {
        self.left = self.left.checked_sub(1)?;
        let schema = schema.as_object()?;
        let parts = [
            schema.get("type").and_then(|named| named_in(named, kind)),
            schema.get("const").map(|value| Kind::of(&value.to_string()) == kind),
            schema.get("enum").and_then(Value::as_array).map(|values| {
                let few = values.iter().take(MOST_PARTS as usize);
                few.map(|value| Kind::of(&value.to_string())).any(|found| found == kind)
            }),
            schema.get("anyOf").and_then(|any| self.any(any, kind)),
            schema.get("oneOf").and_then(|any| self.any(any, kind)),
            schema.get("allOf").and_then(|all| {
                let all = all.as_array()?.iter().filter_map(|part| self.allow(part, kind));
                all.reduce(|one, other| one && other)
            }),
            schema.get("$ref").and_then(Value::as_str).and_then(|path| {
                let root = self.root;
                self.allow(root.pointer(path.strip_prefix('#')?)?, kind)
            }),
        ];
        parts.into_iter().flatten().reduce(|one, other| one && other)
    }

    fn any(&mut self, schemas: &Value, kind: Kind) -> Option<bool> {
        let parts: Vec<Option<bool>> =
            schemas.as_array()?.iter().map(|schema| self.allow(schema, kind)).collect();
        if parts.contains(&Some(true)) {
            return Some(true);
        }
        (!parts.contains(&None)).then_some(false)
    }
}

fn named_in(named: &Value, kind: Kind) -> Option<bool> {
    if let Some(name) = named.as_str() {
        return Some(kind.is(name));
    }
    Some(named.as_array()?.iter().filter_map(Value::as_str).any(|name| kind.is(name)))
}

#[cfg(test)]
mod tests;
