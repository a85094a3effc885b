//! Text forms of tool calls: what models without native calls write into their text.
//!
//! A form counts only when the whole reply (or, where there is no text, the whole reasoning) is made of calls of offered
//! tools; anything else is text. Read are SwiftAgentKit's four forms (`name(arg="v")`, `{"type":"function",…}`,
//! `<|python_tag|>…<|eom_id|>`, `<|python_start|>…<|python_end|>`) and acorn's
//! `<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`, whose body may also be JSON (Hermes).

use serde_json::{Map, Value};

use crate::ids::Text;
use crate::reply::ReplyCall;
use crate::tool::ToolSpec;

/// The most calls that one reply's text may hold.
const MOST_CALLS: usize = 64;
/// How deep values of a `name(arg=…)` form may nest.
const MOST_DEPTH: usize = 32;

/// A call as a wire's text form gave it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadCall {
    pub(crate) call: ReplyCall,
    /// Whether it hands a task to another agent.
    pub(crate) delegate: bool,
    /// What is wrong with it, where it could not be read.
    pub(crate) fault: Option<Text>,
}

impl From<ReplyCall> for ReadCall {
    fn from(call: ReplyCall) -> Self {
        Self { call, ..Self::default() }
    }
}

/// The calls that the whole text, or without text the whole reasoning, is made of.
pub(crate) fn calls_in(
    text: Option<&str>,
    reasoning: Option<&str>,
    tools: &[ToolSpec],
) -> Option<Vec<ReplyCall>> {
    let source = match text.map(str::trim) {
        Some(text) if !text.is_empty() => text,
        _ => reasoning?.trim(),
    };
    // Most replies are prose: one look at the first byte spares them the parsers.
    let first = *source.as_bytes().first()?;
    if !(first == b'{' || first == b'<' || first == b'_' || first.is_ascii_alphabetic()) {
        return None;
    }
    let offered = |name: &str| tools.iter().any(|tool| tool.offered && *tool.name == *name);
    let mut rest = source;
    let mut calls = Vec::new();
    while !rest.is_empty() {
        let (call, after) = one(rest)?;
        if !offered(&call.name) || calls.len() >= MOST_CALLS {
            return None;
        }
        calls.push(call);
        rest = after.trim_start();
    }
    (!calls.is_empty()).then_some(calls)
}

fn one(text: &str) -> Option<(ReplyCall, &str)> {
    if let Some(rest) = text.strip_prefix("<tool_call>") {
        let (body, after) = rest.split_once("</tool_call>")?;
        return Some((tagged(body.trim())?, after));
    }
    if let Some(rest) = text.strip_prefix("<|python_tag|>") {
        let (body, after) = rest.split_once("<|eom_id|>").unwrap_or((rest, ""));
        return Some((whole(body.trim())?, after));
    }
    if let Some(rest) = text.strip_prefix("<|python_start|>") {
        let (body, after) = rest.split_once("<|python_end|>")?;
        return Some((whole(body.trim())?, after));
    }
    if text.starts_with('{') { json(text) } else { python(text) }
}

fn whole(body: &str) -> Option<ReplyCall> {
    let (call, after) = if body.starts_with('{') { json(body)? } else { python(body)? };
    after.trim().is_empty().then_some(call)
}

fn call(name: &str, args: &Map<String, Value>) -> Option<ReplyCall> {
    let args = serde_json::to_string(args).ok()?;
    Some(ReplyCall { id: None, name: name.into(), args: args.into() })
}

/// `{"type":"function","name":…,"parameters":{…}}`, also with `arguments`, also without `type`.
fn json(text: &str) -> Option<(ReplyCall, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Map<String, Value>>();
    let map = values.next()?.ok()?;
    let after = text.get(values.byte_offset()..)?;
    let known = ["type", "name", "parameters", "arguments"];
    let function = map.get("type").is_none_or(|kind| kind == "function");
    if !function || map.keys().any(|key| !known.contains(&key.as_str())) {
        return None;
    }
    let name = map.get("name")?.as_str()?;
    let args = map.get("parameters").or_else(|| map.get("arguments"))?.as_object()?;
    Some((call(name, args)?, after))
}

/// acorn's keys and values, or Hermes' JSON, between the tags.
fn tagged(body: &str) -> Option<ReplyCall> {
    if body.starts_with('{') {
        let (call, after) = json(body)?;
        return after.trim().is_empty().then_some(call);
    }
    let (name, mut rest) = match body.find("<arg_key>") {
        Some(at) => (body.get(..at)?, body.get(at..)?),
        None => (body, ""),
    };
    let mut args = Map::new();
    while !rest.is_empty() {
        let (key, after) = rest.strip_prefix("<arg_key>")?.split_once("</arg_key>")?;
        let (value, after) = after.trim_start().strip_prefix("<arg_value>")?.split_once("</arg_value>")?;
        let value = serde_json::from_str(value.trim()).unwrap_or_else(|_| Value::String(value.to_owned()));
        args.insert(key.trim().to_owned(), value);
        rest = after.trim_start();
    }
    call(name.trim(), &args)
}

/// `name(arg="v", other=2)`.
fn python(text: &str) -> Option<(ReplyCall, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))?;
    let (name, rest) = text.split_at(end);
    let mut reader = Reader { rest: rest.strip_prefix('(')? };
    let mut args = Map::new();
    loop {
        reader.skip_space();
        if reader.take(')') {
            break;
        }
        let key = reader.identifier()?;
        reader.skip_space();
        if !reader.take('=') {
            return None;
        }
        args.insert(key, reader.value(0)?);
        reader.skip_space();
        if !reader.take(',') && !reader.rest.starts_with(')') {
            return None;
        }
    }
    Some((call(name, &args)?, reader.rest))
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, wanted: char) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn identifier(&mut self) -> Option<String> {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))?;
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MOST_DEPTH {
            return None;
        }
        self.skip_space();
        match self.rest.chars().next()? {
            quote @ ('"' | '\'') => self.string(quote).map(Value::String),
            '[' => self.list(depth),
            '{' => self.map(depth),
            _ => self.word(),
        }
    }

    fn string(&mut self, quote: char) -> Option<String> {
        self.take(quote);
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '\\' => text.push(match chars.next()?.1 {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    other => other,
                }),
                c if c == quote => {
                    self.rest = self.rest.get(at + c.len_utf8()..)?;
                    return Some(text);
                }
                c => text.push(c),
            }
        }
        None
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.take('[');
        let mut items = Vec::new();
        loop {
            self.skip_space();
            if self.take(']') {
                return Some(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if !self.take(',') && !self.rest.starts_with(']') {
                return None;
            }
        }
    }

    fn map(&mut self, depth: usize) -> Option<Value> {
        self.take('{');
        let mut map = Map::new();
        loop {
            self.skip_space();
            if self.take('}') {
                return Some(Value::Object(map));
            }
            let Value::String(key) = self.value(depth + 1)? else { return None };
            self.skip_space();
            if !self.take(':') {
                return None;
            }
            map.insert(key, self.value(depth + 1)?);
            self.skip_space();
            if !self.take(',') && !self.rest.starts_with('}') {
                return None;
            }
        }
    }

    fn word(&mut self) -> Option<Value> {
        let end = self.rest.find(|c: char| matches!(c, ',' | ')' | ']' | '}') || c.is_whitespace())?;
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        match word {
            "True" | "true" => Some(Value::Bool(true)),
            "False" | "false" => Some(Value::Bool(false)),
            "None" | "null" => Some(Value::Null),
            number => serde_json::from_str::<serde_json::Number>(number).ok().map(Value::Number),
        }
    }
}

#[cfg(test)]
mod tests;
