//! Values as people see them in questions: what will be used, in one line, bounded, and so that no two values that
//! differ look the same unless something is visibly left out.

pub mod plain;
pub mod unseen;

use std::fmt::Write as _;

use serde_json::Value;

use crate::display::unseen::is_unseen;
use crate::json::{given_args, read};

/// The most characters of a value in a question; what begins before may end a little later.
const MAX_SHOWN: usize = 4_000;
/// The most characters of one text in a value.
const MAX_TEXT: usize = 1_500;
/// The most characters of a name or an id.
const MAX_NAME: usize = 64;
/// The most marks in a row on one letter: more would be drawn over the lines around it.
const MAX_MARKS: u32 = 3;

/// A value as compact JSON. Characters that cannot be seen, or that reorder others, are written as `\u` and four digits. What is left
/// out of a long text stands between its ends, outside of the quotes.
pub fn display_value(value: &Value) -> String {
    let mut out = Rendering::default();
    out.value(value);
    out.text
}

/// The arguments of a call for people: the parsed value, not the model's text. Invalid JSON is shown as a string.
pub fn display_args(args: &str) -> String {
    display_value(&read(given_args(args)).unwrap_or_else(|_| args.into()))
}

/// A name or an id as people see it: without quotes, if all of it is plain.
pub fn display_name(name: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_-.:/".contains(char);
    if !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(plain) {
        return name.to_owned();
    }
    let mut out = Rendering::default();
    out.quoted(name, MAX_NAME);
    out.text
}

#[derive(Default)]
struct Rendering {
    text: String,
    /// Length of `text` in characters.
    length: usize,
}

impl Rendering {
    fn push(&mut self, text: &str) {
        self.length += text.chars().count();
        self.text.push_str(text);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => self.push(&value.to_string()),
            Value::String(text) => self.quoted(text, MAX_TEXT),
            Value::Array(items) => {
                let each = items.iter().map(|item| (None, item));
                self.members(['[', ']'], items.len(), each);
            }
            Value::Object(fields) => {
                let each = fields.iter().map(|(key, value)| (Some(key.as_str()), value));
                self.members(['{', '}'], fields.len(), each);
            }
        }
    }

    fn members<'v>(
        &mut self,
        [open, close]: [char; 2],
        count: usize,
        each: impl Iterator<Item = (Option<&'v str>, &'v Value)>,
    ) {
        self.push(open.encode_utf8(&mut [0; 4]));
        for (place, (key, value)) in each.enumerate() {
            if place > 0 {
                self.push(",");
            }
            if self.length >= MAX_SHOWN {
                self.push(&format!("…({} more left out)…", count - place));
                break;
            }
            if let Some(key) = key {
                self.quoted(key, MAX_TEXT);
                self.push(":");
            }
            self.value(value);
        }
        self.push(close.encode_utf8(&mut [0; 4]));
    }

    /// A text in quotes; of a long one both ends.
    fn quoted(&mut self, text: &str, most: usize) {
        let most = most.min(MAX_SHOWN.saturating_sub(self.length)).max(MAX_NAME);
        let Some((middle, _)) = text.char_indices().nth(most) else { return self.escaped(text) };
        // Of the end a quarter: a look from behind, over no more than what is shown.
        let (tail, _) = text.char_indices().rev().nth(most / 4).unwrap_or((middle, ' '));
        let head = text.char_indices().nth(most - most / 4).map_or(middle, |(at, _)| at);
        let tail = tail.max(head);
        self.escaped(text.get(..head).unwrap_or_default());
        self.push(&format!("…({} bytes left out)…", tail - head));
        self.escaped(text.get(tail..).unwrap_or_default());
    }

    fn escaped(&mut self, text: &str) {
        self.push("\"");
        let mut marks = u32::MAX;
        for char in text.chars() {
            match char {
                '"' => self.push("\\\""),
                '\\' => self.push("\\\\"),
                '\n' => self.push("\\n"),
                '\r' => self.push("\\r"),
                '\t' => self.push("\\t"),
                _ => {
                    marks = if is_mark(char) { marks.saturating_add(1) } else { 0 };
                    if is_seen(char) && marks <= MAX_MARKS {
                        self.push(char.encode_utf8(&mut [0; 4]));
                    } else {
                        self.unit(char);
                    }
                    continue;
                }
            }
            // A mark after an escape would be drawn onto it.
            marks = u32::MAX;
        }
        self.push("\"");
    }

    fn unit(&mut self, char: char) {
        for unit in char.encode_utf16(&mut [0; 2]) {
            self.length += 6;
            // Writing to a text cannot fail.
            let _infallible = write!(self.text, "\\u{unit:04x}");
        }
    }
}

/// Whether it is drawn onto the character before it.
fn is_mark(char: char) -> bool {
    // The standard library knows: it escapes such a character where it stands alone, and not after another one.
    char.escape_debug().len() > 1 && is_printed(char)
}

/// Whether it is printed after another character: no control, no format character, no separator but the space, no
/// private or unassigned one.
fn is_printed(char: char) -> bool {
    let mut after = [0; 5];
    let (first, rest) = after.split_at_mut(1);
    first.copy_from_slice(b"a");
    let length = char.encode_utf8(rest).len();
    let text = after.get(..=length).and_then(|bytes| std::str::from_utf8(bytes).ok());
    text.is_some_and(|text| text.escape_debug().count() == 2)
}

/// Whether it can be seen: it is printed and leaves a mark of its own, which the blank pattern of Braille does not.
fn is_seen(char: char) -> bool {
    !is_unseen(char) && char != '\u{2800}' && (char == '\'' || is_printed(char))
}
