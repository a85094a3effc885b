//! Text forms of tool calls: what models without native calls write into their text.
//!
//! A form counts only when the whole reply (or, where there is no text, the whole reasoning) is made of calls of offered
//! tools; anything else is text. Read are SwiftAgentKit's four forms (`name(arg="v")`, `{"type":"function",…}`,
//! `<|python_tag|>…<|eom_id|>`, `<|python_start|>…<|python_end|>`) and acorn's
//! `<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`, whose body may also be JSON (Hermes).

pub(crate) mod readings;

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::call_args::{CallArgs, Notation, Span};
use crate::ids::Text;
use crate::message::CallTarget;
use crate::reply::ReplyCall;
use crate::tool::ToolSpec;
use windlass_text::steps::{Scan, Steps};

use self::readings::{ReadAs, Reading, Readings, value_of};

/// The most calls that one reply's text may hold.
const MOST_CALLS: usize = 64;
/// Maximum nesting depth of values in a `name(arg=…)` form.
const MOST_DEPTH: usize = 32;

/// A call as a wire gave it, or its text form.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadCall {
    pub(crate) id: Option<Text>,
    pub(crate) name: Text,
    pub(crate) args: CallArgs,
    /// Position in the text that it was read from.
    pub(crate) place: Option<Span>,
    /// Target of the call.
    pub(crate) target: CallTarget,
    /// Parse error, if it could not be read.
    pub(crate) fault: Option<Text>,
}

impl From<ReplyCall> for ReadCall {
    fn from(call: ReplyCall) -> Self {
        Self { id: call.id, name: call.name, args: call.args.into(), ..Self::default() }
    }
}

/// The calls that a whole text is made of: the reply's, or that of its reasoning.
///
/// Arguments stay where they stand: no value is made of them, so that reading a reply costs its length once. Where one is
/// not of its parameter's type, but its text is, it is read so ([`readings`]).
pub(crate) fn calls_in(text: &Text, tools: &[ToolSpec], steps: &Steps) -> Option<Vec<ReadCall>> {
    let source = text.trim();
    // Most replies are prose: one look at the first byte spares them the parsers.
    let first = *source.as_bytes().first()?;
    if !(first == b'{' || first == b'<' || first == b'_' || first.is_ascii_alphabetic()) {
        return None;
    }
    let offered = |name: &str| tools.iter().find(|tool| tool.is_heard() && *tool.name == *name);
    let mut scan = Scan::new(source, steps);
    let mut calls = Vec::new();
    while !scan.is_empty() {
        if calls.len() >= MOST_CALLS {
            return None;
        }
        let before = scan.rest();
        let found = one(&mut scan, &offered)?;
        calls.push(ReadCall {
            name: found.name,
            args: CallArgs::part(text, found.args, found.notation, found.json).read_so(found.readings),
            place: Span::of(scan.since(before), text),
            ..ReadCall::default()
        });
        scan.skip_space();
    }
    (!calls.is_empty()).then_some(calls)
}

/// Arguments that a text holds in another notation than JSON, as JSON. `None`: they are not written so.
pub(crate) fn keys_and_values(part: &str, notation: Notation, readings: &Readings) -> Option<String> {
    let steps = Steps::default();
    let mut scan = Scan::new(part, &steps);
    let mut reading = Reading::Stored(readings);
    match notation {
        Notation::Python => python_args(&mut scan, &mut reading),
        Notation::Tags => tagged_args(&mut scan, &mut reading),
        Notation::Json | Notation::Task => None,
    }
}

/// A call, and where in the text its arguments stand.
struct Found<'t> {
    name: Text,
    args: &'t str,
    notation: Notation,
    /// The arguments as JSON, where they are written in another notation.
    json: Option<Text>,
    readings: Readings,
}

/// The offered tool of that name.
type Offered<'o> = dyn Fn(&str) -> Option<&'o ToolSpec> + 'o;

fn one<'t>(scan: &mut Scan<'t, '_>, offered: &Offered<'_>) -> Option<Found<'t>> {
    if scan.take("<tool_call>") {
        let body = scan.until("</tool_call>")?;
        return tagged(&mut Scan::new(body.trim(), scan.steps()), offered);
    }
    if scan.take("<|python_tag|>") {
        let body = match scan.until("<|eom_id|>") {
            Some(body) => body,
            None => scan.pass(scan.rest().len())?,
        };
        return whole(&mut Scan::new(body.trim(), scan.steps()), offered);
    }
    if scan.take("<|python_start|>") {
        let body = scan.until("<|python_end|>")?;
        return whole(&mut Scan::new(body.trim(), scan.steps()), offered);
    }
    json_or_python(scan, offered)
}

fn json_or_python<'t>(scan: &mut Scan<'t, '_>, offered: &Offered<'_>) -> Option<Found<'t>> {
    if scan.peek() == Some('{') { json(scan, offered) } else { python(scan, offered) }
}

fn whole<'t>(scan: &mut Scan<'t, '_>, offered: &Offered<'_>) -> Option<Found<'t>> {
    let call = json_or_python(scan, offered)?;
    scan.skip_space();
    scan.is_empty().then_some(call)
}

/// `{"type":"function","name":…,"parameters":{…}}`, also with `arguments`, also without `type`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonCall<'t> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'t, str>>,
    #[serde(borrow)]
    name: Cow<'t, str>,
    #[serde(borrow)]
    parameters: Option<&'t RawValue>,
    #[serde(borrow)]
    arguments: Option<&'t RawValue>,
}

fn json<'t>(scan: &mut Scan<'t, '_>, offered: &Offered<'_>) -> Option<Found<'t>> {
    let mut values = serde_json::Deserializer::from_str(scan.rest()).into_iter::<JsonCall<'t>>();
    let read = values.next();
    let end = values.byte_offset();
    scan.pass(end)?;
    let read = read?.ok()?;
    if read.kind.is_some_and(|kind| kind != "function") || offered(&read.name).is_none() {
        return None;
    }
    let args = read.parameters.or(read.arguments)?.get();
    let (name, readings) = ((&*read.name).into(), Readings::new());
    let found = Found { name, args, notation: Notation::Json, json: None, readings };
    args.starts_with('{').then_some(found)
}

/// acorn's keys and values, or Hermes' JSON, between the tags.
fn tagged<'t>(scan: &mut Scan<'t, '_>, offered: &Offered<'_>) -> Option<Found<'t>> {
    if scan.peek() == Some('{') {
        return whole(scan, offered);
    }
    let name = scan.pass_while(|c| c != '<').trim();
    let tool = offered(name)?;
    let args = scan.rest();
    let mut reading = Reading::Schema(&tool.parameters, Readings::new());
    let json = Some(tagged_args(scan, &mut reading)?.into());
    let readings = reading.made();
    Some(Found { name: name.into(), args, notation: Notation::Tags, json, readings })
}

/// All of `<arg_key>k</arg_key><arg_value>v</arg_value>…` as JSON.
fn tagged_args(scan: &mut Scan<'_, '_>, reading: &mut Reading<'_>) -> Option<String> {
    let mut args = Args::default();
    while !scan.is_empty() {
        let key = if scan.take("<arg_key>") { scan.until("</arg_key>")? } else { return None };
        scan.skip_space();
        let value = if scan.take("<arg_value>") { scan.until("</arg_value>")? } else { return None };
        let key = key.trim();
        let (out, from) = args.key(key)?;
        scan.steps().add(value.len());
        match serde_json::from_str::<&RawValue>(value.trim()) {
            Ok(value) => out.push_str(value.get()),
            Err(_) => quoted(out, value)?,
        }
        read_so(out, from, reading.of(key, out.get(from..)?), value)?;
        scan.skip_space();
    }
    Some(args.finish())
}

/// `name(arg="v", other=2)`.
fn python<'t>(scan: &mut Scan<'t, '_>, offered: &Offered<'_>) -> Option<Found<'t>> {
    let name = scan.pass_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if !scan.take("(") {
        return None;
    }
    let tool = offered(name)?;
    let before = scan.rest();
    let mut reading = Reading::Schema(&tool.parameters, Readings::new());
    let json = Some(python_args(scan, &mut reading)?.into());
    let (args, readings) = (scan.since(before), reading.made());
    Some(Found { name: name.into(), args, notation: Notation::Python, json, readings })
}

/// `arg="v", other=2)` as JSON.
fn python_args(scan: &mut Scan<'_, '_>, reading: &mut Reading<'_>) -> Option<String> {
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
fn between(scan: &mut Scan<'_, '_>, end: &str) -> Option<()> {
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
fn value(scan: &mut Scan<'_, '_>, out: &mut String, depth: usize) -> Option<()> {
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

fn string(scan: &mut Scan<'_, '_>, out: &mut String, quote: char) -> Option<()> {
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

fn list(scan: &mut Scan<'_, '_>, out: &mut String, depth: usize) -> Option<()> {
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

fn map(scan: &mut Scan<'_, '_>, out: &mut String, depth: usize) -> Option<()> {
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

fn word(scan: &mut Scan<'_, '_>, out: &mut String) -> Option<()> {
    let word = scan.pass_while(|c| !(matches!(c, ',' | ')' | ']' | '}') || c.is_whitespace()));
    match word {
        "True" | "true" => out.push_str("true"),
        "False" | "false" => out.push_str("false"),
        "None" | "null" => out.push_str("null"),
        number => out.push_str(&serde_json::from_str::<serde_json::Number>(number).ok()?.to_string()),
    }
    Some(())
}

#[cfg(test)]
mod tests;
