//! Taking a tree apart: each step knows its path, so that what does not fit can be named.

use serde_json::Value;
use windlass_core::text::nearest;

use super::error::{Problem, YamlError};
use super::node::{Key, Node, NodeValue, Place};

/// A value on its way into a type, with its path.
#[derive(Clone, Debug)]
pub struct Field<'n> {
    /// The value.
    pub node: &'n Node,
    /// Its dotted path; empty for the document.
    pub path: String,
}

/// Takes a map apart: every key is taken once, and [`MapReader::finish`] refuses what is left.
#[derive(Debug)]
pub struct MapReader<'n> {
    path: String,
    place: Place,
    entries: &'n [(Key, Node)],
    known: Vec<String>,
}

impl<'n> Field<'n> {
    /// The document itself.
    pub fn root(node: &'n Node) -> Self {
        Self { node, path: String::new() }
    }

    /// A value with its path.
    pub fn new(node: &'n Node, path: impl Into<String>) -> Self {
        Self { node, path: path.into() }
    }

    /// The text.
    pub fn text(&self) -> Result<&'n str, YamlError> {
        self.node.as_str().ok_or_else(|| self.wrong("a text"))
    }

    /// The text, which must not be empty.
    pub fn filled_text(&self) -> Result<&'n str, YamlError> {
        self.text().and_then(|text| {
            if text.trim().is_empty() { Err(self.wrong("a non-empty text")) } else { Ok(text) }
        })
    }

    /// A text; numbers and truth values are taken as they would be printed.
    pub fn loose_text(&self) -> Result<String, YamlError> {
        match &self.node.value {
            NodeValue::String(text) => Ok(text.clone()),
            NodeValue::Int(number) => Ok(number.to_string()),
            NodeValue::Float(number) => Ok(number.to_string()),
            NodeValue::Bool(flag) => Ok(flag.to_string()),
            NodeValue::Null | NodeValue::List(_) | NodeValue::Map(_) => Err(self.wrong("a text")),
        }
    }

    /// True or false.
    pub fn bool(&self) -> Result<bool, YamlError> {
        if let NodeValue::Bool(flag) = self.node.value { Ok(flag) } else { Err(self.wrong("true or false")) }
    }

    /// A whole number from 0.
    pub fn u64(&self) -> Result<u64, YamlError> {
        self.u64_in(0, u64::MAX)
    }

    /// A whole number from 0 to 2³² - 1.
    pub fn u32(&self) -> Result<u32, YamlError> {
        self.u64_in(0, u64::from(u32::MAX)).map(|number| number as u32)
    }

    /// A whole number within bounds, both allowed.
    pub fn u64_in(&self, least: u64, most: u64) -> Result<u64, YamlError> {
        let whole = match self.node.value {
            NodeValue::Int(number) => u64::try_from(number).ok(),
            // 2e3 is a whole number, too.
            NodeValue::Float(number) if number >= 0.0 && number.fract() == 0.0 && number < 9.0e15 => {
                Some(number as u64)
            }
            NodeValue::Null
            | NodeValue::Bool(_)
            | NodeValue::Float(_)
            | NodeValue::String(_)
            | NodeValue::List(_)
            | NodeValue::Map(_) => None,
        };
        whole.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
            let upper = if most >= u64::from(u32::MAX) { String::new() } else { format!(" to {most}") };
            self.wrong(&format!("a whole number from {least}{upper}"))
        })
    }

    /// A number.
    pub fn f64(&self) -> Result<f64, YamlError> {
        match self.node.value {
            NodeValue::Int(number) => Ok(number as f64),
            NodeValue::Float(number) => Ok(number),
            NodeValue::Null
            | NodeValue::Bool(_)
            | NodeValue::String(_)
            | NodeValue::List(_)
            | NodeValue::Map(_) => Err(self.wrong("a number")),
        }
    }

    /// A number from 0.
    pub fn f64_from_zero(&self) -> Result<f64, YamlError> {
        self.f64().ok().filter(|number| *number >= 0.0).ok_or_else(|| self.wrong("a number from 0"))
    }

    /// The items of a list.
    pub fn list(&self) -> Result<Vec<Field<'n>>, YamlError> {
        if let NodeValue::List(items) = &self.node.value {
            Ok(items
                .iter()
                .enumerate()
                .map(|(at, item)| Field { node: item, path: join(&self.path, &at.to_string()) })
                .collect())
        } else {
            Err(self.wrong("a list"))
        }
    }

    /// A list of texts.
    pub fn texts(&self) -> Result<Vec<String>, YamlError> {
        self.list()
            .map_err(|_| self.wrong("a list of texts"))?
            .iter()
            .map(|item| item.text().map(str::to_owned))
            .collect()
    }

    /// A text, or a list of texts.
    pub fn text_or_texts(&self) -> Result<Vec<String>, YamlError> {
        match &self.node.value {
            NodeValue::String(text) => Ok(vec![text.clone()]),
            NodeValue::List(_) => self.texts(),
            NodeValue::Null
            | NodeValue::Bool(_)
            | NodeValue::Int(_)
            | NodeValue::Float(_)
            | NodeValue::Map(_) => Err(self.wrong("a text or a list of texts")),
        }
    }

    /// A map with keys that are known beforehand.
    pub fn map(&self) -> Result<MapReader<'n>, YamlError> {
        if let NodeValue::Map(entries) = &self.node.value {
            Ok(MapReader { path: self.path.clone(), place: self.node.place(), entries, known: Vec::new() })
        } else {
            Err(self.wrong("a map"))
        }
    }

    /// The entries of a map whose keys are names of the writer's own.
    pub fn entries(&self) -> Result<Vec<(&'n Key, Field<'n>)>, YamlError> {
        if let NodeValue::Map(entries) = &self.node.value {
            Ok(entries
                .iter()
                .map(|(key, value)| (key, Field { node: value, path: join(&self.path, &key.name) }))
                .collect())
        } else {
            Err(self.wrong("a map"))
        }
    }

    /// One of several words.
    pub fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, YamlError> {
        let found = self.node.as_str().and_then(|text| choices.iter().find(|(name, _)| *name == text));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            self.wrong(&one_of(&names))
        })
    }

    /// The one of these values that has that name.
    pub fn named<T: Copy>(&self, all: &[T], name: fn(T) -> &'static str) -> Result<T, YamlError> {
        self.choice(&all.iter().map(|value| (name(*value), *value)).collect::<Vec<_>>())
    }

    /// The value as JSON.
    pub fn json(&self) -> Value {
        self.node.to_json()
    }

    /// The value as JSON, which must be an object.
    pub fn json_object(&self) -> Result<serde_json::Map<String, Value>, YamlError> {
        if let Value::Object(map) = self.node.to_json() { Ok(map) } else { Err(self.wrong("a map")) }
    }

    /// The error that this value is something else than expected. Shows small values.
    pub fn wrong(&self, expected: &str) -> YamlError {
        self.mismatch(expected, self.node.describe())
    }

    /// The same without the value: for places that may hold secrets.
    pub fn wrong_kind(&self, expected: &str) -> YamlError {
        self.mismatch(expected, self.node.kind().to_owned())
    }

    /// Another error at this value.
    pub fn error(&self, code: &'static str, message: impl Into<String>) -> YamlError {
        YamlError::new(
            self.node.place(),
            self.path.clone(),
            Problem::Other { code, message: message.into(), help: None },
        )
    }

    fn mismatch(&self, expected: &str, found: String) -> YamlError {
        let problem = Problem::WrongValue { path: self.path.clone(), expected: expected.to_owned(), found };
        YamlError::new(self.node.place(), self.path.clone(), problem)
    }
}

impl<'n> MapReader<'n> {
    /// The map's path.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Position of the map.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The value of a key, if it is there. A key without a value is there, with nothing in it.
    pub fn optional(&mut self, key: &str) -> Option<Field<'n>> {
        self.known.push(key.to_owned());
        let entries = self.entries;
        entries
            .iter()
            .find(|(name, _)| name.name == key)
            .map(|(_, node)| Field { node, path: join(&self.path, key) })
    }

    /// The value of a key that must be there.
    pub fn required(&mut self, key: &str) -> Result<Field<'n>, YamlError> {
        self.optional(key).ok_or_else(|| self.missing(key))
    }

    /// Reads the key's value with `read`, if the key is present.
    pub fn maybe<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(Field<'n>) -> Result<T, YamlError>,
    ) -> Result<Option<T>, YamlError> {
        self.optional(key).map(read).transpose()
    }

    /// Reads the key's value with `read`, or returns a default.
    pub fn or<T>(
        &mut self,
        key: &str,
        default: T,
        read: impl FnOnce(Field<'n>) -> Result<T, YamlError>,
    ) -> Result<T, YamlError> {
        Ok(self.maybe(key, read)?.unwrap_or(default))
    }

    /// Lets these keys stand without looking at them.
    pub fn allow(&mut self, keys: &[&str]) {
        self.known.extend(keys.iter().map(|key| (*key).to_owned()));
    }

    /// Whether the map has that key; does not take it.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, _)| name.name == key)
    }

    /// The keys that are there, in order.
    pub fn keys(&self) -> impl Iterator<Item = &'n Key> {
        let entries = self.entries;
        entries.iter().map(|(key, _)| key)
    }

    /// Refuses the first unread key; the keys that were asked for are the known ones.
    pub fn finish(self) -> Result<(), YamlError> {
        let unknown = self.entries.iter().find(|(key, _)| !self.known.contains(&key.name));
        let Some((key, _)) = unknown else { return Ok(()) };
        let problem = Problem::UnknownKey {
            path: self.path.clone(),
            key: key.name.clone(),
            nearest: nearest(&key.name, self.known.iter().map(String::as_str)),
            known: self.known,
        };
        Err(YamlError::new(key.place(), join(&self.path, &key.name), problem))
    }

    /// The error that a key is missing.
    pub fn missing(&self, key: &str) -> YamlError {
        let problem = Problem::MissingKey { path: self.path.clone(), key: key.to_owned() };
        YamlError::new(self.place, join(&self.path, key), problem)
    }

    /// Another error at this map.
    pub fn error(&self, code: &'static str, message: impl Into<String>) -> YamlError {
        YamlError::new(
            self.place,
            self.path.clone(),
            Problem::Other { code, message: message.into(), help: None },
        )
    }
}

pub(super) fn join(path: &str, step: &str) -> String {
    if path.is_empty() { step.to_owned() } else { format!("{path}.{step}") }
}

pub(super) fn one_of(names: &[&str]) -> String {
    match names {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
