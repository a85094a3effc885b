use serde_json::{Value, json};
use windlass_core::ToolSpec;
use windlass_core::tool::Offer;

use super::{Need, plan, tool_for, words};
use crate::tour::intent::Intent;

fn tool(name: &str, properties: &Value, required: &[&str]) -> ToolSpec {
    ToolSpec::new(name, "", json!({"type": "object", "properties": properties, "required": required}))
}

fn text(name: &str, parameter: &str) -> ToolSpec {
    tool(name, &json!({parameter: {"type": "string"}}), &[parameter])
}

fn call(tools: &[ToolSpec], intent: &Intent) -> Option<(String, Value)> {
    let planned = plan(tools, intent, None)?;
    Some((planned.name.to_string(), serde_json::from_str(&planned.args).expect("JSON")))
}

fn sum(expression: &str) -> Intent {
    Intent::Sum { text: String::new(), expression: expression.into() }
}

#[test]
fn words_of_names() {
    assert_eq!(words("files__readTextFile"), ["files", "read", "text", "file"]);
    assert_eq!(words("list-files2"), ["list", "files2"]);
}

#[test]
fn the_best_fitting_tool_is_found_by_name_and_schema() {
    let tools = [
        tool("read_multiple_files", &json!({"paths": {"type": "array"}}), &["paths"]),
        text("files__read_media_file", "path"),
        text("files__read_text_file", "path"),
        text("files__list_directory_with_sizes", "path"),
        text("files__list_directory", "path"),
        tool("files__list_allowed_directories", &json!({}), &[]),
        tool("convert_time", &json!({"time": {"type": "string"}, "to": {"type": "string"}}), &["time", "to"]),
        tool("get_current_time", &json!({"timezone": {"type": "string"}}), &["timezone"]),
        text("read_result", "id"),
    ];
    let name = |need| tool_for(&tools, need).map(|spec| spec.name.to_string());
    assert_eq!(name(Need::Read).as_deref(), Some("files__read_text_file"));
    assert_eq!(name(Need::List).as_deref(), Some("files__list_directory"));
    assert_eq!(name(Need::Now).as_deref(), Some("get_current_time"));
    assert_eq!(name(Need::Allowed).as_deref(), Some("files__list_allowed_directories"));
    assert_eq!(name(Need::Calculate), None);
    assert_eq!(call(&tools, &Intent::Time), Some(("get_current_time".into(), json!({"timezone": "UTC"}))));
}

#[test]
fn a_tool_that_is_not_offered_is_none() {
    let mut hidden = text("calculate", "expression");
    hidden.offer = Offer::Withheld;
    assert_eq!(call(&[hidden], &sum("1 + 2")), None);
}

#[test]
fn arguments_come_from_the_schema() {
    let expression = Some(("calc".to_owned(), json!({"e": "1 + 2"})));
    assert_eq!(call(&[text("calc", "e")], &sum("1 + 2")), expression);
    let described = ToolSpec::new("sums", "Does arithmetic.", (*text("x", "e").parameters).clone());
    assert_eq!(call(&[described], &sum("1 + 2")), Some(("sums".into(), json!({"e": "1 + 2"}))));
    let optional =
        tool("list_files", &json!({"depth": {"type": "integer"}, "path": {"type": ["string", "null"]}}), &[]);
    assert_eq!(
        call(&[optional], &Intent::List("docs".into())),
        Some(("list_files".into(), json!({"path": "docs"})))
    );
    let choice =
        json!({"path": {"type": "string"}, "how": {"enum": ["text", "bytes"]}, "all": {"type": "boolean"}});
    let more = tool("read_file", &choice, &["path", "how", "all"]);
    let expected = json!({"path": "a.md", "how": "text", "all": false});
    assert_eq!(call(&[more], &Intent::Read("a.md".into())), Some(("read_file".into(), expected)));
    let unknown =
        tool("read_file", &json!({"path": {"type": "string"}, "n": {"type": "integer"}}), &["path", "n"]);
    assert_eq!(call(&[unknown], &Intent::Read("a.md".into())), None, "it needs what nobody said");
}

#[test]
fn a_tool_of_two_numbers_serves_a_plain_sum() {
    let numbers = json!({"a": {"type": "number"}, "b": {"type": "integer"}});
    let tools = [tool("multiply", &numbers, &["a", "b"]), tool("add", &numbers, &["a", "b"])];
    assert_eq!(call(&tools, &sum("2 + 5")), Some(("add".into(), json!({"a": 2, "b": 5}))));
    assert_eq!(call(&tools, &sum("2.5 * 5")), Some(("multiply".into(), json!({"a": 2.5, "b": 5}))));
    assert_eq!(call(&tools, &sum("2 + 5 + 1")), None);
    assert_eq!(call(&tools, &sum("2 - 5")), None);
}

#[test]
fn relative_paths_start_from_a_base() {
    let tools = [text("read_file", "path"), text("list_directory", "path")];
    let at = |intent: &Intent| plan(&tools, intent, Some("/data/")).expect("it fits").args;
    assert_eq!(at(&Intent::Read("./a.md".into())), r#"{"path":"/data/a.md"}"#);
    assert_eq!(at(&Intent::Read("/etc/x.md".into())), r#"{"path":"/etc/x.md"}"#);
    assert_eq!(at(&Intent::List(".".into())), r#"{"path":"/data"}"#);
}
