//! Text forms of tool calls: what models without native calls write into their text.
//!
//! A form counts only when the whole reply (or, where there is no text, the whole reasoning) is made of calls of offered
//! tools; anything else is text. Read are SwiftAgentKit's four forms (`name(arg="v")`, `{"type":"function",…}`,
//! `<|python_tag|>…<|eom_id|>`, `<|python_start|>…<|python_end|>`) and acorn's
//! `<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`, whose body may also be JSON (Hermes).

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use windlass_text::steps::Scan;

use crate::vocabulary::call_args::{CallArgs, Span};
use crate::vocabulary::ids::Text;
use crate::vocabulary::message::CallTarget;
use crate::vocabulary::notation::{Notation, python_args, tagged_args};
use crate::vocabulary::readings::{Reading, Readings};
use crate::vocabulary::reply::ReplyCall;
use crate::vocabulary::tool::ToolSpec;

/// The most calls that one reply's text may hold.
const MOST_CALLS: usize = 64;

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
pub(crate) fn calls_in(text: &Text, tools: &[ToolSpec]) -> Option<Vec<ReadCall>> {
    let source = text.trim();
    // Most replies are prose: one look at the first byte spares them the parsers.
    let first = *source.as_bytes().first()?;
    if !(first == b'{' || first == b'<' || first == b'_' || first.is_ascii_alphabetic()) {
        return None;
    }
    let offered = |name: &str| tools.iter().find(|tool| tool.is_heard() && *tool.name == *name);
    let mut scan = Scan::new(source);
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

fn one<'t>(scan: &mut Scan<'t>, offered: &Offered<'_>) -> Option<Found<'t>> {
    if scan.take("<tool_call>") {
        let body = scan.until("</tool_call>")?;
        return tagged(&mut Scan::new(body.trim()), offered);
    }
    if scan.take("<|python_tag|>") {
        let body = match scan.until("<|eom_id|>") {
            Some(body) => body,
            None => scan.pass(scan.rest().len())?,
        };
        return whole(&mut Scan::new(body.trim()), offered);
    }
    if scan.take("<|python_start|>") {
        let body = scan.until("<|python_end|>")?;
        return whole(&mut Scan::new(body.trim()), offered);
    }
    json_or_python(scan, offered)
}

fn json_or_python<'t>(scan: &mut Scan<'t>, offered: &Offered<'_>) -> Option<Found<'t>> {
    if scan.peek() == Some('{') { json(scan, offered) } else { python(scan, offered) }
}

fn whole<'t>(scan: &mut Scan<'t>, offered: &Offered<'_>) -> Option<Found<'t>> {
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

fn json<'t>(scan: &mut Scan<'t>, offered: &Offered<'_>) -> Option<Found<'t>> {
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
fn tagged<'t>(scan: &mut Scan<'t>, offered: &Offered<'_>) -> Option<Found<'t>> {
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

/// `name(arg="v", other=2)`.
fn python<'t>(scan: &mut Scan<'t>, offered: &Offered<'_>) -> Option<Found<'t>> {
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

#[cfg(test)]
mod tests;
