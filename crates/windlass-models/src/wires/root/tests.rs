use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::{Message, ToolSpec};

use super::{COMBINATORS, MAX_RULE_BYTES, sent};
use crate::wires::{Dialect, WIRES, testing};

fn schema_of(schema: &Value) -> Value {
    sent(schema, true).schema.into_owned()
}

#[test]
fn a_plain_schema_goes_out_as_it_is() {
    for schema in [
        json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}),
        json!({"type": "object", "properties": {}, "if": {}, "then": {}}),
        json!({"type": "string", "enum": ["a"]}),
    ] {
        let sent = sent(&schema, true);
        assert!(matches!(sent.schema, std::borrow::Cow::Borrowed(_)) && sent.rule.is_none(), "{schema}");
    }
}

#[test]
fn arguments_keep_their_shape_and_the_rule_is_told() {
    let apart = json!({"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}},
        "oneOf": [{"required": ["id"]}, {"required": ["name"]}]});
    let out = sent(&apart, true);
    assert_eq!(
        *out.schema,
        json!({"type": "object", "properties": {"id": {"type": "integer"}, "name": {"type": "string"}}})
    );
    let rule = out.rule.expect("a rule");
    assert!(rule.ends_with(r#"{"oneOf":[{"required":["id"]},{"required":["name"]}]}"#), "{rule}");

    let union = json!({"anyOf": [
        {"type": "object", "properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["kind", "path"]},
        {"$ref": "#/$defs/web"},
    ], "$defs": {"web": {"type": "object", "properties": {"kind": {"const": "web"}, "url": {"type": "string"}},
                         "required": ["kind", "url"]}}});
    let flat = schema_of(&union);
    assert_eq!(flat["type"], "object");
    assert_eq!(flat["required"], json!(["kind"]));
    assert_eq!(
        flat["properties"],
        json!({"kind": {"enum": ["file", "web"]}, "path": {"type": "string"}, "url": {"type": "string"}})
    );
    assert!(flat.get("$defs").is_some(), "references below the root stay whole");

    let both = json!({"type": ["object", "null"], "allOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"a": {"minLength": 1}, "b": {}}, "required": ["b"]}]});
    let flat = schema_of(&both);
    assert_eq!((&flat["type"], &flat["required"]), (&json!("object"), &json!(["a", "b"])));
    assert_eq!(flat["properties"]["a"], json!({"anyOf": [{"type": "string"}, {"minLength": 1}]}));
}

#[test]
fn a_closed_object_takes_no_properties_of_its_choices() {
    let closed = json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false,
        "anyOf": [{"properties": {"b": {}}}, {"required": ["a"]}]});
    assert_eq!(schema_of(&closed)["properties"], json!({"a": {}}));
}

#[test]
fn a_root_that_is_a_reference_is_what_it_refers_to() {
    let schema = json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"},
        "B": {"type": "object", "properties": {"x": {"$ref": "#/$defs/B"}}, "required": ["x"]}}});
    let out = sent(&schema, true);
    assert_eq!(out.schema["properties"], json!({"x": {"$ref": "#/$defs/B"}}));
    assert_eq!((&out.schema["type"], &out.schema["required"]), (&json!("object"), &json!(["x"])));
    assert!(out.schema.get("$ref").is_none() && out.rule.is_none());
}

#[test]
fn strange_schemas_are_bounded() {
    let endless = json!({"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/A"}]}}});
    assert_eq!(schema_of(&endless)["type"], "object");
    let around = json!({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}});
    assert_eq!(schema_of(&around)["type"], "object");
    let wide: Vec<Value> = (0..2_000).map(|at| json!({"required": [format!("property_{at}")]})).collect();
    let wide = json!({"type": "object", "properties": {}, "anyOf": wide});
    assert!(sent(&wide, true).rule.expect("a rule").len() < MAX_RULE_BYTES);
    for schema in [json!(true), json!(null), json!({})] {
        assert_eq!(schema_of(&schema), json!({"type": "object", "properties": {}}));
    }
}

#[test]
fn k47_no_wire_sends_choices_at_the_root_of_a_tool() {
    for wire in WIRES {
        for strict in [false, true] {
            for key in COMBINATORS {
                let part =
                    json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
                let value = match key {
                    "not" => part,
                    "const" => json!({"a": "b"}),
                    "enum" => json!([{"a": "b"}]),
                    _ => json!([part]),
                };
                let mut asked = testing::request("test/m", vec![Message::user("Hi")]);
                asked.model.strict = strict;
                let schema = json!({ key: value, "properties": {"c": {"type": "string"}} });
                asked.tools = Arc::new(vec![ToolSpec::new("f", "Does it.", schema)]);
                let name = wire.facts().name;
                let dialect = Dialect::default();
                assert_eq!(wire.refuses(&dialect, &asked), None, "{name} {key}");
                let body: Value = serde_json::from_slice(&wire.encode(&dialect, &asked).body).expect("JSON");
                let tool = &body["tools"][0];
                let places = [
                    "/function/parameters",
                    "/parameters",
                    "/input_schema",
                    "/functionDeclarations/0/parametersJsonSchema",
                ];
                let schema = places.iter().find_map(|place| tool.pointer(place)).expect("a schema");
                assert_eq!(schema["type"], "object", "{name} {key}");
                assert!(COMBINATORS.iter().all(|key| schema.get(*key).is_none()), "{name} {schema}");
                let described =
                    ["/function/description", "/description", "/functionDeclarations/0/description"];
                let words = described.iter().find_map(|place| tool.pointer(place)).and_then(Value::as_str);
                assert!(
                    words.is_some_and(|words| words.starts_with("Does it.\n\n") && words.contains(key)),
                    "{name}"
                );
            }
        }
    }
}
