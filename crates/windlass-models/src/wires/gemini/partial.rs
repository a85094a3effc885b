//! Owns a call whose arguments come in pieces: values with a JSON path each (Vertex AI, `FunctionCall.partialArgs`).

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::shapes::PartialArg;

/// The most steps of one path.
const MAX_STEPS: usize = 64;

/// A call that is still open.
#[derive(Debug)]
pub(super) struct OpenCall {
    /// Its number in the reply.
    pub(super) index: u32,
    /// Its place in the layout.
    pub(super) place: Option<usize>,
    /// The id that the provider gave.
    pub(super) id: Option<String>,
    pub(super) name: String,
    args: Value,
}

impl OpenCall {
    pub(super) fn new(index: u32, place: Option<usize>, id: Option<String>, name: String) -> Self {
        Self { index, place, id, name, args: Value::Object(Map::new()) }
    }

    /// Adds a piece: a string grows, another value is set. `false`: its path names no place.
    pub(super) fn add(&mut self, piece: PartialArg) -> bool {
        let Some(slot) = place(&mut self.args, &piece.json_path) else { return false };
        match (piece.string_value, piece.number_value, piece.bool_value, slot) {
            (Some(more), _, _, Value::String(text)) => text.push_str(&more),
            (Some(text), _, _, slot) => *slot = Value::String(text),
            (None, Some(number), _, slot) => *slot = Value::Number(number),
            (None, None, Some(flag), slot) => *slot = Value::Bool(flag),
            // `nullValue`, or a value that is empty so far.
            (None, None, None, _) => {}
        }
        true
    }

    /// The arguments as JSON text.
    pub(super) fn args(&self) -> String {
        self.args.to_string()
    }

    /// The arguments of a call that was cut: without their last bracket, so that nobody takes them for whole.
    pub(super) fn cut_args(&self) -> String {
        let mut args = self.args();
        args.pop();
        args
    }
}

/// The value at a path (RFC 9535: names and indices only), made where it is not there yet. `None`: the path is none, or leads
/// through a value that has no such part.
fn place<'v>(root: &'v mut Value, path: &str) -> Option<&'v mut Value> {
    let mut rest = path.trim().strip_prefix('$')?;
    let mut value = root;
    for _ in 0..MAX_STEPS {
        if rest.is_empty() {
            return Some(value);
        }
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, behind) = after.split_at_checked(end).filter(|(name, _)| !name.is_empty())?;
            value = member(value, name)?;
            rest = behind;
            continue;
        }
        let after = rest.strip_prefix('[')?;
        if let Some(quote) = after.chars().next().filter(|quote| matches!(quote, '"' | '\'')) {
            let (name, behind) = quoted(after.get(1..)?, quote)?;
            value = member(value, &name)?;
            rest = behind.strip_prefix(']')?;
        } else {
            let (number, behind) = after.split_once(']')?;
            value = element(value, number.trim().parse().ok()?)?;
            rest = behind;
        }
    }
    None
}

fn member<'v>(value: &'v mut Value, name: &str) -> Option<&'v mut Value> {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    let map = value.as_object_mut()?;
    if !map.contains_key(name) {
        map.insert(name.to_owned(), Value::Null);
    }
    map.get_mut(name)
}

/// The element of a list, which grows by one at a time.
fn element(value: &mut Value, at: usize) -> Option<&mut Value> {
    if value.is_null() {
        *value = Value::Array(Vec::new());
    }
    let list = value.as_array_mut()?;
    if at == list.len() {
        list.push(Value::Null);
    }
    list.get_mut(at)
}

/// A name in quotes, up to the closing one, with the escapes of JSON and `\'`.
fn quoted(text: &str, quote: char) -> Option<(Cow<'_, str>, &str)> {
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        if character == quote && !escaped {
            let (name, behind) = text.split_at_checked(at)?;
            let behind = behind.get(1..)?;
            if !name.contains('\\') {
                return Some((Cow::Borrowed(name), behind));
            }
            let json = format!("\"{}\"", name.replace("\\'", "'"));
            return serde_json::from_str(&json).ok().map(|name: String| (Cow::Owned(name), behind));
        }
        escaped = !escaped && character == '\\';
    }
    None
}

#[cfg(test)]
mod tests;
