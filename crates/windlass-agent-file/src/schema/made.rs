//! Makes the published JSON Schema of the agent file from the types that read it.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use windlass_core::policy::{Alias, DefaultLoop, LATER, Later, Preset};
use windlass_core::settings::Word;

use crate::keys::AgentKeys;

const ABOUT: &str = "An agent: its models, instructions, tools and loop. Paths start from the file's folder. `${NAME}` is read \
                     from the environment in keys, headers, environment values and addresses only.";

/// The schema as the types have it.
pub(crate) fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<AgentKeys>().to_value();
    tidy(&mut schema);
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("title".to_owned(), json!("Windlass agent file"));
        schema.insert("description".to_owned(), json!(ABOUT));
    }
    let retries = schema.pointer("/$defs/loop/properties/retries").cloned().unwrap_or_default();
    if let Some(section) = schema.pointer_mut("/$defs/loop/properties").and_then(Value::as_object_mut) {
        add_defaults(section);
        add_aliases(section, &retries);
        for later in LATER {
            add_taken(section, later);
        }
    }
    if let Some(limits) = schema.pointer_mut("/$defs/limits/properties").and_then(Value::as_object_mut) {
        add_aliases(limits, &retries);
    }
    schema
}

/// Takes out what says nothing to people: formats of numbers, and the absence of a value, which a key that stands there
/// cannot have.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            // A map of properties has no such key beside a type.
            if SAYS_A_TYPE.iter().any(|key| map.contains_key(*key)) {
                map.remove("format");
                map.retain(|key, value| key != "default" || !value.is_null());
            }
            let only = map.get_mut("type").and_then(|types| only_but(types, |kind| kind == "null"));
            if let Some(only) = only {
                map.insert("type".to_owned(), only);
            }
            let only = map.get_mut("anyOf").and_then(|forms| only_but(forms, |form| form["type"] == "null"));
            if let Some(Value::Object(only)) = only {
                map.remove("anyOf");
                for (key, value) in only {
                    map.entry(key).or_insert(value);
                }
            }
            let keys = map.get_mut("properties").and_then(Value::as_object_mut);
            let words = keys.into_iter().flat_map(Map::values_mut).filter_map(|key| key.get_mut("enum"));
            words.for_each(|words| drop(only_but(words, Value::is_null)));
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

const SAYS_A_TYPE: [&str; 6] = ["type", "$ref", "oneOf", "anyOf", "enum", "const"];

/// Takes what fits out of a list; the item that is left, if it is the only one.
fn only_but(list: &mut Value, out: impl Fn(&Value) -> bool) -> Option<Value> {
    let items = list.as_array_mut()?;
    items.retain(|item| !out(item));
    if let [only] = items.as_slice() { Some(only.clone()) } else { None }
}

/// The values of an agent that names no preset and has no output.
fn add_defaults(section: &mut Map<String, Value>) {
    for (key, value) in DefaultLoop::Chat.policy().keys() {
        if let Some(Value::Object(schema)) = section.get_mut(key) {
            schema.insert("default".to_owned(), value);
        }
    }
}

/// Names that the presets' own systems have for numbers of the loop. `retries` is the schema of the key of that name.
fn add_aliases(keys: &mut Map<String, Value>, retries: &Value) {
    let all = || Preset::ALL.iter().flat_map(|preset| preset.aliases);
    for (alias, named) in all() {
        let presets = Preset::ALL.iter().filter(|preset| preset.aliases.contains(&(*alias, *named)));
        let presets: Vec<_> = presets.map(|preset| format!("`preset: {preset}`")).collect();
        let about = |key: &str| format!("Another name of `{key}`, with {}.", presets.join(" and "));
        let schema = match named {
            Alias::Limit(kind) => {
                json!({ "$ref": "#/$defs/limit", "description": about(&format!("limits.{kind}")) })
            }
            Alias::Retries => {
                let mut schema = retries.clone();
                if let Some(fields) = schema.as_object_mut() {
                    fields.insert("description".to_owned(), about("retries").into());
                }
                schema
            }
        };
        keys.insert((*alias).to_owned(), schema);
    }
}

/// Keys that come later are taken with the values that ask for nothing.
fn add_taken(section: &mut Map<String, Value>, later: &Later) {
    let taken = later.taken.iter().map(|word| match word {
        Word::Text(text) => json!(text),
        Word::Flag(flag) => json!(flag),
    });
    let taken: Vec<Value> = taken.collect();
    let (keys, key) = match later.path.split_once('.') {
        Some((map, key)) => {
            let forms = section.get_mut(map).and_then(|map| map.get_mut("oneOf")?.as_array_mut());
            let mut keys =
                forms.into_iter().flatten().filter_map(|form| form.get_mut("properties")?.as_object_mut());
            (keys.next(), key)
        }
        None => (Some(section), later.path),
    };
    if let Some(keys) = keys.filter(|_| !taken.is_empty()) {
        let about = "Not available in this version; this value has no effect.";
        keys.insert(key.to_owned(), json!({ "enum": taken, "description": about }));
    }
}
