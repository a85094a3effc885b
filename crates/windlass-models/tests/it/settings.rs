//! The table of docs/models.md: for each setting of a model and each wire, the key that it is written as, or that it is refused. It is
//! made from requests: one with the setting, one without.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::model::{ModelChoice, ModelOption};
use windlass_core::policy::CachePoint;
use windlass_core::{Message, ToolSpec};
use windlass_models::wires::{Dialect, Quirks, WIRES, Wire};
use windlass_models::{HttpModel, HttpModelConfig, Model as _, ModelRequest};

use crate::page;

/// In settings: the schema of the output.
const OUTPUT: &str = "output";

/// Settings that have no entry in the table of options, with a value.
fn others() -> Vec<(&'static str, Value)> {
    vec![
        ("temperature", json!(0.5)),
        ("top_p", json!(0.5)),
        ("presence_penalty", json!(0.5)),
        ("max_tokens", json!(3_000)),
        ("stop", json!(["END"])),
        ("reasoning", json!("high")),
        ("parallel", json!(false)),
        ("strict", json!(true)),
        ("metadata", json!({ "user_id": "u1" })),
    ]
}

fn option(option: ModelOption) -> (&'static str, Value) {
    let value = match option {
        ModelOption::Seed | ModelOption::TopK | ModelOption::NumCtx | ModelOption::Logprobs => json!(7),
        ModelOption::ReasoningBudget => json!(2_000),
        ModelOption::ReasoningSummary => json!("concise"),
        ModelOption::ShowReasoning | ModelOption::CacheTools | ModelOption::CacheAutomatic => json!(true),
        ModelOption::CacheLifetime => json!("1h"),
        ModelOption::Safety => json!({ "HARM_CATEGORY_HARASSMENT": "BLOCK_NONE" }),
        ModelOption::FrequencyPenalty => json!(0.5),
        ModelOption::ServiceTier
        | ModelOption::Verbosity
        | ModelOption::User
        | ModelOption::CacheKey
        | ModelOption::CachedContent
        | ModelOption::Conversation
        | ModelOption::KeepAlive => {
            json!("low")
        }
    };
    (option.key(), value)
}

/// A request of a model that takes as many settings as any of its API.
fn request(wire: &dyn Wire, settings: Value, has_tool: bool) -> ModelRequest {
    let mut choice = settings;
    let output = choice.as_object_mut().expect("settings").remove(OUTPUT);
    choice["name"] = json!(match wire.facts().name {
        "anthropic_messages" => "claude-3-7-sonnet",
        "gemini" => "gemini-2.5-flash",
        "ollama" => "qwen3",
        _ => "gpt-5.1",
    });
    // Each API has lifetimes of its own.
    if let Some(lifetime) = choice.pointer_mut("/options/cache_lifetime")
        && wire.facts().name.starts_with("openai")
    {
        *lifetime = json!("24h");
    }
    let choice: ModelChoice = serde_json::from_value(choice).expect("a choice");
    let schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    let tools = Arc::new(has_tool.then(|| ToolSpec::new("t", "", schema)).into_iter().collect());
    let response_schema = output.map(|schema| ("output".into(), Arc::new(schema)));
    ModelRequest {
        tools,
        response_schema,
        cache: vec![CachePoint::at(-1)],
        ..ModelRequest::new(choice, [Message::user("Hi")])
    }
}

fn body(wire: &dyn Wire, settings: Value, has_tool: bool) -> Value {
    let cache_control = wire.facts().name == "anthropic_messages";
    let quirks = Quirks { cache_control, stored_replies: true, ..Quirks::NONE };
    let dialect = Dialect { label: "x".into(), quirks };
    serde_json::from_slice(&wire.encode(&dialect, &request(wire, settings, has_tool)).body).expect("JSON")
}

/// The paths below which two bodies differ; `[]` is each element of a list.
fn differences(one: &Value, other: &Value, path: &str, found: &mut BTreeSet<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for (key, value) in one {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                differences(value, other.get(key).unwrap_or(&Value::Null), &path, found);
            }
        }
        (Value::Object(one), Value::Null) if !one.is_empty() && !path.is_empty() => {
            for (key, value) in one {
                differences(value, &Value::Null, &format!("{path}.{key}"), found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (one, other) in one.iter().zip(other) {
                differences(one, other, &format!("{path}[]"), found);
            }
        }
        _ if one != other => drop(found.insert(path.to_owned())),
        _ => {}
    }
}

/// The cell of a setting and a wire.
fn cell(wire: &'static dyn Wire, settings: &Value) -> String {
    let config = HttpModelConfig {
        stored_replies: Some(true),
        ..HttpModelConfig::new(wire, "x", "http://127.0.0.1:9")
    };
    let model = HttpModel::new(config).expect("a model");
    // Cached content has the tools.
    let has_tool = settings.pointer("/options/cached_content").is_none();
    if model.refuses(&request(wire, settings.clone(), has_tool)).is_some() {
        return "refused".to_owned();
    }
    let mut found = BTreeSet::new();
    differences(&body(wire, settings.clone(), has_tool), &body(wire, json!({}), has_tool), "", &mut found);
    if found.is_empty() {
        return "left out".to_owned();
    }
    found.into_iter().map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ")
}

fn table() -> String {
    let wires: Vec<_> = WIRES.iter().filter(|wire| wire.facts().name != "gemini_vertex").collect();
    let mut table = page::head("setting", wires.iter().map(|wire| wire.facts().name));
    let options = ModelOption::ALL.iter().map(|known| {
        let (key, value) = option(*known);
        (key, json!({ "options": key.rsplit('.').fold(value, |value, key| json!({ key: value })) }))
    });
    let closed = json!({ "type": "object", "properties": {}, "required": [], "additionalProperties": false });
    let outputs = [("output.schema", closed), ("output.json", json!({ "type": "object" }))];
    let outputs = outputs.map(|(key, schema)| (key, json!({ OUTPUT: schema })));
    let others = others().into_iter().map(|(key, value)| (key, json!({ key: value })));
    for (key, settings) in others.chain(options).chain(outputs) {
        write!(table, "\n| `{key}` |").expect("a text");
        for wire in &wires {
            write!(table, " {} |", cell(**wire, &settings)).expect("a text");
        }
    }
    table
}

#[test]
fn the_table_of_settings_and_wires_is_what_requests_say() {
    page::has(&table(), "the_table_of_settings");
}
