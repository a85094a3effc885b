use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::is_common;
use crate::Checker;

type Any = BoxedStrategy<Value>;

/// A word that keywords know, or another.
fn word() -> Any {
    prop::sample::select(vec!["string", "integer", "object", "null", "text", "#/$defs/a", "#/$defs/zz"])
        .prop_map(Value::from)
        .boxed()
}

fn scalar() -> Any {
    prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-2_i64..9).prop_map(Value::from),
        Just(json!(1.5)),
        word()
    ]
    .boxed()
}

/// A keyword with a value that mostly is of its form.
fn keyword(schema: Any) -> BoxedStrategy<(&'static str, Value)> {
    let words = prop::collection::vec(word(), 0..3).prop_map(Value::from).boxed();
    let schemas = prop::collection::vec(schema.clone(), 0..3).prop_map(Value::from).boxed();
    let map = prop::collection::btree_map("[ab]", schema.clone(), 0..3)
        .prop_map(|map: BTreeMap<String, Value>| map.into_iter().collect::<Value>())
        .boxed();
    let with = |keys: &[&'static str], value: Any| {
        (prop::sample::select(keys.to_vec()), prop_oneof![9 => value, 1 => scalar()]).boxed()
    };
    prop_oneof![
        with(&["type", "title", "description", "format", "$ref"], word()),
        with(&["type", "required", "enum", "examples"], words),
        with(&["items", "additionalProperties", "contains", "not", "if", "const", "default"], schema),
        with(&["anyOf", "allOf", "prefixItems"], schemas),
        with(&["properties", "dependentSchemas"], map),
        with(
            &["minimum", "minLength", "maxItems", "maxProperties"],
            (-2_i64..9).prop_map(Value::from).boxed()
        ),
        with(&["uniqueItems", "deprecated"], any::<bool>().prop_map(Value::from).boxed()),
    ]
    .boxed()
}

fn schema() -> Any {
    any::<bool>()
        .prop_map(Value::from)
        .prop_recursive(3, 24, 4, |inner| {
            prop::collection::vec(keyword(inner.boxed()), 0..4)
                .prop_map(|keywords| keywords.into_iter().collect())
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Schemas accepted without the meta-schema match it.
    #[test]
    fn a_common_schema_fits_the_meta_schema(mut schema in schema()) {
        if let Value::Object(map) = &mut schema {
            map.insert("$defs".into(), json!({ "a": { "type": "string" } }));
        }
        if is_common(&schema) {
            prop_assert!(jsonschema::draft202012::meta::is_valid(&schema), "{schema}");
            if let Ok(checker) = Checker::new(&schema) {
                prop_assert!(checker.is_compiled(), "{schema}");
            }
        }
    }
}

#[test]
fn tools_that_people_write_are_common() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Search", "type": "object",
        "properties": {
            "query": { "type": "string", "description": "what to look for", "minLength": 1 },
            "limit": { "type": ["integer", "null"], "format": "uint32", "minimum": 0, "default": 10 },
            "in": { "anyOf": [{ "$ref": "#/$defs/Place" }, { "type": "null" }] },
        },
        "required": ["query"], "additionalProperties": false,
        "$defs": { "Place": { "type": "string", "enum": ["here", "there"] } },
    });
    assert!(is_common(&schema));
    let checker = Checker::new(&schema).unwrap();
    assert!(checker.check(&json!({ "query": "rope", "in": "here" })).is_ok());
    assert!(checker.check(&json!({ "query": "", "in": "nowhere" })).is_err());
}

#[test]
fn faults_of_a_schema_are_found_when_it_is_taken_in() {
    for schema in [
        json!({ "type": "text" }),
        json!({ "type": [] }),
        json!({ "required": ["a", "a"] }),
        json!({ "properties": { "a": { "minLength": -1 } } }),
        json!({ "anyOf": [] }),
        json!({ "items": 7 }),
        json!({ "uniqueItems": "yes" }),
    ] {
        assert!(!is_common(&schema), "{schema}");
        assert!(Checker::new(&schema).is_err(), "{schema}");
    }
}
