//! Answers to `initialize` that lack what a server can be used without.

use rmcp::model::{Implementation, ServerCapabilities};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

/// Whether this is the result of `initialize`.
pub(super) fn is_begun(result: &Map<String, Value>) -> bool {
    result.get("protocolVersion").is_some_and(Value::is_string)
}

/// Makes the result readable: a server has a name, and offers tools unless it says what it offers.
pub(super) fn mend(result: &mut Map<String, Value>) {
    let info = result.get("serverInfo").filter(|info| Implementation::deserialize(*info).is_ok());
    if info.is_none() {
        let named = |member: &str| {
            let text = result.get("serverInfo").and_then(|info| info.get(member)).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let info = json!({ "name": named("name"), "version": named("version") });
        result.insert("serverInfo".to_owned(), info);
    }
    let offers = result.get("capabilities").filter(|offers| ServerCapabilities::deserialize(*offers).is_ok());
    if offers.is_none() {
        let tools = match result.get("capabilities") {
            Some(Value::Object(offers)) => {
                offers.get("tools").is_some_and(|tools| *tools != Value::Bool(false))
            }
            _ => true,
        };
        let offers = if tools { json!({ "tools": {} }) } else { json!({}) };
        result.insert("capabilities".to_owned(), offers);
    }
    for member in ["instructions", "_meta"] {
        let fits = match result.get(member) {
            Some(Value::String(_)) => member == "instructions",
            Some(Value::Object(_)) => member == "_meta",
            None | Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) => false,
        };
        if !fits {
            result.remove(member);
        }
    }
}
