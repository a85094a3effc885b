//! E5: what is wrong with arguments is said so that a model can act on it. The texts are what models see: a change shows.

use serde_json::json;
use windlass_core::ToolSpec;
use windlass_core::schema::check_args;
use windlass_core::tool::{Effect, read_result, search_tools};

fn tool() -> ToolSpec {
    let parameters = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "minLength": 1 },
            "days": { "type": "integer", "minimum": 1, "maximum": 14 },
            "unit": { "enum": ["celsius", "fahrenheit"] },
            "at": { "$ref": "#/$defs/place" },
            "when": { "type": "string", "format": "date" }
        },
        "required": ["city"],
        "additionalProperties": false,
        "$defs": { "place": { "type": "object", "properties": { "lat": { "type": "number" } }, "required": ["lat", "lon"] } }
    });
    ToolSpec::new("weather", "", parameters)
}

#[test]
fn e5_every_fault_says_what_and_where() {
    let bad = [
        "{\"city\": ",
        "{\"city\": \"Rome\"} and so on",
        "{city: Rome}",
        "[]",
        "null",
        "\"Rome\"",
        "7",
        "",
        "{}",
        "{\"city\": 7}",
        "{\"city\": \"\"}",
        "{\"city\": \"Rome\", \"days\": 1.5}",
        "{\"city\": \"Rome\", \"days\": 99}",
        "{\"city\": \"Rome\", \"unit\": \"kelvin\"}",
        "{\"city\": \"Rome\", \"at\": {\"lat\": \"north\"}}",
        "{\"town\": \"Rome\"}",
        "{\"city\": 1, \"days\": \"two\", \"unit\": 3, \"at\": 4, \"a\": 5, \"b\": 6, \"when\": 7}",
    ];
    let tool = tool();
    let lines: Vec<String> =
        bad.iter().map(|text| format!("{text}\n  {}", check_args(&tool, text).unwrap_err())).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn good_arguments_come_back_as_they_are() {
    let tool = tool();
    for (text, args) in [
        ("{\"city\":\"Rome\"}", json!({ "city": "Rome" })),
        (" { \"city\": \"Rome\", \"days\": 3 } \n", json!({ "city": "Rome", "days": 3 })),
        (
            "{\"city\":\"Rome\",\"at\":{\"lat\":1,\"lon\":2,\"alt\":3}}",
            json!({ "city": "Rome", "at": { "lat": 1, "lon": 2, "alt": 3 } }),
        ),
        ("{\"city\":\"Rome\",\"days\":3.0}", json!({ "city": "Rome", "days": 3.0 })),
    ] {
        assert_eq!(check_args(&tool, text), Ok(args));
    }
}

#[test]
fn nothing_at_all_is_an_empty_object() {
    let tool = ToolSpec::new("now", "", json!({ "type": "object" }));
    assert_eq!(check_args(&tool, ""), Ok(json!({})));
    assert_eq!(check_args(&tool, " \n"), Ok(json!({})));
}

#[test]
fn a_schema_that_is_none_is_said_to_be_at_fault() {
    let tool = ToolSpec::new("odd", "", json!({ "type": "no such type" }));
    let fault = check_args(&tool, "{}").unwrap_err();
    assert!(fault.starts_with("The schema of `odd` is unusable: "), "{fault}");
}

/// A call of a tool that nobody described must not run twice; Windlass's own tools say that they may.
#[test]
fn a_tool_without_an_effect_counts_as_once() {
    let schema = || json!({ "type": "object" });
    assert_eq!(ToolSpec::new("t", "", schema()).effect, Effect::Once);
    let stored: ToolSpec = serde_json::from_value(json!({ "name": "t", "parameters": schema() })).unwrap();
    assert_eq!(stored.effect, Effect::Once);
    let own = [
        ToolSpec::read_only("t", "", schema()),
        ToolSpec::finish(None),
        ToolSpec::branches(Vec::new()),
        ToolSpec::one_branch("b", "", None),
        ToolSpec::parent_tools(Vec::new()),
        read_result().clone(),
        search_tools().clone(),
    ];
    assert!(own.iter().all(|spec| spec.effect == Effect::ReadOnly), "{own:?}");
}

#[test]
fn an_equal_tool_s_schema_is_not_taken_in_twice() {
    let tool = |kind: &str| {
        ToolSpec::new("t", "", json!({ "type": "object", "properties": { "a": { "type": kind } } }))
    };
    let (own, loaded, other) = (tool("string"), tool("string"), tool("integer"));
    loaded.check_as(&own);
    let made = own.checker().unwrap();
    loaded.check_as(&own);
    other.check_as(&own);
    assert!(std::ptr::eq(loaded.checker().unwrap(), made) && !std::ptr::eq(other.checker().unwrap(), made));
    assert!(check_args(&other, "{\"a\": 1}").is_ok() && check_args(&loaded, "{\"a\": 1}").is_err());
    assert!(std::ptr::eq(loaded.clone().checker().unwrap(), made));
}
