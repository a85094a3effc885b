//! Partial output: the readable part of an output while the model writes it (acorn's `on_stream`).
//!
//! Each piece is read once, so that a long output costs no more than its length. Members only appear or grow; a number
//! or literal appears once it is whole. What is no JSON stops the reading: how the run ends says what became of it.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use windlass_core::text::{MAX_VALUES, steps};
use windlass_core::tool::{OUTPUT_FIELD, OutputForm, ToolKind};
use windlass_core::{ActionId, State, Text};
use windlass_models::Assembler;

/// A type whose values can be seen while they are being written: derive it with `#[derive(Partial)]`, which makes the
/// struct `Partial…` with all fields optional.
pub trait Partially {
    /// The partial output.
    type Partial: DeserializeOwned;
}

/// Maximum nesting depth, the same as for the complete output.
const MOST_NESTED: usize = 127;
/// A view is a copy of what is there: the next one comes after this share of it is new, so that all of them together
/// stay within a fixed multiple of the output's length.
const NEW_SHARE: usize = 256;
/// The same from [`LONG`] on: that multiple is four of a long output.
const NEW_SHARE_OF_LONG: usize = 4;
/// From so many bytes on an output is long (64 KiB).
const LONG: usize = 64 * 1024;

/// Follows the output of one reply.
#[derive(Debug)]
pub(crate) struct Partial {
    source: Source,
    reader: Reader,
    /// Bytes read.
    read: usize,
    /// Bytes read when the last view was given.
    emitted: usize,
}

/// Location of the output.
#[derive(Debug)]
enum Source {
    /// In the arguments of this tool; `true`: in their only field.
    Finish(Text, bool),
    /// In the text.
    Text,
    /// In the text, by schema: as the answer, or in the arguments of a call of this tool.
    Reply(Option<(Text, bool)>),
}

impl Source {
    /// The output in what stands so far.
    fn output(&self, view: Value) -> Option<Value> {
        let member = |value: Value, name: &str| match value {
            Value::Object(mut members) => members.remove(name),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
        };
        let field = |args: Value, only: bool| if only { member(args, OUTPUT_FIELD) } else { Some(args) };
        match self {
            Self::Text | Self::Finish(_, false) => Some(view),
            Self::Finish(_, true) => member(view, OUTPUT_FIELD),
            Self::Reply(None) => member(member(view, "reply")?, "answer"),
            Self::Reply(Some((name, only))) => {
                let call = member(view, "reply")?;
                let named = call.get("tool").and_then(Value::as_str) == Some(&**name);
                field(member(call, "arguments")?, *only).filter(|_| named)
            }
        }
    }
}

impl Partial {
    /// `None`: the run has no output.
    pub(crate) fn of(state: &State, action: ActionId) -> Option<Self> {
        let is_text = state.answers_with_output(action);
        let finish = state
            .finish_tool()
            .filter(|_| !is_text)
            .map(|tool| (tool.name.clone(), tool.kind == ToolKind::Finish(OutputForm::Value)));
        let source = match finish {
            finish if state.answer_pieces(action).is_some() && (finish.is_some() || is_text) => {
                Source::Reply(finish)
            }
            Some((name, only)) => Source::Finish(name, only),
            None if is_text => Source::Text,
            None => return None,
        };
        Some(Self { source, reader: Reader::default(), read: 0, emitted: 0 })
    }

    /// The value after another piece, if it changed. A complete output is not returned: it is shown once it is accepted.
    pub(crate) fn next(&mut self, reply: &Assembler) -> Option<Value> {
        let all = match &self.source {
            Source::Finish(name, _) => reply.args_of(name)?,
            Source::Text | Source::Reply(_) => reply.text(),
        };
        if all.len() < self.read {
            // The text so far was reasoning.
            *self = Self {
                source: std::mem::replace(&mut self.source, Source::Text),
                reader: Reader::default(),
                read: 0,
                emitted: 0,
            };
            return None;
        }
        self.reader.push(all.get(self.read..)?);
        self.read = all.len();
        if !self.is_due() {
            return None;
        }
        let view = self.source.output(self.reader.view()?)?;
        self.reader.news = false;
        self.emitted = self.read;
        Some(view)
    }
}

impl Partial {
    /// Whether enough is new for another view.
    fn is_due(&self) -> bool {
        let share = if self.read < LONG { NEW_SHARE } else { NEW_SHARE_OF_LONG };
        self.reader.news && !self.reader.is_over() && self.read - self.emitted >= self.read / share
    }
}

/// Token expected next, between values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Wanted {
    #[default]
    Value,
    /// The first item, or the end of the array.
    ValueOrEnd,
    Key,
    /// The first key, or the end of the object.
    KeyOrEnd,
    Colon,
    CommaOrEnd,
    /// The whole value was read.
    Nothing,
    /// Invalid JSON.
    Fault,
}

/// A value that has begun and not ended, around what is read now.
#[derive(Debug)]
enum Open {
    Object(Map<String, Value>, String),
    Array(Vec<Value>),
}

/// The token being read.
#[derive(Debug, Default)]
enum Token {
    #[default]
    None,
    Text {
        text: String,
        key: bool,
        escape: Escape,
    },
    /// A number or a literal.
    Bare(String),
}

/// Progress within an escape sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Escape {
    #[default]
    None,
    Begun,
    /// Digits read, their number, and the first half of a surrogate pair.
    Hex(u32, u8, Option<u32>),
    /// The second half of a pair must follow: whether its backslash has come.
    Pair(u32, bool),
}

/// Reads JSON piece by piece.
#[derive(Debug, Default)]
struct Reader {
    open: Vec<Open>,
    token: Token,
    wanted: Wanted,
    /// Whether there is more to see than in the last view.
    news: bool,
    /// Values that are whole.
    values: usize,
    /// Bytes read.
    bytes: usize,
}

impl Reader {
    fn push(&mut self, piece: &str) {
        for c in piece.chars() {
            if self.wanted == Wanted::Fault {
                return;
            }
            self.bytes += c.len_utf8();
            steps::add(c.len_utf8());
            self.take(c);
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.wanted, Wanted::Nothing | Wanted::Fault)
    }

    /// All that stands so far. `None`: nothing does.
    fn view(&self) -> Option<Value> {
        steps::add(self.bytes);
        let mut view = if let Token::Text { text, key: false, .. } = &self.token {
            Some(Value::String(text.clone()))
        } else {
            None
        };
        for open in self.open.iter().rev() {
            view = Some(match open {
                Open::Object(members, key) => {
                    let mut members = members.clone();
                    members.extend(view.map(|value| (key.clone(), value)));
                    Value::Object(members)
                }
                Open::Array(items) => Value::Array(items.iter().cloned().chain(view).collect()),
            });
        }
        view
    }

    fn take(&mut self, c: char) {
        match std::mem::take(&mut self.token) {
            Token::None => self.between(c),
            Token::Text { text, key, escape } => self.in_text(c, text, key, escape),
            Token::Bare(mut bare) if c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.') => {
                bare.push(c);
                self.token = Token::Bare(bare);
            }
            Token::Bare(bare) => {
                match serde_json::from_str(&bare) {
                    Ok(value) => self.close(value),
                    Err(_) => self.wanted = Wanted::Fault,
                }
                if self.wanted != Wanted::Fault {
                    self.between(c);
                }
            }
        }
    }

    fn between(&mut self, c: char) {
        use Wanted::{Colon, CommaOrEnd, Fault, Key, KeyOrEnd, Nothing, Value as Item, ValueOrEnd};
        if matches!(c, ' ' | '\t' | '\n' | '\r') || (self.open.is_empty() && c.is_whitespace()) {
            return;
        }
        self.wanted = match (self.wanted, c) {
            (Item | ValueOrEnd, '{' | '[') if self.open.len() >= MOST_NESTED => Fault,
            (Item | ValueOrEnd, '{') => {
                self.open.push(Open::Object(Map::new(), String::new()));
                self.news = true;
                KeyOrEnd
            }
            (Item | ValueOrEnd, '[') => {
                self.open.push(Open::Array(Vec::new()));
                self.news = true;
                ValueOrEnd
            }
            (Item | ValueOrEnd, '"') => {
                self.token = Token::Text { text: String::new(), key: false, escape: Escape::None };
                self.news = true;
                CommaOrEnd
            }
            (Item | ValueOrEnd, '-' | '0'..='9' | 'a'..='z') => {
                self.token = Token::Bare(c.to_string());
                CommaOrEnd
            }
            (Key | KeyOrEnd, '"') => {
                self.token = Token::Text { text: String::new(), key: true, escape: Escape::None };
                Colon
            }
            (Colon, ':') => Item,
            (CommaOrEnd, ',') => match self.open.last() {
                Some(Open::Object(..)) => Key,
                Some(Open::Array(_)) => Item,
                None => Fault,
            },
            (KeyOrEnd | CommaOrEnd, '}') | (ValueOrEnd | CommaOrEnd, ']') => {
                self.end(c);
                return;
            }
            (Nothing, _) => Nothing,
            _ => Fault,
        };
    }

    /// The innermost object or array ends.
    fn end(&mut self, c: char) {
        match (self.open.pop(), c) {
            (Some(Open::Object(members, _)), '}') => self.close(Value::Object(members)),
            (Some(Open::Array(items)), ']') => self.close(Value::Array(items)),
            _ => self.wanted = Wanted::Fault,
        }
    }

    /// A value is whole.
    fn close(&mut self, value: Value) {
        self.values += 1;
        if self.values > MAX_VALUES {
            // The whole output is refused too.
            self.wanted = Wanted::Fault;
            return;
        }
        self.wanted = Wanted::CommaOrEnd;
        self.news = true;
        match self.open.last_mut() {
            Some(Open::Object(members, key)) => {
                members.insert(std::mem::take(key), value);
            }
            Some(Open::Array(items)) => items.push(value),
            None => self.wanted = Wanted::Nothing,
        }
    }

    fn in_text(&mut self, c: char, mut text: String, key: bool, escape: Escape) {
        let before = text.len();
        let next = match (escape, c) {
            (Escape::None, '"') => return self.end_text(text, key),
            (Escape::None, '\\') => Some(Escape::Begun),
            (Escape::None, '\0'..='\u{1f}') => None,
            (Escape::None, _) => {
                text.push(c);
                Some(Escape::None)
            }
            (Escape::Begun, 'u') => Some(Escape::Hex(0, 0, None)),
            (Escape::Begun, _) => unescaped(c).map(|c| {
                text.push(c);
                Escape::None
            }),
            (Escape::Hex(digits, count, first), _) => {
                c.to_digit(16).and_then(|digit| hex(&mut text, digits * 16 + digit, count + 1, first))
            }
            (Escape::Pair(first, false), '\\') => Some(Escape::Pair(first, true)),
            (Escape::Pair(first, true), 'u') => Some(Escape::Hex(0, 0, Some(first))),
            (Escape::Pair(..), _) => None,
        };
        self.news |= !key && text.len() > before;
        match next {
            Some(escape) => self.token = Token::Text { text, key, escape },
            None => self.wanted = Wanted::Fault,
        }
    }

    fn end_text(&mut self, text: String, is_key: bool) {
        if !is_key {
            return self.close(Value::String(text));
        }
        match self.open.last_mut() {
            // A name that comes twice would take back what was seen.
            Some(Open::Object(members, key)) if !members.contains_key(&text) => *key = text,
            _ => self.wanted = Wanted::Fault,
        }
    }
}

/// The character that a one-character escape denotes.
fn unescaped(c: char) -> Option<char> {
    Some(match c {
        '"' | '\\' | '/' => c,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        _ => return None,
    })
}

/// After another digit of an escaped code unit. `None`: these are no characters.
fn hex(text: &mut String, digits: u32, count: u8, first: Option<u32>) -> Option<Escape> {
    if count < 4 {
        return Some(Escape::Hex(digits, count, first));
    }
    let code = match (first, digits) {
        (None, 0xD800..=0xDBFF) => return Some(Escape::Pair(digits, false)),
        (None, _) => digits,
        (Some(first), 0xDC00..=0xDFFF) => 0x10000 + ((first - 0xD800) << 10) + (digits - 0xDC00),
        (Some(_), _) => return None,
    };
    text.push(char::from_u32(code)?);
    Some(Escape::None)
}

#[cfg(test)]
mod tests;
