//! The parts of a schema that are not as JSON Schema wants them, with their places: for people who write schemas.

use serde_json::Value;

use crate::checker::cut;
use crate::modern::modern;
use windlass_text::find::nearest::{did_you_mean, nearest};

/// The most parts that are named.
const MOST: usize = 64;
/// The types of JSON Schema.
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// A part of a schema that is not as JSON Schema wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// Its JSON Pointer.
    pub pointer: String,
    /// Its fault.
    pub words: String,
}

/// The parts of a schema, whose size and depth are within bounds, that the meta-schema of JSON Schema 2020-12 refuses, in
/// the order of their places.
pub fn misplaced_parts(schema: &Value) -> Vec<Misplaced> {
    let meta = jsonschema::draft202012::meta::validator();
    let modern = modern(schema);
    let schema = &*modern;
    let errors = meta.iter_errors(schema).take(MOST);
    let mut parts: Vec<Misplaced> = errors
        .map(|error| {
            let pointer = error.instance_path().to_string();
            let value = schema.pointer(&pointer);
            let of_type = pointer.ends_with("/type").then(|| value.and_then(not_a_type)).flatten();
            Misplaced { words: of_type.unwrap_or_else(|| cut(&error)), pointer }
        })
        .collect();
    parts.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    parts.dedup_by(|a, b| a.pointer == b.pointer);
    parts
}

/// Why a value names no type.
fn not_a_type(value: &Value) -> Option<String> {
    if !value.is_string() && !value.is_array() {
        return Some(format!("a type is one of {}, or a list of these", TYPES.join(", ")));
    }
    let listed = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut texts = value.as_str().into_iter().chain(listed.iter().filter_map(Value::as_str));
    let wrong = texts.find(|text| !TYPES.contains(text))?;
    let known = match wrong.to_ascii_lowercase().as_str() {
        "str" | "text" => vec!["string".to_owned()],
        "int" | "long" => vec!["integer".to_owned()],
        "float" | "double" | "decimal" => vec!["number".to_owned()],
        "bool" => vec!["boolean".to_owned()],
        "list" | "tuple" | "set" => vec!["array".to_owned()],
        "dict" | "map" | "record" => vec!["object".to_owned()],
        "none" | "nil" => vec!["null".to_owned()],
        _ => nearest(wrong, TYPES),
    };
    Some(format!("there is no type {}{}", cut(&Value::from(wrong)), did_you_mean(&known)))
}
