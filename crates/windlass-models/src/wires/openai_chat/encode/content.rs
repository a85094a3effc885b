//! Owns how one message is written: its role, text, media and calls.

use serde_json::value::RawValue;
use windlass_core::Message;
use windlass_core::message::Part;
use windlass_core::message::{AssistantMessage, Content, Media, MediaSource, ToolCall};

use super::super::decode::REASONING;
use super::super::metadata::returned;
use super::ids::call_id;
use crate::wires::Dialect;
use crate::wires::content::{self, is_blank, note, object_args, output};
use crate::wires::json::{field, json_string, json_value};
use crate::wires::own_ids::OwnIds;

/// Writes one message, without a comma around it. One with a `mark` of the provider's cache has its text in a part, which carries the mark.
pub(super) fn message(out: &mut Vec<u8>, dialect: &Dialect, ids: &OwnIds, message: &Message, mark: &[u8]) {
    match message {
        Message::System { text: words } => {
            out.extend_from_slice(b"{\"role\":\"system\",\"content\":");
            text(out, words, mark);
        }
        Message::User { content, .. } | Message::TaskDelegation { content } => {
            out.extend_from_slice(b"{\"role\":\"user\",\"content\":");
            user_content(out, dialect, &content::user_content(content), mark);
        }
        Message::Assistant(reply) => assistant(out, dialect, ids, reply, mark),
        Message::Tool(result) => {
            out.extend_from_slice(b"{\"role\":\"tool\",\"tool_call_id\":");
            json_string(out, &call_id(dialect, ids, &result.call));
            out.extend_from_slice(b",\"content\":");
            match &result.content {
                Content::Text(words) => text(out, output(words), mark),
                Content::Parts(parts) => text(out, output(&parts_as_text(parts)), mark),
            }
        }
    }
    out.push(b'}');
}

/// Whether a message is left out because nothing of it would go back.
pub(super) fn is_left_out(dialect: &Dialect, message: &Message) -> bool {
    let reasons = || match message {
        Message::Assistant(reply) => own_reasoning(dialect, reply).is_some_and(|(text, _)| !is_blank(text)),
        Message::System { .. } | Message::User { .. } | Message::TaskDelegation { .. } | Message::Tool(_) => {
            false
        }
    };
    content::is_left_out(message) && !reasons()
}

/// A text as a message's content.
fn text(out: &mut Vec<u8>, words: &str, mark: &[u8]) {
    if mark.is_empty() {
        return json_string(out, words);
    }
    out.extend_from_slice(b"[{\"type\":\"text\",\"text\":");
    json_string(out, words);
    out.extend_from_slice(mark);
    out.extend_from_slice(b"}]");
}

fn assistant(out: &mut Vec<u8>, dialect: &Dialect, ids: &OwnIds, reply: &AssistantMessage, mark: &[u8]) {
    let own = returned(reply, &dialect.label).unwrap_or_default();
    out.extend_from_slice(b"{\"role\":\"assistant\",\"content\":");
    let notes: Vec<String> = reply.media.iter().map(|media| note("image", media)).collect();
    if dialect.quirks.return_reasoning && !own.content.is_empty() && notes.is_empty() {
        thinking(out, &own.content, mark);
    } else {
        match reply.text.as_deref().filter(|words| !is_blank(words)) {
            Some(words) if notes.is_empty() => text(out, words, mark),
            // Models do not take images of an assistant.
            Some(words) => text(out, &format!("{words}\n{}", notes.join("\n")), mark),
            None if !notes.is_empty() => text(out, &notes.join("\n"), mark),
            None => out.extend_from_slice(b"null"),
        }
        readable(out, dialect, reply, own.details.is_empty());
    }
    if !own.details.is_empty() {
        field(out, "reasoning_details");
        json_value(out, &own.details);
    }
    if let Some(extra) = &own.extra_content {
        field(out, "extra_content");
        json_value(out, extra);
    }
    if !reply.calls.is_empty() {
        out.extend_from_slice(b",\"tool_calls\":[");
        for (at, one) in reply.calls.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            call(out, &call_id(dialect, ids, &one.id), one, own.calls.get(&at).map(|extra| &**extra));
        }
        out.push(b']');
    }
}

/// The readable reasoning in a field of its own, if the provider made it and wants it back.
fn readable(out: &mut Vec<u8>, dialect: &Dialect, reply: &AssistantMessage, alone: bool) {
    if let Some((reasoning, name)) = own_reasoning(dialect, reply).filter(|_| alone) {
        field(out, name);
        json_string(out, reasoning);
    }
}

/// The readable reasoning that goes back to its provider, and its field.
fn own_reasoning<'m>(dialect: &Dialect, reply: &'m AssistantMessage) -> Option<(&'m str, &'static str)> {
    let reasoning = reply.reasoning.as_ref().filter(|_| dialect.quirks.return_reasoning)?;
    let sealed = reasoning.provider_metadata.as_ref().filter(|sealed| sealed.provider == dialect.label)?;
    Some((&reasoning.text, if &*sealed.data == REASONING { REASONING } else { "reasoning_content" }))
}

/// Content whose parts are reasoning and text, as Mistral writes it.
fn thinking(out: &mut Vec<u8>, parts: &[(bool, &str)], mark: &[u8]) {
    out.push(b'[');
    let parts: Vec<_> = parts.iter().filter(|(reasoning, words)| *reasoning || !is_blank(words)).collect();
    let last = parts.len().saturating_sub(1);
    for (at, (reasoning, words)) in parts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        if *reasoning {
            out.extend_from_slice(b"{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":");
            json_string(out, words);
            out.extend_from_slice(b"}]}");
        } else {
            out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
            json_string(out, words);
            if at == last {
                out.extend_from_slice(mark);
            }
            out.push(b'}');
        }
    }
    out.push(b']');
}

fn call(out: &mut Vec<u8>, id: &str, call: &ToolCall, extra: Option<&RawValue>) {
    out.extend_from_slice(b"{\"id\":");
    json_string(out, id);
    out.extend_from_slice(b",\"type\":\"function\",\"function\":{\"name\":");
    json_string(out, &call.name);
    out.extend_from_slice(b",\"arguments\":");
    json_string(out, &object_args(&call.args));
    out.push(b'}');
    if let Some(extra) = extra {
        field(out, "extra_content");
        json_value(out, extra);
    }
    out.push(b'}');
}

fn user_content(out: &mut Vec<u8>, dialect: &Dialect, content: &Content, mark: &[u8]) {
    let parts = match content {
        Content::Text(words) => return text(out, words, mark),
        Content::Parts(parts) => parts,
    };
    if parts.iter().all(|part| matches!(part, Part::Text { .. } | Part::Stored(_))) {
        return text(out, &content.text(), mark);
    }
    out.push(b'[');
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        user_part(out, dialect, part);
    }
    // The mark stands in the last part.
    out.pop();
    out.extend_from_slice(mark);
    out.extend_from_slice(b"}]");
}

fn user_part(out: &mut Vec<u8>, dialect: &Dialect, part: &Part) {
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
        json_string(out, text);
        out.push(b'}');
    };
    match part {
        Part::Text { text: words } => text(out, words),
        Part::Stored(stored) => text(out, &stored.placeholder()),
        Part::Image(Media { media_type, source: MediaSource::Base64(data), .. }) => {
            image(out, &format!("data:{media_type};base64,{data}"));
        }
        Part::Image(Media { source: MediaSource::Url(url), .. }) => image(out, url),
        Part::File(media @ Media { source: MediaSource::Base64(data), .. }) if sound(media).is_some() => {
            out.extend_from_slice(b"{\"type\":\"input_audio\",\"input_audio\":{\"data\":");
            json_string(out, data);
            field(out, "format");
            json_string(out, sound(media).unwrap_or_default());
            out.extend_from_slice(b"}}");
        }
        Part::File(Media { source: MediaSource::ProviderFile(id), .. }) if !dialect.quirks.no_files => {
            out.extend_from_slice(b"{\"type\":\"file\",\"file\":{\"file_id\":");
            json_string(out, id);
            out.extend_from_slice(b"}}");
        }
        Part::File(Media { media_type, name, source: MediaSource::Base64(data) })
            if !dialect.quirks.no_files && !is_heard_or_seen(media_type) =>
        {
            out.extend_from_slice(b"{\"type\":\"file\",\"file\":{\"filename\":");
            json_string(out, name.as_deref().unwrap_or("file"));
            field(out, "file_data");
            json_string(out, &format!("data:{media_type};base64,{data}"));
            out.extend_from_slice(b"}}");
        }
        Part::Image(media) => text(out, &note("image", media)),
        Part::File(media) => text(out, &note("file", media)),
    }
}

/// Whether a person's message may hold the part.
pub(in crate::wires::openai_chat) fn takes(dialect: &Dialect, part: &Part) -> bool {
    let files = !dialect.quirks.no_files;
    match part {
        Part::Text { .. } | Part::Stored(_) => true,
        Part::Image(media) => matches!(media.source, MediaSource::Base64(_) | MediaSource::Url(_)),
        Part::File(media) => match media.source {
            MediaSource::Base64(_) => {
                sound(media).is_some() || (files && !is_heard_or_seen(&media.media_type))
            }
            MediaSource::ProviderFile(_) => files,
            MediaSource::Url(_) | MediaSource::Stored(_) => false,
        },
    }
}

/// The name of a kind of sound that the API takes (API reference, `input_audio`).
fn sound(media: &Media) -> Option<&'static str> {
    match &*media.media_type {
        "audio/wav" | "audio/x-wav" | "audio/wave" => Some("wav"),
        "audio/mpeg" | "audio/mp3" => Some("mp3"),
        _ => None,
    }
}

fn is_heard_or_seen(media_type: &str) -> bool {
    media_type.starts_with("audio/") || media_type.starts_with("video/")
}

fn image(out: &mut Vec<u8>, url: &str) {
    out.extend_from_slice(b"{\"type\":\"image_url\",\"image_url\":{\"url\":");
    json_string(out, url);
    out.extend_from_slice(b"}}");
}

/// Parts where the wire takes text only: media become a note.
fn parts_as_text(parts: &[Part]) -> String {
    let texts: Vec<_> = parts
        .iter()
        .map(|part| match part {
            Part::Text { text } => text.to_string(),
            Part::Stored(stored) => stored.placeholder(),
            Part::Image(media) => note("image", media),
            Part::File(media) => note("file", media),
        })
        .collect();
    texts.join("\n")
}
