//! Results of calls whose items are not all as they should be: the readable ones stay, a note stands for each other.

use rmcp::model::ContentBlock;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

/// The members of an item without which it cannot be read; the others only describe it.
const NEEDED: [&str; 9] =
    ["type", "text", "data", "mimeType", "resource", "uri", "name", "title", "description"];

/// The members that tell a call's result from other results.
const MARKS: [&str; 3] = ["content", "structuredContent", "isError"];

/// Whether this is the result of a call.
pub(super) fn is_call_result(result: &Map<String, Value>) -> bool {
    MARKS.iter().any(|mark| result.contains_key(*mark))
}

/// Makes a call's result readable.
pub(super) fn mend(result: &mut Map<String, Value>) {
    let content = match result.remove("content") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items,
        Some(one) => vec![one],
    };
    let content: Vec<Value> = content.into_iter().map(item).collect();
    let has_content = !content.is_empty();
    result.insert("content".to_owned(), Value::Array(content));
    if result.get("structuredContent").is_some_and(Value::is_null) && has_content {
        result.remove("structuredContent");
    }
    if let Some(failed) = result.remove("isError").and_then(|value| truth(&value)) {
        result.insert("isError".to_owned(), failed.into());
    }
    if result.get("_meta").is_some_and(|meta| !meta.is_object()) {
        result.remove("_meta");
    }
    if result.get("resultType").is_some_and(|kind| !kind.is_string()) {
        result.remove("resultType");
    }
}

/// The meaning of a value that should be `true` or `false`.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Null => None,
        Value::Bool(is) => Some(*is),
        Value::String(text) => Some(!matches!(text.to_lowercase().as_str(), "" | "false" | "0" | "no")),
        Value::Number(number) => Some(number.as_f64() != Some(0.0)),
        Value::Array(_) | Value::Object(_) => Some(true),
    }
}

fn item(item: Value) -> Value {
    if ContentBlock::deserialize(&item).is_ok() {
        return item;
    }
    match item {
        Value::String(text) => text_item(&text),
        Value::Object(members) => object(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => note("unnamed"),
    }
}

fn object(members: Map<String, Value>) -> Value {
    let kind = members.get("type").and_then(Value::as_str).map(str::to_owned);
    match (kind.as_deref(), members.get("text")) {
        // A text without its type, or one that is no string.
        (Some("text") | None, Some(Value::String(text))) => return text_item(text),
        (Some("text"), Some(other)) if !other.is_null() => return text_item(&other.to_string()),
        _ => {}
    }
    let needed =
        members.into_iter().filter(|(name, value)| NEEDED.contains(&name.as_str()) && !value.is_null());
    let mut plain = Value::Object(needed.collect());
    if let Some(resource) = plain.get_mut("resource").and_then(Value::as_object_mut) {
        resource.retain(|name, _| matches!(name.as_str(), "uri" | "mimeType" | "text" | "blob"));
    }
    if ContentBlock::deserialize(&plain).is_ok() { plain } else { note(kind.as_deref().unwrap_or("unnamed")) }
}

fn text_item(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn note(kind: &str) -> Value {
    let kind: String = kind.chars().take(40).collect();
    text_item(&format!("[an item of type {kind} was omitted: it cannot be read]"))
}
