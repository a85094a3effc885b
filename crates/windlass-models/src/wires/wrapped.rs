//! Owns outputs under one property, for APIs that hold replies to objects alone.
//!
//! OpenAI and Anthropic refuse a schema of a reply whose root is a choice or no object (OpenAI, "Structured Outputs", "Root objects
//! must not be anyOf"). It goes out as the only property of an object, and the reply loses that object before anybody reads it.

use std::sync::{Arc, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::root::COMBINATORS;
use crate::ModelRequest;

/// The property.
const OUTPUT: &str = "output";

/// Where definitions stand, to which references lead.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// The schema of the request's output under a property; `None`: there is no output, or it is an object anyway. It stays in the run's
/// [`PrefixCell`](crate::PrefixCell), so that it is made once.
pub(crate) fn wrapped(request: &ModelRequest) -> Option<Arc<Value>> {
    let (_, schema) = request.response_schema.as_ref()?;
    if is_object(schema) {
        return None;
    }
    // A panic leaves a whole schema or none.
    let mut kept = request.prefix.schemas.forms.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, made)) = &kept.wrapped
        && Arc::ptr_eq(known, schema)
    {
        return Some(made.clone());
    }
    let made = Arc::new(under_property(schema));
    kept.wrapped = Some((schema.clone(), made.clone()));
    Some(made)
}

/// Whether the root is an object without choices.
fn is_object(schema: &Value) -> bool {
    let Some(fields) = schema.as_object() else { return false };
    let is_object = match fields.get("type") {
        Some(kind) => kind == "object",
        None => fields.contains_key("properties"),
    };
    is_object && !COMBINATORS.iter().any(|key| fields.contains_key(*key)) && !fields.contains_key("$ref")
}

fn under_property(schema: &Value) -> Value {
    let mut inner = schema.clone();
    rebase_references(&mut inner);
    let mut definitions = Map::new();
    if let Value::Object(fields) = &mut inner {
        for key in DEFINITIONS {
            definitions.extend(fields.shift_remove_entry(key));
        }
        fields.shift_remove("$schema");
    }
    let mut outer = json!({
        "type": "object", "properties": { OUTPUT: inner }, "required": [OUTPUT], "additionalProperties": false
    });
    if let Value::Object(fields) = &mut outer {
        fields.extend(definitions);
    }
    outer
}

/// Leads references to the root, and into it, to its new place. Definitions stay at the root.
fn rebase_references(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(place)) = fields.get_mut("$ref")
                && let Some(path) = place.strip_prefix('#')
                && (path.is_empty() || path.starts_with('/'))
                && !DEFINITIONS.iter().any(|key| path.split('/').nth(1) == Some(*key))
            {
                *place = format!("#/properties/{OUTPUT}{path}");
            }
            // A value that a schema lists is no schema.
            let parts = fields
                .iter_mut()
                .filter(|(key, _)| !matches!(key.as_str(), "const" | "enum" | "default" | "examples"));
            parts.for_each(|(_, part)| rebase_references(part));
        }
        Value::Array(all) => all.iter_mut().for_each(rebase_references),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The end of thoughts within a text.
const THOUGHT: &str = "</think>";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrapped<'t> {
    #[serde(borrow)]
    output: &'t RawValue,
}

/// A reply's text with the output in place of the object around it. Thoughts before it stay. `None`: there is no such object, because
/// the server holds no model to schemas.
pub(crate) fn unwrapped(text: &str) -> Option<String> {
    let from = text.rfind(THOUGHT).map_or(0, |at| at + THOUGHT.len());
    let (before, json) = text.split_at_checked(from)?;
    let json = json.trim();
    let fenced = json.strip_prefix("```json").or_else(|| json.strip_prefix("```"));
    let json = fenced.and_then(|json| json.strip_suffix("```")).unwrap_or(json);
    if !json.trim_start().starts_with('{') {
        return None;
    }
    serde_json::from_str::<Wrapped<'_>>(json).ok().map(|read| format!("{before}{}", read.output.get()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{is_object, under_property, unwrapped};

    #[test]
    fn choices_and_other_types_go_under_a_property() {
        for schema in [
            json!({"type": "object", "properties": {}}),
            json!({"properties": {}}),
            json!({"type": "object"}),
        ] {
            assert!(is_object(&schema), "{schema}");
        }
        let union = json!({"$schema": "x", "anyOf": [{"$ref": "#/$defs/a"}, {"type": "array", "items": {"$ref": "#"}}],
            "$defs": {"a": {"type": "object", "properties": {"up": {"$ref": "#/anyOf/1"}}}}, "title": "T"});
        for schema in [
            union.clone(),
            json!({"type": "object", "oneOf": []}),
            json!({"type": "array"}),
            json!({"enum": ["a"]}),
            json!({"$ref": "#/$defs/a"}),
            json!({"type": ["object", "null"], "properties": {}}),
            json!({}),
            json!(true),
        ] {
            assert!(!is_object(&schema), "{schema}");
        }
        assert_eq!(
            under_property(&union),
            json!({"type": "object", "properties": {"output": {
                "anyOf": [{"$ref": "#/$defs/a"}, {"type": "array", "items": {"$ref": "#/properties/output"}}], "title": "T"}},
                "required": ["output"], "additionalProperties": false,
                "$defs": {"a": {"type": "object", "properties": {"up": {"$ref": "#/properties/output/anyOf/1"}}}}})
        );
    }

    #[test]
    fn the_output_keeps_its_text() {
        for (text, within) in [
            ("{\"output\": [1, 2.50]}", Some("[1, 2.50]")),
            (" {\"output\":null}\n", Some("null")),
            ("{\"output\":1,\"more\":2}", None),
            ("{\"a\":1}", None),
            ("<think>{\"output\":1}</think>\n{\"output\":2}", Some("<think>{\"output\":1}</think>2")),
            ("```json\n{\"output\":[]}\n```", Some("[]")),
            ("[1]", None),
            ("no", None),
            ("{\"output\":", None),
        ] {
            assert_eq!(unwrapped(text).as_deref(), within, "{text}");
        }
    }
}
