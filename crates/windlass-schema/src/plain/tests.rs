use serde_json::json;

use super::plain_schema;

#[test]
fn a2_references_are_inlined_and_titles_are_out() {
    let schema = json!({
        "title": "Answer", "type": "object", "required": ["who"],
        "properties": {
            "who": { "$ref": "#/$defs/Person", "description": "the person" },
            "title": { "type": "string", "title": "Title" }
        },
        "$defs": { "Person": { "title": "Person", "type": "object", "properties": { "name": { "type": "string" } } } }
    });
    assert_eq!(
        plain_schema(&schema),
        json!({
            "type": "object", "required": ["who"],
            "properties": {
                "who": { "type": "object", "properties": { "name": { "type": "string" } }, "description": "the person" },
                "title": { "type": "string" }
            }
        })
    );
}

#[test]
fn a_type_that_contains_itself_keeps_its_definition() {
    let schema = json!({
        "type": "object", "properties": { "tree": { "$ref": "#/$defs/Node" } },
        "$defs": { "Node": { "title": "Node", "type": "object", "properties": {
            "children": { "type": "array", "items": { "$ref": "#/$defs/Node" } } } } }
    });
    let plain = plain_schema(&schema);
    assert!(plain["$defs"]["Node"].is_object());
    assert_eq!(plain["properties"]["tree"]["properties"]["children"]["items"]["$ref"], "#/$defs/Node");
    assert!(!plain.to_string().contains("title"));
    let validator = jsonschema::draft202012::new(&plain).unwrap();
    assert!(validator.is_valid(&json!({ "tree": { "children": [ { "children": [] } ] } })));
    assert!(!validator.is_valid(&json!({ "tree": { "children": [ 7 ] } })));
}

#[test]
fn defaults_and_constants_are_data() {
    let schema =
        json!({ "properties": { "a": { "default": { "title": "x" }, "enum": [{ "title": "y" }] } } });
    assert_eq!(plain_schema(&schema), schema);
}
