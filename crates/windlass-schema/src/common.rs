//! Schemas of common form, which are valid for sure.
//!
//! The validator compares a schema with the meta-schema of JSON Schema 2020-12, and compiles that first: a few milliseconds
//! for a process that may never check a value. Most tools have schemas of the forms below, which the meta-schema allows,
//! so their validator is made when the first value is checked.

use serde_json::{Map, Value};

/// The meta-schema by its address.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// The types of values.
const TYPES: [&str; 7] = ["null", "boolean", "object", "array", "number", "string", "integer"];

/// Whether every keyword of a schema and of its subschemas is common and in the form that the meta-schema asks for.
/// `false` says nothing.
pub(crate) fn is_common(schema: &Value) -> bool {
    match schema {
        Value::Bool(_) => true,
        Value::Object(map) => map.iter().all(|(key, value)| keyword(key, value)),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => false,
    }
}

fn keyword(key: &str, value: &Value) -> bool {
    match key {
        "title" | "description" | "format" | "$comment" => value.is_string(),
        "$schema" => value == DIALECT,
        "$ref" => value.as_str().is_some_and(|to| to.starts_with("#/$defs/")),
        "type" => value.as_array().map_or_else(|| is_type(value), |types| types_of(types)),
        "properties" | "$defs" | "dependentSchemas" => value.as_object().is_some_and(named),
        "items" | "additionalProperties" | "contains" | "propertyNames" | "not" | "if" | "then" | "else" => {
            is_common(value)
        }
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => value.as_array().is_some_and(|all| listed(all)),
        "required" => {
            value.as_array().is_some_and(|names| distinct(names) && names.iter().all(Value::is_string))
        }
        "enum" | "examples" => value.is_array(),
        "const" | "default" => true,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            value.is_u64()
        }
        "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
        _ => false,
    }
}

fn named(schemas: &Map<String, Value>) -> bool {
    schemas.values().all(is_common)
}

fn listed(schemas: &[Value]) -> bool {
    !schemas.is_empty() && schemas.iter().all(is_common)
}

fn is_type(value: &Value) -> bool {
    value.as_str().is_some_and(|name| TYPES.contains(&name))
}

fn types_of(types: &[Value]) -> bool {
    !types.is_empty() && types.len() <= TYPES.len() && distinct(types) && types.iter().all(is_type)
}

/// Whether no text stands there twice. Long lists are left to the meta-schema.
fn distinct(texts: &[Value]) -> bool {
    const MOST_COMPARED: usize = 64;
    texts.len() <= MOST_COMPARED
        && texts.iter().enumerate().all(|(at, text)| !texts.iter().skip(at + 1).any(|later| later == text))
}

#[cfg(test)]
mod tests;
