//! JSON Schemas as models are shown them: references inlined, titles out.

use crate::modern::modern;
use serde_json::{Map, Value};

use crate::keywords::DATA;

/// Maximum nesting depth of inlined references; deeper ones stay references, which ends recursive types.
const MOST_NESTED: usize = 16;
/// The most values of a schema whose references are inlined. One that would have more keeps its references.
pub const MAX_PLAIN_VALUES: usize = 20_000;
/// So many bytes of text count as one more value.
const BYTES_PER_VALUE: usize = 64;
/// Keywords that hold definitions (`definitions` before draft 2019-09).
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// The schema with its local references inlined and its titles taken out, as acorn shows output types to models.
///
/// A type that contains itself cannot be inlined: its reference stays, and with it the definitions. Where references
/// multiply beyond [`MAX_PLAIN_VALUES`], all of them stay.
pub fn plain_schema(schema: &Value) -> Value {
    let modern = modern(schema);
    let schema = &*modern;
    let mut inlining =
        Plain { root: schema, references: References::Inlined, within: Vec::new(), left: MAX_PLAIN_VALUES };
    inlining.whole().unwrap_or_else(|| {
        let mut tidying =
            Plain { references: References::Kept, within: Vec::new(), left: usize::MAX, root: schema };
        tidying.whole().unwrap_or_else(|| schema.clone())
    })
}

/// Treatment of references that could be inlined.
#[derive(Clone, Copy, PartialEq, Eq)]
enum References {
    Inlined,
    Kept,
}

/// The making of a plain schema.
struct Plain<'s> {
    root: &'s Value,
    references: References,
    /// The references that are being inlined.
    within: Vec<String>,
    /// Number of values left in the budget.
    left: usize,
}

impl<'s> Plain<'s> {
    /// `None`: it would have too many values.
    fn whole(&mut self) -> Option<Value> {
        let mut plain = self.clean(self.root, false)?;
        let recursive = refers(&plain);
        let Value::Object(map) = &mut plain else { return Some(plain) };
        for key in DEFINITIONS {
            match map.get_mut(key) {
                Some(Value::Object(definitions)) if recursive => {
                    for value in definitions.values_mut() {
                        *value = self.clean(value, false)?;
                    }
                }
                Some(_) => {
                    map.shift_remove(key);
                }
                None => {}
            }
        }
        Some(plain)
    }

    /// `names`: whether the keys of this object are names that people chose (properties), not keywords.
    fn clean(&mut self, value: &Value, names: bool) -> Option<Value> {
        let text = value.as_str().map_or(0, str::len);
        self.left = self.left.checked_sub(1 + text / BYTES_PER_VALUE)?;
        match value {
            Value::Object(map) if !names => {
                if let Some(Value::String(reference)) = map.get("$ref")
                    && let Some(target) = self.target(reference)
                {
                    return self.inline(reference, target, map);
                }
                let entries =
                    map.iter().filter(|(key, value)| !(key.as_str() == "title" && value.is_string()));
                let mut cleaned = Map::new();
                for (key, value) in entries {
                    cleaned.insert(key.clone(), self.keyword(key, value)?);
                }
                Some(cleaned.into())
            }
            Value::Object(map) => {
                let mut cleaned = Map::new();
                for (key, value) in map {
                    cleaned.insert(key.clone(), self.clean(value, false)?);
                }
                Some(cleaned.into())
            }
            Value::Array(items) => items.iter().map(|item| self.clean(item, false)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
        }
    }

    fn keyword(&mut self, key: &str, value: &Value) -> Option<Value> {
        // Data stays as it is; definitions are cleaned at the end.
        if DATA.contains(&key) || DEFINITIONS.contains(&key) {
            self.left = self.left.checked_sub(size(value) / BYTES_PER_VALUE)?;
            return Some(value.clone());
        }
        self.clean(value, matches!(key, "properties" | "patternProperties" | "dependentSchemas"))
    }

    /// Target of a reference that is to be inlined.
    fn target(&self, reference: &str) -> Option<&'s Value> {
        let open = self.within.len() >= MOST_NESTED || self.within.iter().any(|outer| outer == reference);
        if open || self.references == References::Kept {
            return None;
        }
        self.root.pointer(reference.strip_prefix('#')?)
    }

    /// The target of a reference, overlaid with the keywords beside the reference (JSON Schema 2020-12, 8.2.3.1).
    fn inline(&mut self, reference: &str, target: &Value, map: &Map<String, Value>) -> Option<Value> {
        self.within.push(reference.to_owned());
        let inlined = self.clean(target, false);
        self.within.pop();
        let mut inlined = inlined?;
        if let Value::Object(inlined) = &mut inlined {
            for (key, value) in map.iter().filter(|(key, _)| *key != "$ref" && *key != "title") {
                inlined.insert(key.clone(), self.clean(value, false)?);
            }
        }
        Some(inlined)
    }
}

/// Size of a value: the bytes of its texts plus a minimum per value.
fn size(value: &Value) -> usize {
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + size(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    BYTES_PER_VALUE + inner
}

fn refers(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| {
            (key == "$ref" && value.is_string()) || (!DEFINITIONS.contains(&key.as_str()) && refers(value))
        }),
        Value::Array(items) => items.iter().any(refers),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

#[cfg(test)]
mod tests;
