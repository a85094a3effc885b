//! Owns which items a message becomes: messages, calls, results, and what its provider needs back of a reply.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;
use windlass_core::message::{AssistantMessage, Media, MediaSource, ToolCall, ToolMessage};
use windlass_core::{CallId, Message};

use super::super::NAME;
use super::super::own::{CLIENT_CALLS, Own};
use super::super::shapes::Fields;
use super::content::{content, text};
use crate::thoughts::GAP;
use crate::wires::Dialect;
use crate::wires::content::{is_blank, note, object_args, output, result_content, user_content};
use crate::wires::json::{field, json_string, json_value};
use crate::wires::layout::{Kind, Placed, placed};
use crate::wires::own_ids::OwnIds;

/// The most bytes of a call's id (API reference, `call_id`).
const MAX_CALL_ID: usize = 64;

/// Ids of calls that are no function calls and wait for their result, with the kind of the call's item.
pub(super) type Open = BTreeMap<Box<str>, &'static str>;

/// The ids of calls that a conversation's items name.
pub(super) struct CallIds<'c> {
    pub(super) open: &'c mut Open,
    pub(super) own: &'c OwnIds,
}

/// Writes the items of one message behind those in `out`.
pub(super) fn message(
    out: &mut Vec<u8>,
    dialect: &Dialect,
    message: &Message,
    ids: &mut CallIds<'_>,
    marked: bool,
) {
    match message {
        Message::System { text: words } if is_blank(words) => {}
        Message::System { text: words } => {
            begin(out, "message");
            out.extend_from_slice(b",\"role\":\"system\",\"content\":");
            text(out, words, marked);
            out.push(b'}');
        }
        Message::User { content: given, .. } | Message::TaskDelegation { content: given } => {
            begin(out, "message");
            out.extend_from_slice(b",\"role\":\"user\",\"content\":");
            content(out, &user_content(given), marked);
            out.push(b'}');
        }
        Message::Assistant(reply) => match placed(reply, &dialect.label, NAME) {
            Some(parts) => as_it_came(out, reply, &parts, ids),
            None => plain(out, reply, ids.own),
        },
        Message::Tool(result) => tool_result(out, result, ids, marked),
    }
}

/// Begins an item of this type.
fn begin(out: &mut Vec<u8>, kind: &str) {
    if !out.is_empty() {
        out.push(b',');
    }
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.push(b'"');
}

/// A reply of another provider, or one that was changed since: its text, then its calls.
fn plain(out: &mut Vec<u8>, reply: &AssistantMessage, ids: &OwnIds) {
    // The API has no empty message, and needs none beside calls.
    if let Some(words) = reply.text.as_deref().filter(|words| !is_blank(words)) {
        assistant(out, words);
    }
    for media in &reply.media {
        assistant(out, &note("image", media));
    }
    for one in &reply.calls {
        call(out, one, None, ids);
    }
}

fn assistant(out: &mut Vec<u8>, words: &str) {
    begin(out, "message");
    out.extend_from_slice(b",\"role\":\"assistant\",\"content\":");
    json_string(out, words);
    out.push(b'}');
}

/// The fields of an object, each behind a comma.
fn fields(out: &mut Vec<u8>, object: Option<&RawValue>) {
    let inner = object.map(RawValue::get).and_then(|json| json.strip_prefix('{')?.strip_suffix('}'));
    if let Some(inner) = inner.map(str::trim).filter(|inner| !inner.is_empty()) {
        out.push(b',');
        out.extend_from_slice(inner.as_bytes());
    }
}

fn call(out: &mut Vec<u8>, call: &ToolCall, own: Option<&RawValue>, ids: &OwnIds) {
    begin(out, "function_call");
    fields(out, own);
    field(out, "call_id");
    json_string(out, &call_id(ids, &call.id));
    field(out, "name");
    json_string(out, &call.name);
    field(out, "arguments");
    json_string(out, &object_args(&call.args));
    out.push(b'}');
}

/// Whether an id of another server would be replaced.
pub(in crate::wires::openai_responses) fn is_odd(id: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':');
    id.is_empty() || id.len() > MAX_CALL_ID || !id.bytes().all(allowed)
}

/// The id of a call as the API takes it: as the server made it, or one that fits.
pub(super) fn call_id<'i>(own: &OwnIds, id: &'i CallId) -> Cow<'i, str> {
    if own.has(id) { Cow::Borrowed(id.as_str()) } else { fitting_id(id.as_str()) }
}

/// An id that fits: an id that is too long or has other characters becomes a digest of it, the same for
/// the call and its result.
pub(super) fn fitting_id(id: &str) -> Cow<'_, str> {
    if !is_odd(id) {
        return Cow::Borrowed(id);
    }
    // FNV-1a with 128 bits: it stays the same with every build.
    let digest = id.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |digest, byte| {
        (digest ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    Cow::Owned(format!("call_{digest:032x}"))
}

/// A reply as its provider sent it.
fn as_it_came(out: &mut Vec<u8>, reply: &AssistantMessage, parts: &[Placed<'_>], ids: &mut CallIds<'_>) {
    let read: Vec<_> = parts.iter().map(|part| (part, Own::of(part.own.as_deref()))).collect();
    // The provider refuses items that it knows by their ids without the reasoning before them.
    let reasons = |(part, own): &(&Placed<'_>, Own)| part.kind == Kind::Reasoning && !own.more;
    let named = !read.iter().any(|one| reasons(one) && one.1.item.is_none());
    let last = read.iter().rposition(|(part, own)| {
        part.kind != Kind::Reasoning && own.response.is_none() && !says_nothing(part, own)
    });
    let mut at = 0;
    while let Some((part, own)) = read.get(at) {
        let rest = read.get(at..).unwrap_or_default();
        let more = rest.iter().skip(1).take_while(|(next, own)| next.kind == part.kind && own.more).count();
        let item = rest.get(..=more).unwrap_or_default();
        let nameless = if named { None } else { own.item.as_deref().map(without_id) };
        let own_fields = nameless.as_ref().map_or(own.item.as_deref(), |kept| kept.as_deref());
        match part.kind {
            Kind::Text if item.iter().all(|(part, own)| says_nothing(part, own)) => {}
            Kind::Text => message_item(out, item, own_fields),
            // Reasoning at the end belongs to an item that never came: the provider refuses it alone.
            Kind::Reasoning if last.is_some_and(|last| at < last) => reasoning(out, item),
            Kind::Reasoning => {}
            Kind::Call => {
                if let Some(one) = reply.calls.get(part.at) {
                    called(out, one, own_fields, ids);
                }
            }
            Kind::Media => {
                if let Some(media) = reply.media.get(part.at) {
                    image(out, media, own_fields);
                }
            }
            Kind::Own => other(out, own_fields),
        }
        at += more + 1;
    }
}

/// The words of a part without the line that was put before them.
fn words<'m>(part: &Placed<'m>, own: &Own) -> &'m str {
    if own.gap { part.text.strip_prefix(GAP).unwrap_or(part.text) } else { part.text }
}

/// Whether a part is a blank text, which the API may refuse.
fn says_nothing(part: &Placed<'_>, own: &Own) -> bool {
    part.kind == Kind::Text && is_blank(part.text) && own.annotations.is_none()
}

/// An item without what the provider knows it by.
fn without_id(item: &RawValue) -> Option<Box<RawValue>> {
    serde_json::from_str::<Fields<'_>>(item.get()).ok()?.without(&["id", "status"])
}

fn message_item(out: &mut Vec<u8>, item: &[(&Placed<'_>, Own)], own_fields: Option<&RawValue>) {
    let plain = item.iter().all(|(_, own)| !own.refusal && own.annotations.is_none());
    if plain && own_fields.is_none() {
        let whole: String = item.iter().map(|(part, own)| words(part, own)).collect();
        if !whole.is_empty() {
            assistant(out, &whole);
        }
        return;
    }
    begin(out, "message");
    fields(out, own_fields);
    out.extend_from_slice(b",\"role\":\"assistant\",\"content\":[");
    for (at, (part, own)) in item.iter().filter(|(part, own)| !says_nothing(part, own)).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        let (kind, name) = if own.refusal { ("refusal", "refusal") } else { ("output_text", "text") };
        out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"{name}\":").as_bytes());
        json_string(out, words(part, own));
        if !own.refusal {
            field(out, "annotations");
            let annotations = own.annotations.as_deref().map_or("[]", RawValue::get);
            out.extend_from_slice(annotations.as_bytes());
        }
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
}

fn reasoning(out: &mut Vec<u8>, item: &[(&Placed<'_>, Own)]) {
    let Some((_, first)) = item.first() else { return };
    let Some(own) = first.item.as_deref() else { return };
    begin(out, "reasoning");
    fields(out, Some(own));
    let (name, kind) =
        if first.content { ("content", "reasoning_text") } else { ("summary", "summary_text") };
    field(out, name);
    out.push(b'[');
    let mut comma = "";
    for (part, own) in item {
        // Reasoning without words has a part for its place.
        if part.text.is_empty() && item.len() == 1 {
            continue;
        }
        out.extend_from_slice(format!("{comma}{{\"type\":\"{kind}\",\"text\":").as_bytes());
        json_string(out, words(part, own));
        out.push(b'}');
        comma = ",";
    }
    out.extend_from_slice(b"]}");
}

fn called(out: &mut Vec<u8>, one: &ToolCall, own: Option<&RawValue>, ids: &mut CallIds<'_>) {
    let whole = own.and_then(|own| serde_json::from_str::<Fields<'_>>(own.get()).ok());
    let kind = whole.and_then(|whole| whole.text("type").map(Cow::into_owned));
    let Some((kind, ..)) = CLIENT_CALLS.iter().find(|(name, ..)| Some(*name) == kind.as_deref()) else {
        return call(out, one, own, ids.own);
    };
    let id = call_id(ids.own, &one.id);
    ids.open.insert((&*id).into(), kind);
    if !out.is_empty() {
        out.push(b',');
    }
    out.extend_from_slice(b"{\"call_id\":");
    json_string(out, &id);
    fields(out, own);
    out.push(b'}');
}

fn image(out: &mut Vec<u8>, media: &Media, own: Option<&RawValue>) {
    let MediaSource::Base64(data) = &media.source else { return assistant(out, &note("image", media)) };
    if !out.is_empty() {
        out.push(b',');
    }
    out.extend_from_slice(b"{\"result\":");
    json_string(out, data);
    fields(out, own);
    out.push(b'}');
}

/// An item of the provider's own, unchanged. One that waits for an answer which nobody gives is left out: the API refuses it
/// alone.
fn other(out: &mut Vec<u8>, own: Option<&RawValue>) {
    let Some(own) = own else { return };
    let Ok(item) = serde_json::from_str::<Fields<'_>>(own.get()) else { return };
    let kind = item.text("type").unwrap_or_default();
    let waits = kind == "computer_call"
        || (kind == "tool_search_call" && item.text("execution").as_deref() == Some("client"));
    if waits {
        return;
    }
    if !out.is_empty() {
        out.push(b',');
    }
    out.extend_from_slice(own.get().as_bytes());
}

fn tool_result(out: &mut Vec<u8>, result: &ToolMessage, ids: &mut CallIds<'_>, marked: bool) {
    let id = call_id(ids.own, &result.call);
    let kind = ids.open.remove(&*id).unwrap_or("function_call");
    begin(out, &format!("{kind}_output"));
    let text = result.content.text();
    let text = output(&text);
    if kind == "local_shell_call" {
        field(out, "id");
        json_string(out, &id);
        field(out, "output");
        json_string(out, text);
        return out.push(b'}');
    }
    field(out, "call_id");
    json_string(out, &id);
    match kind {
        "shell_call" => {
            out.extend_from_slice(b",\"output\":[{\"outcome\":{\"type\":\"exit\",\"exit_code\":");
            json_value(out, &i32::from(result.failed));
            out.extend_from_slice(b"},\"stdout\":");
            json_string(out, if result.failed { "" } else { text });
            out.extend_from_slice(b",\"stderr\":");
            json_string(out, if result.failed { text } else { "" });
            out.extend_from_slice(b"}]");
        }
        "apply_patch_call" => {
            field(out, "status");
            json_string(out, if result.failed { "failed" } else { "completed" });
            field(out, "output");
            json_string(out, text);
        }
        _ => {
            field(out, "output");
            content(out, &result_content(&result.content), marked);
        }
    }
    out.push(b'}');
}

/// The id of the stored response that a reply is, if this provider made it and it was not changed since.
pub(super) fn response_of(reply: &AssistantMessage, dialect: &Dialect) -> Option<String> {
    placed(reply, &dialect.label, NAME)?.iter().find_map(|part| Own::of(part.own.as_deref()).response)
}
