//! `docs/agent-file-reference.md` is made from the schema, and so from the types that read a file.

use std::path::Path;

use serde_json::Value;

use super::reference;
use crate::schema::made::schema;

#[test]
fn the_reference_is_what_the_types_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agent-file-reference.md");
    let wanted = reference::page();
    if std::env::var_os("WINDLASS_UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let now = std::fs::read_to_string(&path).unwrap();
    assert!(
        now == wanted,
        "docs/agent-file-reference.md is old: WINDLASS_UPDATE=1 cargo nextest run -p windlass-agent-file docs"
    );
}

#[test]
fn every_key_says_what_it_is() {
    let schema = schema();
    let mut silent = Vec::new();
    describe(&schema, "#", &mut silent);
    assert!(silent.is_empty(), "{silent:#?}");
}

/// The keys without a description.
fn describe(schema: &Value, place: &str, silent: &mut Vec<String>) {
    if let Some(keys) = schema.get("properties").and_then(Value::as_object) {
        let refused = |key: &Value| key.as_bool() == Some(false);
        // The only key of a map is what the map says it is.
        let only = keys.len() == 1 && schema.get("description").is_some();
        let keys = keys.iter().filter(|(_, key)| key.get("description").is_none() && !refused(key) && !only);
        silent.extend(keys.map(|(key, _)| format!("{place}/{key}")));
    }
    let steps: Vec<(String, &Value)> = match schema {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    // Forms beside properties say which of them go together.
    let skipped = |step: &str| step == "default" || step == "anyOf" && schema["properties"].is_object();
    for (step, value) in steps.into_iter().filter(|(step, _)| !skipped(step)) {
        describe(value, &format!("{place}/{step}"), silent);
    }
}
