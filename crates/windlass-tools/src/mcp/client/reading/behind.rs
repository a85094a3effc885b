//! Messages that share their line with other text, as after a print without a line break.

use rmcp::model::{JsonRpcMessage, ServerNotification, ServerRequest};
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};
use windlass_core::text::steps;

use super::{Read, quoted};
use crate::mcp::client::asking::Fault;

/// Maximum number of places where a message is looked for; each is read once.
const MAX_PLACES: usize = 8;

/// A text that was read.
pub(in crate::mcp::client) struct Heard<'t> {
    pub(in crate::mcp::client) read: Read,
    /// The message, without what stands before it and behind it.
    pub(in crate::mcp::client) text: &'t str,
    /// The text behind it.
    pub(in crate::mcp::client) rest: &'t str,
}

/// The message of a text, also where other text stands before it or behind it. `None`: it is passed over.
pub(in crate::mcp::client) fn heard<'t>(text: &'t str, fault: &Fault) -> Option<Heard<'t>> {
    let whole = at(text, fault)?;
    if !matches!(whole.read, Read::Stray) {
        return Some(whole);
    }
    for place in places(text) {
        let mut heard = at(place, fault)?;
        heard.read = meant(heard.read);
        if !matches!(heard.read, Read::Stray) {
            let before = text.get(..text.len() - place.len()).unwrap_or_default();
            tracing::warn!("an MCP server writes text before a message on one line: {}", quoted(before));
            return Some(heard);
        }
    }
    Some(whole)
}

/// The message at the beginning of a text.
fn at<'t>(text: &'t str, fault: &Fault) -> Option<Heard<'t>> {
    if !fault.takes(text) {
        return None;
    }
    let read = super::read(text);
    // Only what cannot be read as a whole may have an end before its own.
    let is_broken = match &read {
        Read::Answer(answer) => !answer.error().is_none_or(super::is_answer),
        Read::Stray => text.starts_with('{'),
        Read::Message(_) | Read::Foreign => false,
    };
    if is_broken && let Some((message, rest)) = first(text) {
        if !fault.takes(message) {
            return None;
        }
        return Some(Heard { read: super::read(message), text: message, rest });
    }
    Some(Heard { read, text, rest: "" })
}

/// The first value of a text that goes on behind it.
fn first(text: &str) -> Option<(&str, &str)> {
    steps::add(text.len());
    let mut values = Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    text.split_at_checked(values.byte_offset()).filter(|(_, rest)| !rest.trim().is_empty())
}

/// The ends of a text that may be a message. Those of a whole value of JSON are none: a record of a log may hold a message.
fn places(text: &str) -> Vec<&str> {
    steps::add(text.len());
    let Some(mark) = text.find("\"jsonrpc\"") else { return Vec::new() };
    let opens = |at: &usize| text.get(at + 1..).is_some_and(|rest| rest.trim_start().starts_with('"'));
    // The message begins with its version, or with another of its members.
    let first = text.get(..mark).map(str::trim_end).filter(|before| before.ends_with('{'));
    let first = first.map(|before| before.len() - 1);
    let others = text.match_indices('{').map(|(at, _)| at).take_while(|at| *at < mark).filter(opens);
    let places = first.into_iter().chain(others).filter(|at| *at > 0).take(MAX_PLACES);
    let places: Vec<_> = places.filter_map(|at| text.get(at..)).collect();
    steps::add(2 * text.len());
    if places.is_empty() || serde_json::from_str::<Value>(text).is_ok() { Vec::new() } else { places }
}

/// The message, if it is meant for this side. A log may show what was sent to the server, and what cannot be read belongs to
/// somebody only if it says to whom.
fn meant(read: Read) -> Read {
    let is_meant = match &read {
        Read::Message(message) => match message.as_ref() {
            JsonRpcMessage::Request(request) => !matches!(request.request, ServerRequest::CustomRequest(_)),
            JsonRpcMessage::Notification(notification) => {
                !matches!(notification.notification, ServerNotification::CustomNotification(_))
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => true,
        },
        Read::Answer(answer) => answer.id.is_some() || answer.error().is_none_or(super::is_answer),
        Read::Foreign | Read::Stray => false,
    };
    if is_meant { read } else { Read::Stray }
}
