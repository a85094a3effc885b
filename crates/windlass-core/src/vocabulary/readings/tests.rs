use serde_json::{Value, json};

use crate::codec::forms::calls_in;
use crate::protocol::fact::turns::TurnCompleted;
use crate::vocabulary::call_args::CallArgs;
use crate::vocabulary::ids::Text;
use crate::vocabulary::tool::ToolSpec;

fn tool() -> Vec<ToolSpec> {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": { "type": "string" },
            "whole": { "type": "integer" },
            "number": { "type": "number" },
            "flag": { "type": "boolean" },
            "nothing": { "type": "null" },
            "list": { "type": "array" },
            "map": { "type": "object" },
            "text_or_null": { "type": ["string", "null"] },
            "text_or_whole": { "anyOf": [{ "type": "string" }, { "type": "integer" }] },
            "far": { "$ref": "#/$defs/year" },
            "word": { "enum": ["1", "2"] },
            "fixed": { "const": "7" },
            "both": { "allOf": [{ "$ref": "#/$defs/year" }, { "minLength": 1 }] },
            "open": {},
            "half": { "anyOf": [{ "type": "integer" }, {}] },
            "turns": { "$ref": "#/properties/turns" }
        },
        "$defs": { "year": { "type": "string" } }
    });
    vec![ToolSpec::new("f", "", schema)]
}

fn args_of(text: &str) -> CallArgs {
    let calls = calls_in(&text.into(), &tool());
    calls.and_then(|calls| calls.into_iter().next()).unwrap_or_else(|| panic!("{text} is no call")).args
}

/// Each argument as it is written in tags, and its value.
fn tagged() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("text", "1991", json!("1991")),
        ("text", "true", json!("true")),
        ("text", "null", json!("null")),
        ("text", "{\"a\": 1}", json!("{\"a\": 1}")),
        ("text", "otters", json!("otters")),
        ("text", "\"otters\"", json!("otters")),
        ("text", " 1 ", json!(" 1 ")),
        ("whole", "1991", json!(1991)),
        ("whole", "\"1991\"", json!(1991)),
        ("whole", "2.0", json!(2.0)),
        ("whole", "2.5", json!(2.5)),
        ("whole", "many", json!("many")),
        ("number", "2.5", json!(2.5)),
        ("number", "3", json!(3)),
        ("flag", "true", json!(true)),
        ("flag", "True", json!(true)),
        ("flag", "\"false\"", json!(false)),
        ("nothing", "None", json!(null)),
        ("list", "[1, 2]", json!([1, 2])),
        ("list", "\"[1, 2]\"", json!([1, 2])),
        ("map", "{\"a\": 1}", json!({ "a": 1 })),
        ("text_or_null", "null", json!(null)),
        ("text_or_null", "1991", json!("1991")),
        ("text_or_whole", "1991", json!(1991)),
        ("text_or_whole", "true", json!("true")),
        ("far", "1991", json!("1991")),
        ("word", "1", json!("1")),
        ("fixed", "7", json!("7")),
        ("both", "7", json!("7")),
        ("open", "7", json!(7)),
        ("half", "7.5", json!(7.5)),
        ("turns", "7", json!(7)),
        ("other", "7", json!(7)),
    ]
}

/// Each argument as it is written as in Python, and its value.
fn python() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("text", "1991", json!("1991")),
        ("text", "True", json!("True")),
        ("text", "'1991'", json!("1991")),
        ("text", "[1, 'a']", json!("[1, 'a']")),
        ("whole", "1991", json!(1991)),
        ("whole", "'1991'", json!(1991)),
        ("whole", "'many'", json!("many")),
        ("flag", "'True'", json!(true)),
        ("nothing", "None", json!(null)),
        ("list", "'[1, 2]'", json!([1, 2])),
        ("text_or_null", "None", json!(null)),
        ("text_or_whole", "'1991'", json!("1991")),
        ("other", "'7'", json!("7")),
    ]
}

#[test]
fn an_argument_is_read_by_its_parameter() {
    for (key, written, value) in tagged() {
        let text =
            format!("<tool_call>f<arg_key>{key}</arg_key><arg_value>{written}</arg_value></tool_call>");
        let read: Value = serde_json::from_str(&args_of(&text)).unwrap();
        assert_eq!(read, json!({ key: value }), "{key}: {written} in tags");
    }
    for (key, written, value) in python() {
        let read: Value = serde_json::from_str(&args_of(&format!("f({key}={written})"))).unwrap();
        assert_eq!(read, json!({ key: value }), "{key}: {written} as in Python");
    }
    let json = "{\"name\": \"f\", \"arguments\": {\"whole\": \"1991\", \"text\": 1991}}";
    assert_eq!(&*args_of(json), "{\"whole\": \"1991\", \"text\": 1991}", "JSON says its types itself");
}

/// A stored reply gives the same arguments without the tool.
#[test]
fn a_fold_reads_no_schema() {
    let tags = tagged().into_iter().map(|(key, written, _)| {
        format!("<tool_call>f<arg_key>{key}</arg_key><arg_value>{written}</arg_value></tool_call>")
    });
    let python = python().into_iter().map(|(key, written, _)| format!("f({key}={written})"));
    for text in tags.chain(python) {
        let text: Text = text.into();
        let read = calls_in(&text, &tool()).unwrap().remove(0);
        let (args, written) = (read.args.clone(), text.to_string());
        let call = json!({ "id": "c", "name": "f", "args": "" });
        let mut said: TurnCompleted = serde_json::from_value(
            json!({ "turn": 1, "text": written, "calls": [call], "usage": { "input": 0, "output": 0 }, "model": "m" }),
        )
        .unwrap();
        said.text = Some(text.clone());
        said.calls[0].args = read.args;
        let stored = serde_json::to_string(&said).unwrap();
        assert!(stored.contains("\"place\""), "{stored}");
        let found: TurnCompleted = serde_json::from_str(&stored).unwrap();
        assert_eq!(found.calls[0].args, args, "{stored}");
    }
}

#[test]
fn a_schema_is_looked_at_in_part_only() {
    let mut schema = json!({ "type": "string" });
    for _ in 0..300 {
        schema = json!({ "allOf": [schema] });
    }
    let tools = [ToolSpec::new("f", "", json!({ "type": "object", "properties": { "a": schema } }))];
    let calls = calls_in(&"f(a=1)".into(), &tools).unwrap();
    assert_eq!(&*calls[0].args, "{\"a\":1}");
}
