//! Owns how one message is written: its role, text, images and calls.

use windlass_core::Message;
use windlass_core::message::{AssistantMessage, Content, Media, MediaSource, Part, ToolCall, ToolMessage};

use crate::wires::Dialect;
use crate::wires::content::{self, is_blank, note, object_args, result_content, user_content};
use crate::wires::json::{field, json_string};

/// Writes one message, without a comma around it.
pub(super) fn message(out: &mut Vec<u8>, dialect: &Dialect, message: &Message) {
    match message {
        Message::System { text } => {
            role(out, "system");
            json_string(out, text);
        }
        Message::User { content, .. } | Message::TaskDelegation { content } => {
            role(out, "user");
            parts(out, &user_content(content));
        }
        Message::Assistant(reply) => assistant(out, dialect, reply),
        Message::Tool(result) => tool(out, result),
    }
    out.push(b'}');
}

/// Begins a message up to its content, which every message has.
fn role(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b"{\"role\":");
    json_string(out, name);
    field(out, "content");
}

/// Text and images. The API has one text a message and the images beside it, wherever they stood.
fn parts(out: &mut Vec<u8>, content: &Content) {
    let parts = match content {
        Content::Text(text) => return json_string(out, text),
        Content::Parts(parts) => parts,
    };
    let (mut texts, mut images) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text { text } => texts.push(text.to_string()),
            Part::Stored(stored) => texts.push(stored.placeholder()),
            Part::Image(media) => match inline_image(media) {
                Some(data) => images.push(data),
                None => texts.push(note("image", media)),
            },
            Part::File(media) => texts.push(note("file", media)),
        }
    }
    json_string(out, &texts.join("\n"));
    write_images(out, &images);
}

/// Whether a person's message may hold the part.
pub(in crate::wires::ollama) fn takes(part: &Part) -> bool {
    match part {
        Part::Text { .. } | Part::Stored(_) => true,
        Part::Image(media) => inline_image(media).is_some(),
        Part::File(_) => false,
    }
}

/// The base64 of an image in place.
fn inline_image(media: &Media) -> Option<&str> {
    match &media.source {
        MediaSource::Base64(data) if media.media_type.starts_with("image/") => Some(data),
        MediaSource::Base64(_)
        | MediaSource::Url(_)
        | MediaSource::ProviderFile(_)
        | MediaSource::Stored(_) => None,
    }
}

fn write_images(out: &mut Vec<u8>, images: &[&str]) {
    for (at, image) in images.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b",\"images\":[" } else { b"," });
        json_string(out, image);
    }
    if !images.is_empty() {
        out.push(b']');
    }
}

fn assistant(out: &mut Vec<u8>, dialect: &Dialect, reply: &AssistantMessage) {
    role(out, "assistant");
    let (images, others): (Vec<_>, Vec<_>) =
        reply.media.iter().partition(|media| inline_image(media).is_some());
    let text = reply.text.as_deref().filter(|text| !is_blank(text)).map(str::to_owned);
    let texts: Vec<_> = text.into_iter().chain(others.into_iter().map(|media| note("file", media))).collect();
    json_string(out, &texts.join("\n"));
    if let Some(thinking) = thinking(dialect, reply) {
        field(out, "thinking");
        json_string(out, thinking);
    }
    let images: Vec<_> = images.into_iter().filter_map(inline_image).collect();
    write_images(out, &images);
    for (at, one) in reply.calls.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b",\"tool_calls\":[" } else { b"," });
        call(out, one);
    }
    if !reply.calls.is_empty() {
        out.push(b']');
    }
}

/// The reasoning that goes back to its provider.
fn thinking<'m>(dialect: &Dialect, reply: &'m AssistantMessage) -> Option<&'m str> {
    let reasoning = reply.reasoning.as_ref().filter(|_| dialect.quirks.return_reasoning)?;
    let is_own = reasoning.provider_metadata.as_ref().is_some_and(|sealed| sealed.provider == dialect.label);
    Some(&*reasoning.text).filter(|text| is_own && !text.is_empty())
}

/// Whether a message is left out because nothing of it would go back.
pub(super) fn is_left_out(dialect: &Dialect, message: &Message) -> bool {
    let thinks = || match message {
        Message::Assistant(reply) => thinking(dialect, reply).is_some(),
        Message::System { .. } | Message::User { .. } | Message::TaskDelegation { .. } | Message::Tool(_) => {
            false
        }
    };
    content::is_left_out(message) && !thinks()
}

fn call(out: &mut Vec<u8>, call: &ToolCall) {
    out.extend_from_slice(b"{\"id\":");
    json_string(out, call.id.as_str());
    out.extend_from_slice(b",\"function\":{\"name\":");
    json_string(out, &call.name);
    field(out, "arguments");
    out.extend_from_slice(object_args(&call.args).as_bytes());
    out.extend_from_slice(b"}}");
}

/// A result. Newer servers know the call by its id, older ones the tool by its name.
fn tool(out: &mut Vec<u8>, result: &ToolMessage) {
    role(out, "tool");
    parts(out, &result_content(&result.content));
    field(out, "tool_name");
    json_string(out, &result.name);
    field(out, "tool_call_id");
    json_string(out, result.call.as_str());
}
