//! JSON Schemas as models are shown them: references inlined, titles out.

use serde_json::{Map, Value};

/// How many references stand within one another before the rest is left as it is: recursive types end there.
const MOST_NESTED: usize = 16;
/// Where schemas keep their definitions (`definitions` before draft 2019-09).
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// The schema with its local references inlined and its titles taken out, as acorn shows output types to models.
///
/// A type that contains itself cannot be inlined: its reference stays, and with it the definitions.
pub fn plain_schema(schema: &Value) -> Value {
    let mut plain = clean(schema, schema, &mut Vec::new(), false);
    if let Value::Object(map) = &mut plain {
        let recursive = refers(&Value::Object(map.clone()));
        for key in DEFINITIONS {
            match map.get_mut(key) {
                Some(Value::Object(definitions)) if recursive => {
                    let mut reached = Vec::new();
                    let cleaned: Map<String, Value> = definitions
                        .iter()
                        .map(|(name, value)| (name.clone(), clean(value, schema, &mut reached, false)))
                        .collect();
                    *definitions = cleaned;
                }
                Some(_) => {
                    map.shift_remove(key);
                }
                None => {}
            }
        }
    }
    plain
}

/// `names`: whether the keys of this object are names that people chose (properties), not keywords.
fn clean(value: &Value, root: &Value, within: &mut Vec<String>, names: bool) -> Value {
    match value {
        Value::Object(map) if !names => {
            if let Some(Value::String(reference)) = map.get("$ref")
                && let Some(inlined) = inline(reference, map, root, within)
            {
                return inlined;
            }
            let entries = map.iter().filter(|(key, value)| !(key.as_str() == "title" && value.is_string()));
            entries
                .map(|(key, value)| {
                    let data = matches!(key.as_str(), "const" | "enum" | "default" | "examples");
                    let kept = data || DEFINITIONS.contains(&key.as_str());
                    let named =
                        matches!(key.as_str(), "properties" | "patternProperties" | "dependentSchemas");
                    let cleaned = if kept { value.clone() } else { clean(value, root, within, named) };
                    (key.clone(), cleaned)
                })
                .collect::<Map<_, _>>()
                .into()
        }
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), clean(value, root, within, false)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(items) => items.iter().map(|item| clean(item, root, within, false)).collect(),
        other => other.clone(),
    }
}

/// What a reference stands for, with the keywords beside it on top (JSON Schema 2020-12, 8.2.3.1).
fn inline(
    reference: &str,
    map: &Map<String, Value>,
    root: &Value,
    within: &mut Vec<String>,
) -> Option<Value> {
    if within.len() >= MOST_NESTED || within.iter().any(|outer| outer == reference) {
        return None;
    }
    let target = root.pointer(reference.strip_prefix('#')?)?;
    within.push(reference.to_owned());
    let mut inlined = clean(target, root, within, false);
    within.pop();
    if let Value::Object(inlined) = &mut inlined {
        for (key, value) in map.iter().filter(|(key, _)| *key != "$ref" && *key != "title") {
            inlined.insert(key.clone(), clean(value, root, within, false));
        }
    }
    Some(inlined)
}

fn refers(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| {
            (key == "$ref" && value.is_string()) || (!DEFINITIONS.contains(&key.as_str()) && refers(value))
        }),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

/// The schema behind a local reference, and behind an `anyOf` or `oneOf` whose other choice is null.
pub(crate) fn resolved<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let mut schema = schema;
    for _ in 0..MOST_NESTED {
        if let Some(target) = schema
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| root.pointer(reference.strip_prefix('#')?))
        {
            schema = target;
            continue;
        }
        let choices = ["anyOf", "oneOf", "allOf"].iter().find_map(|key| schema.get(*key)?.as_array());
        let real: Vec<_> = choices
            .into_iter()
            .flatten()
            .filter(|choice| choice.get("type") != Some(&"null".into()))
            .collect();
        match real.as_slice() {
            [only] => schema = only,
            _ => break,
        }
    }
    schema
}

#[cfg(test)]
mod tests;
