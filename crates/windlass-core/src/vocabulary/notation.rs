//! Notations of arguments in a text.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use windlass_text::steps::{self, Scan};

use crate::vocabulary::ids::Text;
use crate::vocabulary::readings::{ReadAs, Reading, Readings, value_of};

/// Maximum nesting depth of values in a `name(arg=…)` form.
pub(crate) const MOST_DEPTH: usize = 32;

/// Arguments that a text holds in another notation than JSON, as JSON. `None`: they are not written so.
pub(crate) fn keys_and_values(part: &str, notation: Notation, readings: &Readings) -> Option<String> {
    let mut scan = Scan::new(part);
    let mut reading = Reading::Stored(readings);
    match notation {
        Notation::Python => python_args(&mut scan, &mut reading),
        Notation::Tags => tagged_args(&mut scan, &mut reading),
        Notation::Json | Notation::Task => None,
    }
}

/// All of `<arg_key>k</arg_key><arg_value>v</arg_value>…` as JSON.
pub(crate) fn tagged_args(scan: &mut Scan<'_>, reading: &mut Reading<'_>) -> Option<String> {
    let mut args = Args::default();
    while !scan.is_empty() {
        let key = if scan.take("<arg_key>") { scan.until("</arg_key>")? } else { return None };
        scan.skip_space();
        let value = if scan.take("<arg_value>") { scan.until("</arg_value>")? } else { return None };
        let key = key.trim();
        let (out, from) = args.key(key)?;
        steps::add(value.len());
        match serde_json::from_str::<&RawValue>(value.trim()) {
            Ok(value) => out.push_str(value.get()),
            Err(_) => quoted(out, value)?,
        }
        read_so(out, from, reading.of(key, out.get(from..)?), value)?;
        scan.skip_space();
    }
    Some(args.finish())
}

/// `arg="v", other=2)` as JSON.
pub(crate) fn python_args(scan: &mut Scan<'_>, reading: &mut Reading<'_>) -> Option<String> {
    let mut args = Args::default();
    loop {
        scan.skip_space();
        if scan.take(")") {
            return Some(args.finish());
        }
        let key = scan.pass_while(|c| c.is_ascii_alphanumeric() || c == '_');
        scan.skip_space();
        if key.is_empty() || !scan.take("=") {
            return None;
        }
        scan.skip_space();
        let (before, (out, from)) = (scan.rest(), args.key(key)?);
        value(scan, out, 0)?;
        read_so(out, from, reading.of(key, out.get(from..)?), scan.since(before))?;
        between(scan, ")")?;
    }
}

/// Replaces the value that was written last, from that byte on, if it is read otherwise; `raw` is its text.
fn read_so(out: &mut String, from: usize, read: Option<ReadAs>, raw: &str) -> Option<()> {
    match read {
        None => {}
        Some(ReadAs::Text) => {
            out.truncate(from);
            quoted(out, raw)?;
        }
        Some(ReadAs::Value) => {
            let text: String = serde_json::from_str(out.get(from..)?).ok()?;
            out.truncate(from);
            out.push_str(&value_of(&text)?);
        }
    }
    Some(())
}

/// A comma, unless the end comes next.
fn between(scan: &mut Scan<'_>, end: &str) -> Option<()> {
    scan.skip_space();
    (scan.take(",") || scan.rest().starts_with(end)).then_some(())
}

/// Arguments that are being written as a JSON object.
#[derive(Default)]
struct Args<'t> {
    json: String,
    keys: BTreeSet<&'t str>,
}

impl<'t> Args<'t> {
    /// Begins a member: gives the text and the byte where the value begins. `None`: the name is a duplicate.
    fn key(&mut self, name: &'t str) -> Option<(&mut String, usize)> {
        if !self.keys.insert(name) {
            return None;
        }
        self.json.push(if self.json.is_empty() { '{' } else { ',' });
        quoted(&mut self.json, name)?;
        self.json.push(':');
        let from = self.json.len();
        Some((&mut self.json, from))
    }

    fn finish(mut self) -> String {
        self.json.push_str(if self.json.is_empty() { "{}" } else { "}" });
        self.json
    }
}

fn quoted(out: &mut String, text: &str) -> Option<()> {
    out.push_str(&serde_json::to_string(text).ok()?);
    Some(())
}

/// A value as Python writes it, written as JSON.
fn value(scan: &mut Scan<'_>, out: &mut String, depth: usize) -> Option<()> {
    if depth > MOST_DEPTH {
        return None;
    }
    scan.skip_space();
    match scan.peek()? {
        quote @ ('"' | '\'') => string(scan, out, quote),
        '[' => list(scan, out, depth),
        '{' => map(scan, out, depth),
        _ => word(scan, out),
    }
}

fn string(scan: &mut Scan<'_>, out: &mut String, quote: char) -> Option<()> {
    scan.pass(1)?;
    let mut text = String::new();
    let mut chars = scan.rest().char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => text.push(match chars.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            }),
            c if c == quote => {
                scan.pass(at + c.len_utf8())?;
                return quoted(out, &text);
            }
            c => text.push(c),
        }
    }
    scan.pass(scan.rest().len())?;
    None
}

fn list(scan: &mut Scan<'_>, out: &mut String, depth: usize) -> Option<()> {
    scan.pass(1)?;
    out.push('[');
    let mut first = true;
    loop {
        scan.skip_space();
        if scan.take("]") {
            out.push(']');
            return Some(());
        }
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        value(scan, out, depth + 1)?;
        between(scan, "]")?;
    }
}

fn map(scan: &mut Scan<'_>, out: &mut String, depth: usize) -> Option<()> {
    scan.pass(1)?;
    out.push('{');
    let mut first = true;
    loop {
        scan.skip_space();
        if scan.take("}") {
            out.push('}');
            return Some(());
        }
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        let quote = scan.peek().filter(|c| matches!(c, '"' | '\''))?;
        string(scan, out, quote)?;
        scan.skip_space();
        if !scan.take(":") {
            return None;
        }
        out.push(':');
        value(scan, out, depth + 1)?;
        between(scan, "}")?;
    }
}

fn word(scan: &mut Scan<'_>, out: &mut String) -> Option<()> {
    let word = scan.pass_while(|c| !(matches!(c, ',' | ')' | ']' | '}') || c.is_whitespace()));
    match word {
        "True" | "true" => out.push_str("true"),
        "False" | "false" => out.push_str("false"),
        "None" | "null" => out.push_str("null"),
        number => out.push_str(&serde_json::from_str::<serde_json::Number>(number).ok()?.to_string()),
    }
    Some(())
}

/// Notation of arguments in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Notation {
    /// A JSON object: they are what stands there.
    #[default]
    Json,
    /// The JSON text of a task: the one argument `task`.
    Task,
    /// `a=1, b="x")`.
    Python,
    /// `<arg_key>a</arg_key><arg_value>1</arg_value>`.
    Tags,
}

impl Notation {
    /// The arguments as JSON. `None`: they stand there as JSON, or are not written so.
    pub(crate) fn json(self, part: &str, readings: &Readings) -> Option<Text> {
        match self {
            Self::Json => None,
            Self::Task => Some(format!("{{\"task\":{part}}}").into()),
            Self::Python | Self::Tags => keys_and_values(part, self, readings).map(Text::from),
        }
    }
}
