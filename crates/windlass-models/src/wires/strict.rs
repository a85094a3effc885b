//! Owns schemas in the strict form of providers that hold models to them (OpenAI, "Structured outputs", "Supported schemas").
//!
//! The form demands that every object lists all of its properties as required and allows no others. A schema is rewritten only where
//! that takes nothing away that a tool needs; what the form cannot say is refused with its place.

use serde_json::{Map, Value};

/// Keywords that the strict form does not know.
const UNKNOWN: [&str; 12] = [
    "allOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "contains",
];

/// The deepest that objects may be nested (the same page: ten levels).
const MAX_DEPTH: usize = 10;

/// The schema in the strict form.
///
/// # Errors
/// The JSON pointer (RFC 6901) of the part that the form cannot say, and why.
pub(crate) fn strict(schema: &Value) -> Result<Value, String> {
    let mut schema = schema.clone();
    if schema.get("anyOf").is_some() {
        return Err("/anyOf: a strict schema is one object".to_owned());
    }
    rewrite(&mut schema, &mut String::new(), 0)?;
    Ok(schema)
}

fn rewrite(schema: &mut Value, path: &mut String, depth: usize) -> Result<(), String> {
    let at = |path: &str, key: &str, why: &str| Err(format!("{path}/{}: {why}", pointed(key)));
    let Value::Object(map) = schema else {
        return Err(format!(
            "{}: a strict schema says what a value is",
            if path.is_empty() { "/" } else { path }
        ));
    };
    if let Some(key) = UNKNOWN.iter().find(|key| map.contains_key(**key)) {
        return at(path, key, "strict schemas do not have this keyword");
    }
    if is_object(map) {
        if depth >= MAX_DEPTH {
            return Err(format!("{path}: strict schemas have at most {MAX_DEPTH} levels of objects"));
        }
        if map.get("additionalProperties").is_some_and(|more| *more != Value::Bool(false)) {
            return at(path, "additionalProperties", "strict schemas allow no other properties");
        }
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let properties = map.get("properties").and_then(Value::as_object);
        let optional =
            properties.into_iter().flat_map(Map::keys).find(|name| !required.contains(&name.as_str()));
        if let Some(name) = optional {
            let place = format!("{path}/properties");
            return at(
                &place,
                name,
                "strict schemas have no optional properties: require it, and let it be null",
            );
        }
        map.insert("additionalProperties".to_owned(), Value::Bool(false));
        if !map.contains_key("properties") {
            map.insert("properties".to_owned(), Value::Object(Map::new()));
        }
        if !map.contains_key("required") {
            map.insert("required".to_owned(), Value::Array(Vec::new()));
        }
    }
    let deeper = depth + usize::from(is_object(map));
    for key in ["properties", "$defs", "definitions"] {
        let Some(Value::Object(within)) = map.get_mut(key) else { continue };
        for (name, schema) in within {
            step(schema, path, &[key, name], deeper)?;
        }
    }
    if let Some(items) = map.get_mut("items") {
        step(items, path, &["items"], deeper)?;
    }
    if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
        for (place, choice) in choices.iter_mut().enumerate() {
            step(choice, path, &["anyOf", &place.to_string()], deeper)?;
        }
    }
    Ok(())
}

fn step(schema: &mut Value, path: &mut String, keys: &[&str], depth: usize) -> Result<(), String> {
    let before = path.len();
    for key in keys {
        path.push('/');
        path.push_str(&pointed(key));
    }
    rewrite(schema, path, depth)?;
    path.truncate(before);
    Ok(())
}

fn is_object(map: &Map<String, Value>) -> bool {
    let kind = map.get("type");
    let named = |kind: &Value| kind == "object";
    kind.is_some_and(|kind| named(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(named)))
        || map.contains_key("properties")
}

/// A key within a JSON pointer.
fn pointed(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::strict;

    fn refused(schema: &Value) -> String {
        strict(schema).expect_err("it is refused")
    }

    #[test]
    fn objects_are_closed_and_keep_their_meaning() {
        let schema = json!({ "type": "object", "required": ["a"], "properties": {
            "a": { "type": "array", "items": { "type": "object", "required": [], "properties": {} } } } });
        let expected = json!({ "type": "object", "required": ["a"], "properties": {
            "a": { "type": "array", "items": { "type": "object", "required": [], "properties": {}, "additionalProperties": false } } },
            "additionalProperties": false });
        assert_eq!(strict(&schema), Ok(expected.clone()));
        assert_eq!(strict(&expected), Ok(expected), "a strict schema stays as it is");
        let empty =
            json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
        assert_eq!(strict(&json!({ "type": "object" })).map(|schema| schema == empty), Ok(true));
    }

    #[test]
    fn what_the_form_cannot_say_is_refused_with_its_place() {
        let optional = json!({ "type": "object", "properties": { "a/b": { "type": "string" } } });
        assert!(refused(&optional).starts_with("/properties/a~1b: strict schemas have no optional"));
        let open = json!({ "type": "object", "required": ["m"], "properties": {
            "m": { "type": "object", "additionalProperties": { "type": "string" } } } });
        assert!(refused(&open).starts_with("/properties/m/additionalProperties: "));
        let not = json!({ "type": "object", "required": ["x"], "properties": { "x": { "anyOf": [{ "not": {} }] } } });
        assert!(refused(&not).starts_with("/properties/x/anyOf/0/not: "));
        assert!(refused(&json!({ "anyOf": [] })).starts_with("/anyOf: "));
        assert!(
            refused(&json!({ "type": "object", "required": ["x"], "properties": { "x": true } }))
                .starts_with("/properties/x: ")
        );
        let mut deep = json!({ "type": "string" });
        for _ in 0..11 {
            deep = json!({ "type": "object", "required": ["d"], "properties": { "d": deep } });
        }
        assert!(refused(&deep).contains("at most 10 levels"));
    }
}
