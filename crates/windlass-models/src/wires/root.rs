//! Owns the form in which a tool's schema is sent: an object at the root, without choices beside it.
//!
//! OpenAI and Anthropic refuse a request for one schema with `anyOf`, `oneOf`, `allOf`, `enum` or `not` at the root (OpenAI, "Function
//! calling"; Anthropic, "Tool use", `input_schema`), and Gemini for one that is no object. The properties of the choices become
//! properties of the object, so that arguments keep their shape, and the rule itself is told in the tool's description: the core
//! checks each call against the whole schema.

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use windlass_core::schema::modern;

/// Keywords that no provider takes at the root.
pub(super) const COMBINATORS: [&str; 6] = ["anyOf", "oneOf", "allOf", "not", "enum", "const"];

/// The most bytes of a rule in a description.
const MAX_RULE_BYTES: usize = 4_096;

/// The most references in a row, and the most levels of choices within choices.
const MAX_DEPTH: usize = 16;

/// The most choices that are looked at for one tool.
const MAX_CHOICES: usize = 256;

/// A tool's schema as it is sent.
#[derive(Debug)]
pub(crate) struct Sent<'s> {
    pub(crate) schema: Cow<'s, Value>,
    /// The rule that the schema no longer states, for the description.
    pub(crate) rule: Option<String>,
}

/// The form of a schema that is sent. `with_properties`: an object must list its properties, even if there are none.
pub(crate) fn sent(schema: &Value, with_properties: bool) -> Sent<'_> {
    match modern(schema) {
        Cow::Borrowed(schema) => as_object(schema, with_properties),
        // Anthropic refuses schemas of earlier versions.
        Cow::Owned(schema) => {
            let Sent { schema, rule } = as_object(&schema, with_properties);
            Sent { schema: Cow::Owned(schema.into_owned()), rule }
        }
    }
}

fn as_object(schema: &Value, with_properties: bool) -> Sent<'_> {
    let Value::Object(fields) = schema else {
        return Sent { schema: Cow::Owned(json!({ "type": "object", "properties": {} })), rule: None };
    };
    let is_plain = fields.get("type").is_some_and(|kind| kind == "object")
        && (!with_properties || fields.contains_key("properties"))
        && !fields.contains_key("$ref")
        && !COMBINATORS.iter().any(|key| fields.contains_key(*key));
    if is_plain || !may_be_object(fields) {
        return Sent { schema: Cow::Borrowed(schema), rule: None };
    }
    let (mut object, rule) = flat(schema, fields);
    object.entry("type").or_insert_with(|| "object".into());
    if with_properties {
        object.entry("properties").or_insert_with(|| json!({}));
    }
    Sent { schema: Cow::Owned(Value::Object(object)), rule: rule.map(|rule| in_words(&rule)) }
}

/// Whether the root says nothing against an object: another schema is left to the provider, because no call fits it.
fn may_be_object(fields: &Map<String, Value>) -> bool {
    match fields.get("type") {
        None => true,
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
    }
}

fn in_words(rule: &Map<String, Value>) -> String {
    let rule = Value::Object(rule.clone()).to_string();
    if rule.len() > MAX_RULE_BYTES {
        return "The arguments are checked against more rules than are listed here: a call that breaks one is answered with \
                it."
        .to_owned();
    }
    format!("The arguments must also fit this JSON Schema: {rule}")
}

/// The root without choices, and what it says no longer.
fn flat(schema: &Value, fields: &Map<String, Value>) -> (Map<String, Value>, Option<Map<String, Value>>) {
    let (mut object, mut rule) = (Map::new(), Map::new());
    for (key, value) in fields {
        if key == "$ref" || COMBINATORS.contains(&key.as_str()) {
            rule.insert(key.clone(), value.clone());
        } else {
            object.insert(key.clone(), value.clone());
        }
    }
    // Any other type beside `object` is none that arguments can have.
    if object.contains_key("type") {
        object.insert("type".to_owned(), "object".into());
    }
    let mut choices = Choices { root: schema, left: MAX_CHOICES };
    let lifted = choices.of(&rule, 0);
    if let Some(target) = alone(schema, &rule, &object) {
        // A root that is a reference alone is what it refers to.
        let known = object.keys().cloned().collect::<Vec<_>>();
        object.extend(target.into_iter().filter(|(key, _)| !known.contains(key)));
        return (object, None);
    }
    if object.get("additionalProperties") != Some(&Value::Bool(false)) {
        lifted.put_into(&mut object);
    }
    (object, (!rule.is_empty()).then_some(rule))
}

/// The plain object that a reference at the root stands for, if the root says nothing else of values.
fn alone(root: &Value, rule: &Map<String, Value>, object: &Map<String, Value>) -> Option<Map<String, Value>> {
    let notes = ["$schema", "$id", "$defs", "definitions", "title", "description", "type"];
    if rule.len() != 1 || object.keys().any(|key| !notes.contains(&key.as_str())) {
        return None;
    }
    let target = target(root, root)?.as_object()?;
    let is_plain = !COMBINATORS.iter().any(|key| target.contains_key(*key)) && may_be_object(target);
    (rule.contains_key("$ref") && is_plain).then(|| target.clone())
}

/// The schema behind local references.
fn target<'s>(root: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    let mut schema = schema;
    for _ in 0..MAX_DEPTH {
        let Some(place) = schema.get("$ref").and_then(Value::as_str) else { return Some(schema) };
        schema = root.pointer(place.strip_prefix('#')?)?;
    }
    None
}

/// Properties of choices, with those that are in each of them.
#[derive(Debug, Default)]
struct Lifted {
    properties: Map<String, Value>,
    required: Vec<Value>,
}

/// The search for them.
struct Choices<'s> {
    root: &'s Value,
    left: usize,
}

impl Choices<'_> {
    /// The properties that the choices among these keywords bring.
    fn of(&mut self, fields: &Map<String, Value>, depth: usize) -> Lifted {
        let mut all = Lifted::default();
        if depth > MAX_DEPTH {
            return all;
        }
        if fields.contains_key("$ref")
            && let Some(target) = target(self.root, &Value::Object(fields.clone())).cloned()
        {
            all.add(self.one(&target, depth + 1));
        }
        for part in fields.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            all.add(self.one(part, depth + 1));
        }
        for key in ["anyOf", "oneOf"] {
            let choices = fields.get(key).and_then(Value::as_array).into_iter().flatten();
            let mut one_of: Option<Lifted> = None;
            for choice in choices {
                let choice = self.one(choice, depth + 1);
                match &mut one_of {
                    Some(before) => before.or(choice),
                    None => one_of = Some(choice),
                }
            }
            all.add(one_of.unwrap_or_default());
        }
        all
    }

    /// The properties that one choice brings: its own ones, and those of its choices.
    fn one(&mut self, schema: &Value, depth: usize) -> Lifted {
        let Some(left) = self.left.checked_sub(1) else { return Lifted::default() };
        self.left = left;
        let Some(Value::Object(fields)) = target(self.root, schema) else { return Lifted::default() };
        let fields = fields.clone();
        let mut all = self.of(&fields, depth);
        let own = |key: &str| fields.get(key).cloned();
        all.add(Lifted {
            properties: own("properties").and_then(|all| all.as_object().cloned()).unwrap_or_default(),
            required: own("required").and_then(|all| all.as_array().cloned()).unwrap_or_default(),
        });
        all
    }
}

impl Lifted {
    /// Both hold.
    fn add(&mut self, other: Self) {
        for name in other.required {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
        self.take(other.properties);
    }

    /// One of them holds.
    fn or(&mut self, other: Self) {
        self.required.retain(|name| other.required.contains(name));
        self.take(other.properties);
    }

    /// A property that has several schemas takes what any of them takes.
    fn take(&mut self, properties: Map<String, Value>) {
        for (name, schema) in properties {
            match self.properties.get_mut(&name) {
                None => {
                    self.properties.insert(name, schema);
                }
                Some(known) => *known = either(known.take(), schema),
            }
        }
    }

    /// Adds what the object itself does not say.
    fn put_into(self, object: &mut Map<String, Value>) {
        if self.properties.is_empty() && self.required.is_empty() {
            return;
        }
        let mut properties = object.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
        for (name, schema) in self.properties {
            properties.entry(name).or_insert(schema);
        }
        let mut required = object.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
        for name in self.required {
            if !required.contains(&name) {
                required.push(name);
            }
        }
        object.insert("properties".to_owned(), properties.into());
        if !required.is_empty() {
            object.insert("required".to_owned(), required.into());
        }
    }
}

fn either(one: Value, other: Value) -> Value {
    if one == other {
        return one;
    }
    let fixed = |schema: &Value| {
        let fields = schema
            .as_object()
            .filter(|fields| fields.keys().all(|key| key == "const" || key == "enum" || key == "type"))?;
        let one = fields.get("const").map(|value| vec![value.clone()]);
        one.or_else(|| fields.get("enum")?.as_array().cloned())
    };
    if let (Some(mut all), Some(more)) = (fixed(&one), fixed(&other)) {
        let new: Vec<Value> = more.into_iter().filter(|value| !all.contains(value)).collect();
        all.extend(new);
        return json!({ "enum": all });
    }
    let mut one = one;
    let choices = one.as_object_mut().filter(|fields| fields.len() == 1);
    let choices = choices.and_then(|fields| fields.get_mut("anyOf")).and_then(Value::as_array_mut);
    let mut all = match choices.map(std::mem::take) {
        Some(choices) => choices,
        None => vec![one],
    };
    if !all.contains(&other) {
        all.push(other);
    }
    json!({ "anyOf": all })
}

#[cfg(test)]
mod tests;
