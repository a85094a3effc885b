//! Schemas of earlier versions of JSON Schema, which say so in `$schema`, as schemas of 2020-12 with the same meaning.
//!
//! Source: the release notes of JSON Schema for drafts 6, 7, 2019-09 and 2020-12 ("Migrating from older drafts").

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::keywords::{DATA, NAMED};

/// The address of the version that is checked.
const NEWEST: &str = "https://json-schema.org/draft/2020-12/schema";

/// Keywords that stay beside a reference, where the draft passes over all others: they check nothing.
const BESIDE_REFERENCES: [&str; 12] = [
    "$ref",
    "$schema",
    "$id",
    "$comment",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "$defs",
    "definitions",
];

/// A version of JSON Schema, the oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Draft {
    /// Draft 4 and before: bounds are exclusive by a flag, and addresses are named `id`.
    Four,
    /// Drafts 6 and 7: nothing counts beside a reference, and `dependencies` are of two kinds.
    Seven,
    /// 2019-09: the items of a tuple are a list under `items`.
    Nineteen,
    Newest,
}

impl Draft {
    /// The version that an address names; `None`: none that is known.
    fn of(address: &str) -> Option<Self> {
        let address = address.trim_end_matches('#');
        let named = |part: &str| address.contains("json-schema.org/") && address.contains(part);
        if named("draft-03") || named("draft-04") {
            Some(Self::Four)
        } else if named("draft-06") || named("draft-07") {
            Some(Self::Seven)
        } else if named("2019-09") {
            Some(Self::Nineteen)
        } else if named("2020-12") {
            Some(Self::Newest)
        } else {
            None
        }
    }
}

/// A schema as one of 2020-12: by the version that it declares, at its root or within. Without one it is of 2020-12 already, and so
/// is what 2020-12 reads the same way.
pub fn modern(schema: &Value) -> Cow<'_, Value> {
    let is_older = any(schema, &|fields| declared(fields).is_some_and(|draft| draft != Draft::Newest))
        && any(schema, &reads_otherwise);
    if is_older { Cow::Owned(rewritten(schema, Draft::Newest)) } else { Cow::Borrowed(schema) }
}

/// Whether an object of the schema is like that.
fn any(schema: &Value, is_like_that: &impl Fn(&Map<String, Value>) -> bool) -> bool {
    match schema {
        Value::Object(fields) => {
            is_like_that(fields) || fields.values().any(|value| any(value, is_like_that))
        }
        Value::Array(items) => items.iter().any(|item| any(item, is_like_that)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether an object may mean something else in an earlier version than in 2020-12.
fn reads_otherwise(fields: &Map<String, Value>) -> bool {
    fields.iter().any(|(key, value)| match key.as_str() {
        "exclusiveMinimum" | "exclusiveMaximum" => value.is_boolean(),
        "items" => value.is_array(),
        "$ref" => fields.len() > 1,
        "$id" => value.as_str().is_some_and(|address| address.starts_with('#')),
        "id" | "additionalItems" | "dependencies" => true,
        _ => false,
    })
}

fn declared(fields: &Map<String, Value>) -> Option<Draft> {
    fields.get("$schema").and_then(Value::as_str).and_then(Draft::of)
}

/// A schema, or a list of them, in a part of the given version.
fn rewritten(schema: &Value, draft: Draft) -> Value {
    let fields = match schema {
        Value::Object(fields) => fields,
        Value::Array(items) => return items.iter().map(|item| rewritten(item, draft)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return schema.clone(),
    };
    let draft = declared(fields).unwrap_or(draft);
    let mut out = Map::new();
    let alone = draft <= Draft::Seven && fields.get("$ref").is_some_and(Value::is_string);
    for (key, value) in fields {
        let key = key.as_str();
        if alone && !BESIDE_REFERENCES.contains(&key) {
            continue;
        }
        match key {
            "$schema" => drop(out.insert(key.to_owned(), NEWEST.into())),
            "$ref" if draft < Draft::Newest => drop(out.insert(key.to_owned(), reference(value))),
            "id" if draft == Draft::Four && value.is_string() => named_place(value, &mut out),
            "$id" if draft <= Draft::Seven && value.is_string() => named_place(value, &mut out),
            "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() && draft == Draft::Four => {}
            "minimum" | "maximum" if draft == Draft::Four => {
                let exclusive = if key == "minimum" { "exclusiveMinimum" } else { "exclusiveMaximum" };
                let is_exclusive = fields.get(exclusive) == Some(&Value::Bool(true));
                out.insert(if is_exclusive { exclusive } else { key }.to_owned(), value.clone());
            }
            "items" if draft < Draft::Newest && value.is_array() => {
                // 2020-12 refuses an empty tuple, which says nothing.
                if value != &Value::Array(Vec::new()) {
                    out.insert("prefixItems".to_owned(), rewritten(value, draft));
                }
            }
            "additionalItems" if draft < Draft::Newest => {
                // Beside one schema for all items it says nothing.
                if fields.get("items").is_some_and(Value::is_array) {
                    out.insert("items".to_owned(), rewritten(value, draft));
                }
            }
            "dependencies" if draft < Draft::Newest => dependencies(value, draft, &mut out),
            _ if DATA.contains(&key) => drop(out.insert(key.to_owned(), value.clone())),
            _ if NAMED.contains(&key) => {
                let named = value.as_object().map(|named| {
                    named.iter().map(|(name, schema)| (name.clone(), rewritten(schema, draft))).collect()
                });
                out.insert(key.to_owned(), named.map_or_else(|| value.clone(), Value::Object));
            }
            _ => drop(out.insert(key.to_owned(), rewritten(value, draft))),
        }
    }
    Value::Object(out)
}

/// The address of a schema. One that is only a fragment is the name of a place.
fn named_place(address: &Value, out: &mut Map<String, Value>) {
    let fragment = address.as_str().and_then(|text| text.strip_prefix('#'));
    match fragment {
        Some("") => {}
        Some(name) => drop(out.insert("$anchor".to_owned(), name.into())),
        None => drop(out.insert("$id".to_owned(), address.clone())),
    }
}

/// `dependencies`: lists of names, and schemas.
fn dependencies(value: &Value, draft: Draft, out: &mut Map<String, Value>) {
    let (mut required, mut schemas) = (Map::new(), Map::new());
    for (name, dependency) in value.as_object().into_iter().flatten() {
        match dependency {
            Value::Array(_) => drop(required.insert(name.clone(), dependency.clone())),
            // Draft 3 names one property without a list.
            Value::String(_) => drop(required.insert(name.clone(), vec![dependency.clone()].into())),
            Value::Object(_) | Value::Bool(_) | Value::Null | Value::Number(_) => {
                schemas.insert(name.clone(), rewritten(dependency, draft));
            }
        }
    }
    for (key, all) in [("dependentRequired", required), ("dependentSchemas", schemas)] {
        if !all.is_empty() {
            out.insert(key.to_owned(), all.into());
        }
    }
}

/// A reference into a part that has another name now.
fn reference(value: &Value) -> Value {
    let Some((before, pointer)) = value.as_str().and_then(|text| text.split_once("#/")) else {
        return value.clone();
    };
    let tokens: Vec<&str> = pointer.split('/').collect();
    let (mut renamed, mut is_name) = (Vec::with_capacity(tokens.len()), false);
    for (at, token) in tokens.iter().copied().enumerate() {
        let next = tokens.get(at + 1).copied().unwrap_or_default();
        let is_place = !next.is_empty() && next.bytes().all(|byte| byte.is_ascii_digit());
        renamed.push(match token {
            _ if is_name => token,
            "items" if is_place => "prefixItems",
            "additionalItems" => "items",
            "dependencies" => "dependentSchemas",
            _ => token,
        });
        // What follows such a keyword is a name, whatever it looks like.
        is_name = !is_name && (NAMED.contains(&token) || token == "dependencies");
    }
    format!("{before}#/{}", renamed.join("/")).into()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::{Value, json};

    use super::modern;
    use crate::Checker;

    fn fits(schema: &Value, value: &Value) -> bool {
        Checker::new(schema).unwrap().check(value).is_ok()
    }

    #[test]
    fn a_schema_without_a_version_or_of_the_newest_stays_as_it_is() {
        for schema in [
            json!({ "items": [{ "type": "string" }], "exclusiveMinimum": true }),
            json!({ "$schema": super::NEWEST, "dependencies": {} }),
            json!({ "$schema": "https://example.com/mine", "items": [] }),
            json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "exclusiveMinimum": 1,
                "properties": { "a": { "$ref": "#/definitions/b" } }, "definitions": { "b": { "items": {} } } }),
            json!(true),
        ] {
            assert!(matches!(modern(&schema), Cow::Borrowed(_)), "{schema}");
        }
    }

    #[test]
    fn draft_4_has_exclusive_bounds_by_a_flag() {
        let schema = json!({ "$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "properties": {
            "n": { "type": "number", "minimum": 0, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false },
            "minimum": { "type": "string" } } });
        for (n, good) in [(0.0, false), (0.5, true), (9.0, true), (9.5, false)] {
            assert_eq!(fits(&schema, &json!({ "n": n })), good, "{n}");
        }
        assert!(!fits(&schema, &json!({ "minimum": 1 })), "a property may have a keyword's name");
    }

    #[test]
    fn draft_7_has_tuples_and_dependencies_and_nothing_beside_a_reference() {
        let schema = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {
            "pair": { "type": "array", "items": [{ "type": "string" }, { "type": "integer" }], "additionalItems": false },
            "same": { "$ref": "#/properties/pair/items/1" }, "items": { "type": "object", "properties": { "0": { "type": "null" } } },
            "none": { "$ref": "#/properties/items/properties/0" }, "empty": { "type": "array", "items": [], "additionalItems": false },
            "rest": { "type": "array", "items": { "type": "array", "items": [true], "additionalItems": { "type": "integer" } } },
            "loose": { "$ref": "#/definitions/text", "maxLength": 1, "description": "Any." } },
            "dependencies": { "a": ["b"], "c": { "required": ["d"] } },
            "definitions": { "text": { "type": "string" } } });
        for (value, good) in [
            (json!({ "pair": ["x", 1] }), true),
            (json!({ "pair": ["x", "y"] }), false),
            (json!({ "pair": ["x", 1, 2] }), false),
            (json!({ "same": 4 }), true),
            (json!({ "same": "4" }), false),
            (json!({ "loose": "long" }), true),
            (json!({ "none": null }), true),
            (json!({ "none": 1 }), false),
            (json!({ "empty": [] }), true),
            (json!({ "empty": [1] }), false),
            (json!({ "rest": [["x", 1, 2]] }), true),
            (json!({ "rest": [["x", 1, "2"]] }), false),
            (json!({ "a": 1 }), false),
            (json!({ "a": 1, "b": 1 }), true),
            (json!({ "c": 1 }), false),
            (json!({ "c": 1, "d": 1 }), true),
        ] {
            assert_eq!(fits(&schema, &value), good, "{value}");
        }
    }

    #[test]
    fn draft_4_names_schemas_by_id_and_has_flags_at_any_depth() {
        let schema = json!({ "$schema": "http://json-schema.org/draft-04/schema", "id": "http://example.com/root#", "type": "object",
            "properties": {
                "list": { "type": "array", "items": { "type": "number", "maximum": 9, "exclusiveMaximum": true } },
                "id": { "type": "string" },
                "named": { "$ref": "#little" }, "far": { "$ref": "http://example.com/root#/definitions/little" } },
            "dependencies": { "list": ["id"] },
            "definitions": { "little": { "id": "#little", "type": "integer", "minimum": 1, "exclusiveMinimum": false } } });
        for (value, good) in [
            (json!({ "list": [1, 8.9], "id": "a" }), true),
            (json!({ "list": [9], "id": "a" }), false),
            (json!({ "list": [1] }), false),
            (json!({ "id": 1 }), false),
            (json!({ "named": 1, "far": 1 }), true),
            (json!({ "named": 0 }), false),
            (json!({ "far": 0.5 }), false),
        ] {
            assert_eq!(fits(&schema, &value), good, "{value}");
        }
    }

    #[test]
    fn a_part_with_a_version_of_its_own_is_read_by_it() {
        let schema = json!({ "type": "object", "properties": { "old": {
            "$schema": "http://json-schema.org/draft-04/schema#", "id": "https://example.com/old",
            "minimum": 1, "exclusiveMinimum": true }, "new": { "exclusiveMinimum": 1 } } });
        assert!(!fits(&schema, &json!({ "old": 1 })) && fits(&schema, &json!({ "old": 2 })));
        assert!(!fits(&schema, &json!({ "new": 1 })));
    }
}
