//! Owns how a JSON Schema is brought into the form that replies can be held to ("Structured outputs", "JSON Schema limitations").
//!
//! Objects are closed, alternatives are `anyOf`, and bounds of numbers, texts and lists, which the API refuses, go to the
//! description in words: the model reads them, and whoever asked checks the result against the whole schema. What remains
//! unsupported is left as it is, and the API refuses the request with the path.

use serde_json::{Map, Value};

/// Keywords that only bound a value.
const BOUNDS: [&str; 13] = [
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "format",
];

/// Formats of texts that the API knows.
const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// The schema in that form.
pub(super) fn held_to(schema: &Value) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let mut held = Map::new();
    let mut bounds = Map::new();
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                let all = named.iter().map(|(name, schema)| (name.clone(), held_to(schema)));
                held.insert(name.clone(), Value::Object(all.collect()));
            }
            ("items", schema) => {
                held.insert(name.clone(), held_to(schema));
            }
            ("oneOf", Value::Array(all)) if !fields.contains_key("anyOf") => {
                held.insert("anyOf".to_owned(), all.iter().map(held_to).collect());
            }
            ("anyOf" | "allOf", Value::Array(all)) => {
                held.insert(name.clone(), all.iter().map(held_to).collect());
            }
            (bound, value) if BOUNDS.contains(&bound) && !is_supported(bound, value) => {
                bounds.insert(name.clone(), value.clone());
            }
            _ => {
                held.insert(name.clone(), value.clone());
            }
        }
    }
    let is_object = held.get("type").is_some_and(|kind| *kind == "object") || held.contains_key("properties");
    if is_object && held.get("additionalProperties").is_none_or(|more| *more == true) {
        held.insert("additionalProperties".to_owned(), false.into());
    }
    if !bounds.is_empty() {
        let before = held.get("description").and_then(Value::as_str).map(|text| format!("{text} "));
        let words = format!("{}{}", before.unwrap_or_default(), Value::Object(bounds));
        held.insert("description".to_owned(), words.into());
    }
    Value::Object(held)
}

fn is_supported(bound: &str, value: &Value) -> bool {
    match bound {
        "minItems" => matches!(value.as_u64(), Some(0 | 1)),
        "format" => value.as_str().is_some_and(|format| FORMATS.contains(&format)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::held_to;

    #[test]
    fn objects_are_closed_and_bounds_become_words() {
        let schema = json!({"type": "object", "required": ["n"], "properties": {
            "n": {"type": "integer", "minimum": 1, "maximum": 9, "description": "A digit."},
            "l": {"type": "array", "minItems": 1, "items": {"type": "string", "format": "regex"}},
            "m": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/o"}},
            "d": {"type": "string", "format": "date"},
        }, "$defs": {"o": {"type": "object", "properties": {"a": {"oneOf": [{"type": "null"}, {"const": 1}]}}}}});
        assert_eq!(
            held_to(&schema),
            json!({"type": "object", "required": ["n"], "properties": {
                "n": {"type": "integer", "description": "A digit. {\"minimum\":1,\"maximum\":9}"},
                "l": {"type": "array", "minItems": 1,
                      "items": {"type": "string", "description": "{\"format\":\"regex\"}"}},
                "m": {"type": "array", "items": {"$ref": "#/$defs/o"}, "description": "{\"minItems\":2}"},
                "d": {"type": "string", "format": "date"},
            }, "$defs": {"o": {"type": "object", "properties": {"a": {"anyOf": [{"type": "null"}, {"const": 1}]}},
                               "additionalProperties": false}},
            "additionalProperties": false})
        );
        assert_eq!(held_to(&held_to(&schema)), held_to(&schema), "it stays so");
    }

    #[test]
    fn what_cannot_be_brought_into_form_is_left_to_the_api() {
        let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
        assert_eq!(held_to(&map), map);
        assert_eq!(held_to(&json!(true)), json!(true));
        let named = json!({"type": "object", "properties": {"minimum": {"type": "string"}}, "additionalProperties": true});
        let closed = json!({"type": "object", "properties": {"minimum": {"type": "string"}}, "additionalProperties": false});
        assert_eq!(held_to(&named), closed, "a property may have a keyword's name");
    }
}
