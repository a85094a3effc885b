//! Lists of tools whose entries are not all as they should be: each stays in its place, with what is to be said of it.
//!
//! The remarks go along in the entry's metadata, because the entry passes through rmcp on its way.

use rmcp::model::Tool;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The member of an entry's metadata that holds its [`Remarks`].
const REMARKS: &str = "windlass/remarks";

/// Hints of a tool (MCP 2025-11-25, Schema Reference, `ToolAnnotations`).
const HINTS: [&str; 4] = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

/// The remarks on an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::mcp::client) struct Remarks {
    /// Why the tool cannot be used.
    pub(in crate::mcp::client) fault: Option<Remark>,
    /// The parts of it that do not count.
    pub(in crate::mcp::client) notes: Vec<Remark>,
}

/// A place in the entry, and what is wrong there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::mcp::client) struct Remark {
    pub(in crate::mcp::client) place: String,
    pub(in crate::mcp::client) what: String,
}

impl Remarks {
    /// Takes what is to be said out of an entry.
    pub(in crate::mcp::client) fn of(tool: &mut Tool) -> Self {
        let remarks = tool.meta.as_mut().and_then(|meta| meta.remove(REMARKS));
        remarks.and_then(|remarks| serde_json::from_value(remarks).ok()).unwrap_or_default()
    }

    fn note(&mut self, place: &str, what: impl Into<String>) {
        self.notes.push(Remark { place: place.to_owned(), what: what.into() });
    }

    fn refuse(&mut self, place: &str, what: impl Into<String>) {
        self.fault.get_or_insert_with(|| Remark { place: place.to_owned(), what: what.into() });
    }
}

/// Whether this is a list of tools.
pub(super) fn is_list(result: &Map<String, Value>) -> bool {
    result.contains_key("tools")
}

/// Makes a list of tools readable.
pub(super) fn mend(result: &mut Map<String, Value>) {
    let tools = match result.remove("tools") {
        Some(Value::Array(tools)) => tools.into_iter().map(entry).collect(),
        Some(Value::Object(tools)) => {
            tools.into_iter().map(|(name, listed)| entry(named(name, listed))).collect()
        }
        None | Some(Value::Null) => Vec::new(),
        Some(other @ (Value::Bool(_) | Value::Number(_) | Value::String(_))) => vec![entry(other)],
    };
    let cursor = match result.remove("nextCursor") {
        Some(Value::String(cursor)) => Some(cursor),
        Some(Value::Number(cursor)) => Some(cursor.to_string()),
        _ => None,
    };
    let kind = result.remove("resultType").filter(Value::is_string);
    result.clear();
    result.insert("tools".to_owned(), Value::Array(tools));
    result.extend(cursor.map(|cursor| ("nextCursor".to_owned(), Value::String(cursor))));
    result.extend(kind.map(|kind| ("resultType".to_owned(), kind)));
}

/// One tool of a map: its key is its name, if it has none of its own.
fn named(name: String, mut listed: Value) -> Value {
    if let Value::Object(tool) = &mut listed {
        tool.entry("name").or_insert_with(|| name.into());
    }
    listed
}

/// One tool as rmcp reads it.
fn entry(listed: Value) -> Value {
    let mut remarks = Remarks::default();
    let mut listed = if let Value::Object(listed) = listed {
        listed
    } else {
        remarks.refuse("", "it is no object");
        Map::new()
    };
    let mut tool = Map::new();
    let name = match listed.remove("name") {
        Some(Value::String(name)) => name,
        _ => String::new(),
    };
    if name.trim().is_empty() {
        remarks.refuse("name", "it has no name");
    }
    tool.insert("name".to_owned(), name.into());
    for key in ["title", "description"] {
        match listed.remove(key) {
            Some(Value::String(text)) => {
                tool.insert(key.to_owned(), text.into());
            }
            None | Some(Value::Null) => {}
            Some(_) => remarks.note(key, format!("its `{key}` is no text and does not count")),
        }
    }
    tool.insert("inputSchema".to_owned(), schema(listed.remove("inputSchema"), &mut remarks));
    if let Some(hints) = hints(listed.remove("annotations"), &mut remarks) {
        tool.insert("annotations".to_owned(), hints);
    }
    // Such a tool answers a plain call with an error (MCP 2025-11-25, Tasks, Tool-Level Negotiation).
    let support = listed.get("execution").and_then(|execution| execution.get("taskSupport"));
    if support.and_then(Value::as_str) == Some("required") {
        remarks.refuse("execution.taskSupport", "it only runs as a task, and tasks are not supported");
    }
    if remarks != Remarks::default() {
        tool.insert("_meta".to_owned(), json!({ REMARKS: remarks }));
    }
    Value::Object(tool)
}

/// The schema of the arguments, which is that of an object.
fn schema(listed: Option<Value>, remarks: &mut Remarks) -> Value {
    let any = |what: &str, remarks: &mut Remarks| {
        remarks.note(
            "inputSchema",
            format!("its `inputSchema` is {what}, so that any arguments are let through"),
        );
        json!({ "type": "object" })
    };
    match listed {
        None => any("missing", remarks),
        Some(Value::Null) => any("null", remarks),
        Some(Value::Bool(true)) => any("`true`", remarks),
        Some(Value::Object(mut schema)) => {
            let is_object = match schema.get("type") {
                None | Some(Value::Null) => true,
                Some(Value::String(one)) => one == "object",
                Some(Value::Array(several)) => several.iter().any(|one| one == "object"),
                Some(Value::Bool(_) | Value::Number(_) | Value::Object(_)) => false,
            };
            if !is_object {
                let kind = schema.get("type").map(ToString::to_string).unwrap_or_default();
                remarks.refuse("inputSchema.type", format!("its arguments would be no object but {kind}"));
            }
            schema.insert("type".to_owned(), "object".into());
            Value::Object(schema)
        }
        Some(Value::Bool(false) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            remarks.refuse("inputSchema", "its `inputSchema` is no schema that an object could fit");
            json!({ "type": "object" })
        }
    }
}

fn hints(listed: Option<Value>, remarks: &mut Remarks) -> Option<Value> {
    let mut listed = match listed {
        None | Some(Value::Null) => return None,
        Some(Value::Object(listed)) => listed,
        Some(_) => {
            remarks.note("annotations", "its `annotations` are no object and do not count");
            return None;
        }
    };
    let mut hints = Map::new();
    for key in HINTS {
        match listed.remove(key) {
            Some(Value::Bool(hint)) => {
                hints.insert(key.to_owned(), hint.into());
            }
            None | Some(Value::Null) => {}
            Some(_) => {
                let what = format!("its `{key}` is neither true nor false and does not count");
                remarks.note(&format!("annotations.{key}"), what);
            }
        }
    }
    Some(Value::Object(hints))
}
