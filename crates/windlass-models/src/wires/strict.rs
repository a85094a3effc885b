//! Owns the strict form of a schema: what the provider enforces, with the meaning of the schema as it was written.
//!
//! Source: OpenAI's guide "Structured Outputs", "Supported schemas": every object lists all of its properties as required and takes no
//! others, what may be left out is `null` instead, and only a part of JSON Schema is known.

use serde_json::{Map, Value, json};

pub(crate) use self::forms::{has_form, may_be_null, output_form, refusal, tool_forms};

pub(crate) mod forms;

/// Keywords that say nothing about which values fit, and that strict mode refuses.
const NOTES: [&str; 8] =
    ["$schema", "$id", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"];

/// Keywords of strict mode that need no rewriting.
const KNOWN: [&str; 16] = [
    "type",
    "title",
    "description",
    "enum",
    "const",
    "pattern",
    "format",
    "multipleOf",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
];

/// The most levels of a schema.
const MAX_DEPTH: usize = 64;

/// The strict form of a schema.
///
/// # Errors
/// The place in the schema that has none, with the reason.
fn rewrite(schema: &Value) -> Result<Value, String> {
    let root = schema.as_object().ok_or_else(|| fault("$", "it is no object schema"))?;
    if root.get("type").is_some_and(|kind| kind != "object") || root.contains_key("anyOf") {
        return Err(fault("$", "strict mode takes an object at the root"));
    }
    if !root.contains_key("type") && !root.contains_key("properties") && !root.contains_key("$ref") {
        return Err(fault("$", "strict mode takes an object at the root"));
    }
    any(schema, "$", 0)
}

/// Whether some object of a schema may lack a property: in the strict form that property is `null` instead.
fn may_lack(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let required = fields.get("required").and_then(Value::as_array);
            let lacks =
                |name: &String| required.is_none_or(|all| !all.iter().any(|one| one == name.as_str()));
            let properties = fields.get("properties").and_then(Value::as_object);
            properties.is_some_and(|all| all.keys().any(lacks)) || fields.values().any(may_lack)
        }
        Value::Array(items) => items.iter().any(may_lack),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn fault(path: &str, why: &str) -> String {
    format!("the schema has no strict form at {path}: {why}")
}

fn any(schema: &Value, path: &str, depth: usize) -> Result<Value, String> {
    if depth > MAX_DEPTH {
        return Err(fault(path, "it is nested too deeply"));
    }
    let Some(fields) = schema.as_object() else {
        return Err(fault(path, "a schema that takes or refuses everything is unknown there"));
    };
    if let Some(target) = fields.get("$ref") {
        return reference(fields, target, path, depth);
    }
    let mut out = Map::new();
    for (key, value) in fields {
        let at = format!("{path}.{key}");
        match key.as_str() {
            "properties" | "required" | "additionalProperties" => {}
            "items" => {
                out.insert(key.clone(), any(value, &at, depth + 1)?);
            }
            "anyOf" => {
                out.insert(key.clone(), choices(value, &at, depth)?);
            }
            "oneOf" => {
                if !are_apart(value) {
                    return Err(fault(&at, "strict mode knows `anyOf` only, and the choices overlap"));
                }
                out.insert("anyOf".into(), choices(value, &at, depth)?);
            }
            "$defs" | "definitions" => {
                let mut defs = Map::new();
                for (name, schema) in value.as_object().into_iter().flatten() {
                    defs.insert(name.clone(), any(schema, &format!("{at}.{name}"), depth + 1)?);
                }
                out.insert(key.clone(), Value::Object(defs));
            }
            note if NOTES.contains(&note) => {}
            known if KNOWN.contains(&known) => {
                out.insert(key.clone(), value.clone());
            }
            _ => return Err(fault(&at, "strict mode does not know the keyword")),
        }
    }
    if fields.get("type").is_some_and(|kind| has_type(kind, "object")) || fields.contains_key("properties") {
        object(fields, &mut out, path, depth)?;
    }
    let says_kind = ["type", "anyOf", "enum", "const"].iter().any(|key| out.contains_key(*key));
    if says_kind { Ok(Value::Object(out)) } else { Err(fault(path, "it takes values of every type")) }
}

/// An object: all properties are required, and one that may be left out may be null.
fn object(
    fields: &Map<String, Value>,
    out: &mut Map<String, Value>,
    path: &str,
    depth: usize,
) -> Result<(), String> {
    match fields.get("additionalProperties") {
        None | Some(Value::Bool(false)) => {}
        Some(_) => {
            let at = format!("{path}.additionalProperties");
            return Err(fault(&at, "strict mode takes no properties without a name"));
        }
    }
    let properties = fields.get("properties").and_then(Value::as_object);
    if properties.is_none() && depth > 0 && !fields.contains_key("additionalProperties") {
        return Err(fault(path, "it is an object of any properties"));
    }
    let required = fields.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let mut strict = Map::new();
    for (name, schema) in properties.into_iter().flatten() {
        let property = any(schema, &format!("{path}.properties.{name}"), depth + 1)?;
        strict.insert(name.clone(), if is_required(name) { property } else { or_null(property) });
    }
    out.entry("type").or_insert_with(|| "object".into());
    out.insert("required".into(), strict.keys().cloned().collect());
    out.insert("properties".into(), Value::Object(strict));
    out.insert("additionalProperties".into(), false.into());
    Ok(())
}

/// A reference stands alone in strict mode: what only describes it is left out.
fn reference(fields: &Map<String, Value>, target: &Value, path: &str, depth: usize) -> Result<Value, String> {
    if !target.as_str().is_some_and(|target| target.starts_with('#')) {
        return Err(fault(&format!("{path}.$ref"), "it leads out of the schema"));
    }
    let mut out = Map::new();
    out.insert("$ref".into(), target.clone());
    for (key, value) in fields {
        let at = format!("{path}.{key}");
        match key.as_str() {
            "$ref" | "title" | "description" => {}
            "$defs" | "definitions" if depth == 0 => {
                let mut defs = Map::new();
                for (name, schema) in value.as_object().into_iter().flatten() {
                    defs.insert(name.clone(), any(schema, &format!("{at}.{name}"), 1)?);
                }
                out.insert(key.clone(), Value::Object(defs));
            }
            note if NOTES.contains(&note) => {}
            _ => return Err(fault(&at, "strict mode knows no keyword beside `$ref`")),
        }
    }
    Ok(Value::Object(out))
}

fn choices(value: &Value, path: &str, depth: usize) -> Result<Value, String> {
    let list = value.as_array().ok_or_else(|| fault(path, "it is no list"))?;
    let each = list.iter().enumerate();
    let all: Result<Vec<_>, _> =
        each.map(|(at, choice)| any(choice, &format!("{path}[{at}]"), depth + 1)).collect();
    Ok(Value::Array(all?))
}

/// Whether no value fits two of the choices: then one of them and any of them are the same.
fn are_apart(choices: &Value) -> bool {
    let list = choices.as_array().map(Vec::as_slice).unwrap_or_default();
    let pairs =
        list.iter().enumerate().flat_map(|(at, one)| list.iter().skip(at + 1).map(move |other| (one, other)));
    pairs.into_iter().all(|(one, other)| {
        let kinds = (one.get("type").and_then(Value::as_str), other.get("type").and_then(Value::as_str));
        let by_type = match kinds {
            (Some(one), Some(other)) => {
                one != other && !matches!((one, other), ("number", "integer") | ("integer", "number"))
            }
            _ => false,
        };
        by_type || have_a_tag(one, other)
    })
}

/// Whether both are objects with a required property of one fixed value, and the values differ.
fn have_a_tag(one: &Value, other: &Value) -> bool {
    let fixed = |schema: &Value, name: &str| -> Option<Value> {
        let required = schema.get("required")?.as_array()?;
        let property =
            schema.get("properties")?.get(name).filter(|_| required.iter().any(|one| one == name))?;
        let only = property.get("enum").and_then(Value::as_array).filter(|all| all.len() == 1);
        property.get("const").or_else(|| only?.first()).cloned()
    };
    let names = one.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    names.into_iter().any(|name| match (fixed(one, name), fixed(other, name)) {
        (Some(one), Some(other)) => one != other,
        _ => false,
    })
}

fn has_type(kind: &Value, name: &str) -> bool {
    kind == name || kind.as_array().is_some_and(|all| all.iter().any(|one| one == name))
}

/// The schema with null as one more value.
fn or_null(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else { return schema };
    let absent = json!({ "type": "null" });
    if let Some(Value::Array(all)) = fields.get_mut("anyOf") {
        if !all.iter().any(|choice| choice.get("type").is_some_and(|kind| has_type(kind, "null"))) {
            all.push(absent);
        }
        return Value::Object(fields);
    }
    let fixed = fields.contains_key("enum") || fields.contains_key("const");
    match fields.get_mut("type") {
        Some(kind) if has_type(kind, "null") => return Value::Object(fields),
        Some(Value::Array(all)) if !fixed => all.push("null".into()),
        Some(kind) if !fixed => *kind = json!([kind.clone(), "null"]),
        _ => return json!({ "anyOf": [Value::Object(fields), absent] }),
    }
    Value::Object(fields)
}

/// JSON of the strict form of a schema as JSON of the schema itself: what may be left out and is `null` is left out, unless
/// the schema takes `null` there. `None`: there is no such thing, or the text is no JSON.
pub(crate) fn restored(schema: &Value, text: &str) -> Option<String> {
    if !text.contains("null") {
        return None;
    }
    let mut value = serde_json::from_str(text).ok()?;
    drop_nulls(schema, schema, &mut value, 0).then(|| value.to_string())
}

/// Whether something was dropped.
fn drop_nulls(root: &Value, schema: &Value, value: &mut Value, depth: usize) -> bool {
    let Some(schema) = target(root, schema).filter(|_| depth <= MAX_DEPTH) else { return false };
    let mut dropped = false;
    if let Value::Object(fields) = value {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            match fields.get_mut(name) {
                Some(Value::Null) if !is_required(name) && !takes_null(root, property, depth) => {
                    fields.shift_remove(name);
                    dropped = true;
                }
                Some(inner) => dropped |= drop_nulls(root, property, inner, depth + 1),
                None => {}
            }
        }
    }
    if let (Value::Array(list), Some(items)) = (&mut *value, schema.get("items")) {
        for item in list {
            dropped |= drop_nulls(root, items, item, depth + 1);
        }
    }
    // Of several choices, each drops what it would have left out.
    for choice in ["anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array()).flatten() {
        if may_be(root, choice, value) {
            dropped |= drop_nulls(root, choice, value, depth + 1);
        }
    }
    dropped
}

/// Whether a value may be of a choice: its fields are known there, and those that the choice fixes are so.
fn may_be(root: &Value, choice: &Value, value: &Value) -> bool {
    let Some(choice) = target(root, choice) else { return false };
    let Value::Object(fields) = value else { return true };
    let known = choice.get("properties").and_then(Value::as_object);
    fields.iter().all(|(name, value)| {
        let property = known.and_then(|known| known.get(name));
        property.is_some_and(|property| property.get("const").is_none_or(|fixed| fixed == value))
    })
}

/// The schema behind local references.
fn target<'s>(root: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    let mut schema = schema;
    for _ in 0..MAX_DEPTH {
        let Some(place) = schema.get("$ref").and_then(Value::as_str) else { return Some(schema) };
        schema = root.pointer(place.strip_prefix('#')?)?;
    }
    None
}

fn takes_null(root: &Value, schema: &Value, depth: usize) -> bool {
    let Some(schema) = target(root, schema).filter(|_| depth <= MAX_DEPTH) else { return false };
    if schema.get("type").is_some_and(|kind| has_type(kind, "null")) {
        return true;
    }
    let lists = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    lists("enum").any(Value::is_null)
        || schema.get("const").is_some_and(Value::is_null)
        || lists("anyOf").chain(lists("oneOf")).any(|choice| takes_null(root, choice, depth + 1))
}

#[cfg(test)]
mod tests;
