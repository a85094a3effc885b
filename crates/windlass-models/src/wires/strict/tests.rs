use std::sync::Arc;

use serde_json::json;
use windlass_core::{Message, ToolSpec};

use super::*;
use crate::PrefixCell;
use crate::wires::{Dialect, WIRES, testing, wire};

#[test]
fn all_properties_are_required_and_what_may_be_left_out_may_be_null() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "title": "Order",
        "properties": {
            "id": { "type": "string", "minLength": 1, "default": "x" },
            "note": { "type": "string", "description": "Any." },
            "kind": { "enum": ["a", "b"] },
            "either": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
            "already": { "type": ["integer", "null"] },
            "lines": { "type": "array", "maxItems": 3, "items": {
                "type": "object", "properties": { "n": { "type": "integer" } } } },
            "ref": { "$ref": "#/$defs/city", "description": "Where." },
        },
        "required": ["id"],
        "$defs": { "city": { "type": "object", "properties": { "zip": { "type": "string" } }, "required": ["zip"] } },
    });
    let or_null = json!({ "type": "null" });
    assert_eq!(
        rewrite(&schema),
        Ok(json!({
            "type": "object",
            "title": "Order",
            "$defs": { "city": { "type": "object", "required": ["zip"],
                "properties": { "zip": { "type": "string" } }, "additionalProperties": false } },
            "required": ["id", "note", "kind", "either", "already", "lines", "ref"],
            "properties": {
                "id": { "type": "string", "minLength": 1 },
                "note": { "type": ["string", "null"], "description": "Any." },
                "kind": { "anyOf": [{ "enum": ["a", "b"] }, or_null] },
                "either": { "anyOf": [{ "type": "string" }, { "type": "integer" }, or_null] },
                "already": { "type": ["integer", "null"] },
                "lines": { "type": ["array", "null"], "maxItems": 3, "items": {
                    "type": "object", "required": ["n"],
                    "properties": { "n": { "type": ["integer", "null"] } }, "additionalProperties": false } },
                "ref": { "anyOf": [{ "$ref": "#/$defs/city" }, or_null] },
            },
            "additionalProperties": false,
        }))
    );
}

#[test]
fn a_strict_schema_stays_as_it_is() {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "string" }, "b": { "type": ["number", "null"] } },
        "required": ["a", "b"],
        "additionalProperties": false,
    });
    assert_eq!(rewrite(&schema), Ok(schema));
    let none = json!({ "type": "object", "properties": {} });
    assert!(rewrite(&none).is_ok(), "a tool without arguments");
}

#[test]
fn choices_that_exclude_each_other_may_be_one_or_any() {
    let with = |choices: Value| {
        rewrite(&json!({ "type": "object", "properties": { "x": { "oneOf": choices } }, "required": ["x"] }))
    };
    let tagged =
        |tag: &str| json!({ "type": "object", "properties": { "t": { "const": tag } }, "required": ["t"] });
    assert!(with(json!([{ "type": "string" }, { "type": "null" }])).is_ok());
    let rewritten = with(json!([tagged("a"), tagged("b")])).expect("they are apart");
    assert_eq!(rewritten["properties"]["x"]["anyOf"].as_array().map(Vec::len), Some(2));
    for overlapping in [
        json!([{ "type": "number" }, { "type": "integer" }]),
        json!([tagged("a"), tagged("a")]),
        json!([{ "type": "string", "minLength": 2 }, { "type": "string", "maxLength": 5 }]),
    ] {
        let fault = with(overlapping).expect_err("they overlap");
        assert!(fault.contains("$.properties.x.oneOf"), "{fault}");
    }
}

#[test]
fn what_strict_mode_cannot_say_is_refused_with_its_place() {
    let property = |schema: Value| json!({ "type": "object", "properties": { "x": schema } });
    for (schema, place) in [
        (json!(true), "$"),
        (json!({ "type": "array", "items": { "type": "string" } }), "$"),
        (json!({ "anyOf": [] }), "$"),
        (property(json!({})), "$.properties.x"),
        (property(json!(true)), "$.properties.x"),
        (property(json!({ "type": "object" })), "$.properties.x"),
        (
            property(json!({ "type": "object", "additionalProperties": { "type": "string" } })),
            "$.properties.x.additionalProperties",
        ),
        (
            property(json!({ "type": "object", "properties": {}, "additionalProperties": true })),
            "$.properties.x.additionalProperties",
        ),
        (property(json!({ "allOf": [{ "type": "string" }] })), "$.properties.x.allOf"),
        (property(json!({ "type": "string", "not": { "const": "" } })), "$.properties.x.not"),
        (property(json!({ "type": "array", "items": { "description": "any" } })), "$.properties.x.items"),
        (property(json!({ "anyOf": [{ "type": "string" }, {}] })), "$.properties.x.anyOf[1]"),
        (property(json!({ "$ref": "https://example.com/s" })), "$.properties.x.$ref"),
        (property(json!({ "$ref": "#/$defs/a", "minLength": 1 })), "$.properties.x.minLength"),
        (json!({ "type": "object", "patternProperties": { "^a": {} } }), "$.patternProperties"),
    ] {
        let fault = rewrite(&schema).expect_err("it has no strict form");
        assert!(fault.contains(&format!("at {place}:")), "{schema}: {fault}");
    }
}

#[test]
fn nesting_has_a_bound() {
    let deep = |levels: usize| {
        let inner = json!({ "type": "string" });
        let list = (0..levels).fold(inner, |items, _| json!({ "type": "array", "items": items }));
        rewrite(&json!({ "type": "object", "properties": { "x": list } }))
    };
    assert!(deep(20).is_ok());
    assert!(deep(100).is_err());
}

#[test]
fn null_for_what_may_be_left_out_is_left_out() {
    let schema = json!({
        "type": "object",
        "properties": {
            "id": { "type": ["string", "null"] },
            "note": { "type": "string" },
            "nullable": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
            "lines": { "type": "array", "items": { "$ref": "#/$defs/line" } },
            "to": { "oneOf": [
                { "type": "object", "properties": { "t": { "const": "a" }, "x": { "type": "string" } }, "required": ["t"] },
                { "type": "object", "properties": { "t": { "const": "b" }, "x": { "type": ["null", "string"] } },
                    "required": ["t"] }] },
        },
        "required": ["id"],
        "$defs": { "line": { "type": "object", "properties": { "n": { "type": "integer" },
            "next": { "$ref": "#/$defs/line" } } } },
    });
    for (text, back) in [
        (r#"{"id":null,"note":null,"nullable":null}"#, Some(r#"{"id":null,"nullable":null}"#)),
        (
            r#"{"id":"a","lines":[{"n":null},{"n":1,"next":{"n":null,"next":null}}]}"#,
            Some(r#"{"id":"a","lines":[{},{"n":1,"next":{}}]}"#),
        ),
        (r#"{"id":"a","lines":null}"#, Some(r#"{"id":"a"}"#)),
        (r#"{"id":"a","to":{"t":"a","x":null}}"#, Some(r#"{"id":"a","to":{"t":"a"}}"#)),
        (r#"{"id":"a","to":{"t":"b","x":null}}"#, None),
        (r#"{"id":null}"#, None),
        (r#"{"id":"null"}"#, None),
        (r#"{"id":null,"note":"#, None),
        (r#"{"id":"a"}"#, None),
    ] {
        assert_eq!(restored(&schema, text).as_deref(), back, "{text}");
    }
}

#[test]
fn the_forms_are_made_once_for_a_list_of_tools() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    for wire in [wire("openai_chat"), wire("openai_responses")].into_iter().flatten() {
        let mut asked = testing::request("test/m", vec![Message::user("Hi")]);
        asked.model.strict = true;
        asked.tools = Arc::new(vec![ToolSpec::new("f", "", schema.clone())]);
        asked.response_schema = Some(("answer".into(), Arc::new(schema.clone())));
        let (dialect, name) = (Dialect::default(), wire.facts().name);
        assert_eq!(wire.refuses(&dialect, &asked), None);
        let first = wire.encode(&dialect, &asked).body;
        let (tools, output) = (tool_forms(&asked), output_form(&asked));
        asked.messages.push(Arc::new(Message::user("More")));
        assert_eq!(wire.refuses(&dialect, &asked), None);
        wire.encode(&dialect, &asked);
        assert!(Arc::ptr_eq(&tools, &tool_forms(&asked)), "{name}");
        let same = output.zip(output_form(&asked)).is_some_and(|(one, other)| Arc::ptr_eq(&one, &other));
        assert!(same, "{name}");
        // Nothing but the place where forms are kept makes them: tools of another list are others.
        let spoilt = Arc::new(vec![Ok(json!({ "type": "object", "title": "kept" }))]);
        asked.prefix = PrefixCell::default();
        asked.prefix.schemas.forms.lock().expect("not poisoned").tools = Some((asked.tools.clone(), spoilt));
        let body = String::from_utf8(wire.encode(&dialect, &asked).body).expect("JSON");
        assert!(body.contains("\"title\":\"kept\""), "{name}: {body}");
        asked.tools = Arc::new(asked.tools.to_vec());
        let body = String::from_utf8(wire.encode(&dialect, &asked).body).expect("JSON");
        assert!(!body.contains("kept") && body.contains("[\"string\",\"null\"]"), "{name}: {body}");
        assert!(String::from_utf8(first).expect("JSON").contains("[\"string\",\"null\"]"), "{name}");
    }
}

#[test]
fn models_that_share_a_conversation_have_their_tools_in_both_forms() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    for wire in WIRES {
        let mut asked = testing::request("test/m", vec![Message::user("Hi")]);
        asked.tools = Arc::new(vec![ToolSpec::new("f", "", schema.clone())]);
        let mut body = |strict: bool, fresh: bool| {
            asked.model.strict = strict;
            if fresh {
                asked.prefix = PrefixCell::default();
            }
            wire.encode(&Dialect::default(), &asked).body
        };
        let (plain, strict) = (body(false, true), body(true, true));
        for form in [false, true, false, true] {
            let expected = if form { &strict } else { &plain };
            assert_eq!(&body(form, false), expected, "{}", wire.facts().name);
        }
    }
}

#[test]
fn some_tools_of_a_request_are_held_to_their_schemas() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] });
    let tool = |name: &str, strict: Option<bool>| {
        let mut tool = ToolSpec::new(name, "", schema.clone());
        tool.strict = strict;
        tool
    };
    for (model, held) in [(false, ["on"].as_slice()), (true, &["on", "open"])] {
        let mut asked = testing::request("test/m", vec![Message::user("Hi")]);
        asked.model.strict = model;
        asked.tools = Arc::new(vec![tool("on", Some(true)), tool("off", Some(false)), tool("open", None)]);
        for wire in WIRES {
            let (dialect, name) = (Dialect::default(), wire.facts().name);
            let refused = wire.refuses(&dialect, &asked);
            match name {
                "gemini" | "gemini_vertex" => {
                    let tool = if model { "off" } else { "on" };
                    assert!(refused.is_some_and(|why| why.contains(&format!("tool `{tool}`"))), "{name}");
                }
                "ollama" => assert!(refused.is_some_and(|why| why.contains("tool `on`")), "{name}"),
                _ => {
                    assert_eq!(refused, None, "{name}");
                    let body: Value =
                        serde_json::from_slice(&wire.encode(&dialect, &asked).body).expect("JSON");
                    let tools = body["tools"].as_array().expect("tools").iter();
                    let tools = tools.map(|tool| tool.get("function").unwrap_or(tool));
                    let strict: Vec<_> = tools.filter(|tool| tool["strict"] == true).collect();
                    let names: Vec<_> =
                        strict.iter().map(|tool| tool["name"].as_str().expect("a name")).collect();
                    assert_eq!(names, held, "{name}");
                }
            }
        }
    }
}

#[test]
fn only_the_schema_of_a_tool_that_is_strict_must_have_a_strict_form() {
    let open = json!({ "type": "object", "properties": { "any": {} } });
    for (model, tool, is_refused) in
        [(false, None, false), (false, Some(true), true), (true, None, true), (true, Some(false), false)]
    {
        let mut asked = testing::request("test/m", vec![Message::user("Hi")]);
        asked.model.strict = model;
        let mut spec = ToolSpec::new("f", "", open.clone());
        spec.strict = tool;
        asked.tools = Arc::new(vec![spec]);
        assert_eq!(super::refusal(&asked).is_some(), is_refused, "{model} {tool:?}");
    }
}
