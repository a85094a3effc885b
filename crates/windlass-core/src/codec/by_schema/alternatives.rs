//! The schema of a reply: one alternative a tool, and one for the answer.

use serde_json::{Map, Value, json};
use windlass_schema::plain_schema;

use crate::codec::by_schema::REPLY;
use crate::vocabulary::purpose::ToolChoice;
use crate::vocabulary::tool::ToolSpec;

/// Keywords whose values are no schemas.
const VALUES: [&str; 4] = ["const", "enum", "default", "examples"];

/// The answer that a reply may be.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'v> {
    /// Any text.
    Text,
    /// A value of this schema.
    Output(&'v Value),
}

/// The schema of a reply to a request with this choice. Without a wanted answer there is one only where nothing else is possible.
pub(crate) fn alternatives(tools: &[ToolSpec], choice: &ToolChoice, answer: Option<Wanted<'_>>) -> Value {
    let offered = tools.iter().filter(|tool| tool.is_offered() && choice.allows(&tool.name));
    let mut definitions = Map::new();
    let mut all: Vec<Value> =
        offered.enumerate().map(|(at, tool)| call(tool, &format!("t{at}"), &mut definitions)).collect();
    let forced = choice.is_forced();
    let only = || all.is_empty().then_some(answer.unwrap_or(Wanted::Text));
    if let Some(wanted) = answer.filter(|_| !forced).or_else(only) {
        let schema = match wanted {
            Wanted::Text => json!({ "type": "string" }),
            Wanted::Output(schema) => placed(&plain_schema(schema), "a", &mut definitions),
        };
        all.push(closed(&[("answer", schema)]));
    }
    let reply = if all.len() == 1 { all.remove(0) } else { json!({ "anyOf": all }) };
    let mut schema = closed(&[(REPLY, reply)]);
    if let (false, Some(fields)) = (definitions.is_empty(), schema.as_object_mut()) {
        fields.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

/// A call of a tool. Its name comes first, so that a model that writes in order has chosen before it writes arguments. The name is
/// written in both ways: Gemini knows `enum` only, and OpenAI tells alternatives by `const`.
fn call(tool: &ToolSpec, label: &str, definitions: &mut Map<String, Value>) -> Value {
    let name = json!({ "type": "string", "const": &*tool.name, "enum": [&*tool.name] });
    let mut args = placed(&plain_schema(&tool.parameters), label, definitions);
    if let Some(fields) = args.as_object_mut()
        && !fields.contains_key("type")
        && !fields.contains_key("$ref")
    {
        fields.insert("type".to_owned(), "object".into());
    }
    closed(&[("tool", name), ("arguments", args)])
}

/// An object with exactly these members.
fn closed(members: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

/// A schema as a part of another one. Definitions that it still needs go to those of the whole, and its references lead there.
fn placed(schema: &Value, label: &str, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = schema.clone();
    let mut to_root = false;
    let mut own = Vec::new();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("$schema");
        fields.remove("$id");
        for key in ["$defs", "definitions"] {
            let found = fields.remove(key);
            if let Some(Value::Object(found)) = found {
                own.extend(found.into_iter().map(|(name, schema)| (format!("{label}_{key}_{name}"), schema)));
            }
        }
    }
    lead(&mut schema, label, &mut to_root);
    for (name, mut schema) in own {
        lead(&mut schema, label, &mut to_root);
        definitions.insert(name, schema);
    }
    if !to_root {
        return schema;
    }
    definitions.insert(label.to_owned(), schema);
    json!({ "$ref": format!("#/$defs/{label}") })
}

/// Leads local references to where their targets are now.
fn lead(schema: &mut Value, label: &str, to_root: &mut bool) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields.iter_mut() {
                if let ("$ref", Value::String(reference)) = (key.as_str(), &mut *value) {
                    let moved = ["$defs", "definitions"]
                        .iter()
                        .find_map(|key| Some((key, reference.strip_prefix(&format!("#/{key}/"))?)));
                    if let Some((key, rest)) = moved {
                        *reference = format!("#/$defs/{label}_{key}_{rest}");
                    } else if let Some(rest) = reference.strip_prefix('#') {
                        *to_root = true;
                        *reference = format!("#/$defs/{label}{rest}");
                    }
                } else if !VALUES.contains(&key.as_str()) {
                    lead(value, label, to_root);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| lead(item, label, to_root)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
