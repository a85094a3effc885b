//! `docs/agent-file.md`: its tables of keys are made from the schema, and so from the types that read a file.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Map, Value};
use windlass_core::policy::Preset;

use crate::schema::made::schema;

const BEGIN: &str = "<!-- keys: made from the types that read a file; WINDLASS_UPDATE=1 cargo nextest run -p windlass-agent-file docs -->\n";
const END: &str = "<!-- end of keys -->\n";

#[test]
fn the_page_s_tables_of_keys_are_those_of_the_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/agent-file.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("docs/agent-file.md has no place for its keys");
    let (_, after) = rest.split_once(END).unwrap();
    let wanted = format!("{before}{BEGIN}\n{}\n{END}{after}", keys());
    if std::env::var_os("WINDLASS_UPDATE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let now = std::fs::read_to_string(&path).unwrap();
    assert!(
        now == wanted,
        "docs/agent-file.md is old: WINDLASS_UPDATE=1 cargo nextest run -p windlass-agent-file docs"
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

/// All tables: the file's own keys, then each map in the order in which a reader meets it.
fn keys() -> String {
    let schema = schema();
    let mut writer =
        Writer { schema: &schema, waiting: Vec::new(), done: BTreeSet::new(), out: String::new() };
    writer.table("The file", &schema);
    let mut at = 0;
    while let Some((title, map)) = writer.waiting.get(at).cloned() {
        writer.table(&title, &map);
        at += 1;
    }
    writer.out.trim_end().to_owned() + "\n"
}

struct Writer<'s> {
    schema: &'s Value,
    /// Maps that a table has named, by title.
    waiting: Vec<(String, Value)>,
    done: BTreeSet<String>,
    out: String,
}

impl Writer<'_> {
    fn table(&mut self, title: &str, map: &Value) {
        writeln!(self.out, "### {title}\n").unwrap();
        if let Some(about) = map["description"].as_str().filter(|_| title != "The file") {
            writeln!(self.out, "{}\n", one_line(about)).unwrap();
        }
        let needed: Vec<&str> =
            map["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let keys = map["properties"].as_object().cloned().unwrap_or_default();
        self.out.push_str("| key | value | default | |\n|---|---|---|---|\n");
        for (key, schema) in &keys {
            let default = match schema.get("default") {
                _ if needed.contains(&key.as_str()) => "needed".to_owned(),
                Some(Value::String(text)) if text.is_empty() => String::new(),
                Some(Value::Array(items)) if items.is_empty() => String::new(),
                Some(Value::Object(map)) if map.is_empty() || title == "The file" => String::new(),
                Some(default) => code(default),
                None => String::new(),
            };
            let path = if title == "The file" { key.clone() } else { format!("{title}.{key}") };
            let value = self.value(&path, schema);
            let about = one_line(schema["description"].as_str().unwrap_or_default());
            writeln!(self.out, "| `{key}` | {value} | {default} | {about} |").unwrap();
        }
        self.out.push('\n');
        if title == "loop" {
            self.presets(&keys);
        }
    }

    /// Writes the table of differences between presets.
    fn presets(&mut self, keys: &Map<String, Value>) {
        let policies: Vec<_> = Preset::ALL.iter().map(Preset::policy).collect();
        let names: Vec<_> = Preset::ALL.iter().map(|preset| format!("`{preset}`")).collect();
        writeln!(self.out, "What the presets set:\n\n| key | {} |", names.join(" | ")).unwrap();
        writeln!(self.out, "|---|{}", "---|".repeat(names.len())).unwrap();
        for key in keys.keys() {
            let value = |policy: &windlass_core::Policy| {
                policy.keys().into_iter().find(|(name, _)| name == key).map(|(_, value)| code(&value))
            };
            let values: Vec<_> = policies.iter().filter_map(value).collect();
            if values.iter().any(|value| Some(value) != values.first()) {
                writeln!(self.out, "| `{key}` | {} |", values.join(" | ")).unwrap();
            }
        }
        let total = Preset::ALL.iter().map(|preset| preset.total_ms.to_string());
        let tool = policies.iter().map(|policy| policy.calls.tool_ms.to_string());
        let rows = [("timeouts.total_ms", total.collect::<Vec<_>>()), ("timeouts.tool_ms", tool.collect())];
        for (key, values) in rows {
            writeln!(self.out, "| `{key}` | {} |", values.join(" | ")).unwrap();
        }
        self.out.push('\n');
    }

    /// Describes the possible values at that path.
    fn value(&mut self, key: &str, schema: &Value) -> String {
        if let Some(name) = schema["$ref"].as_str().and_then(|place| place.strip_prefix("#/$defs/")) {
            let target = self.schema["$defs"][name].clone();
            return if target["properties"].is_object() {
                self.map(name, &target)
            } else {
                self.value(name, &target)
            };
        }
        for several in ["oneOf", "anyOf"] {
            // Beside properties they say which go together.
            if let Some(forms) = schema[several].as_array().filter(|_| !schema["properties"].is_object()) {
                let mut values: Vec<String> = Vec::new();
                for form in forms {
                    let value = self.value(key, form);
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
                return values.join(", ");
            }
        }
        if let Some(words) = schema["enum"].as_array() {
            return words.iter().map(code).collect::<Vec<_>>().join(", ");
        }
        if let Some(word) = schema.get("const") {
            return code(word);
        }
        match &schema["type"] {
            Value::String(kind) => self.of_type(key, kind, schema),
            Value::Array(kinds) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                kinds.map(|kind| self.of_type(key, kind, schema)).collect::<Vec<_>>().join(", ")
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "anything".to_owned(),
        }
    }

    fn of_type(&mut self, key: &str, kind: &str, schema: &Value) -> String {
        let bounds = || {
            let from = schema["minimum"].as_f64().map(|least| format!(" from {least}")).unwrap_or_default();
            let to = schema["maximum"].as_f64().filter(|most| *most < 4.0e9);
            from + &to.map(|most| format!(" to {most}")).unwrap_or_default()
        };
        match kind {
            "string" => "text".to_owned(),
            "boolean" => "`true`, `false`".to_owned(),
            "integer" => format!("whole number{}", bounds()),
            "number" => format!("number{}", bounds()),
            "array" => format!("list of: {}", self.value(key, &schema["items"])),
            // A map of one key is its own documentation.
            "object" => match schema["properties"].as_object().map(|keys| (keys.len(), keys.iter().next())) {
                Some((1, Some((only, value)))) if schema["required"].is_array() => {
                    format!("`{{ {only}:` {} `}}`", self.value(only, value))
                }
                Some(_) => self.map(key, schema),
                None if schema["additionalProperties"].is_object() => {
                    format!("map of names to: {}", self.value(key, &schema["additionalProperties"]))
                }
                None => "map".to_owned(),
            },
            other => other.to_owned(),
        }
    }

    /// A map has a table of its own.
    fn map(&mut self, title: &str, map: &Value) -> String {
        if self.done.insert(title.to_owned()) {
            self.waiting.push((title.to_owned(), map.clone()));
        }
        let anchor = title.to_lowercase().replace('.', "");
        format!("[{title}](#{anchor})")
    }
}

fn code(value: &Value) -> String {
    if let Value::String(text) = value {
        format!("`{}`", one_line(text))
    } else {
        format!("`{}`", one_line(&value.to_string()))
    }
}

/// A text as a cell of a table.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
