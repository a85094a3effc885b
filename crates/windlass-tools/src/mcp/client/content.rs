//! Owns how a tool's result becomes content for the model (MCP 2025-11-25, Server Features, Tools, Tool Result).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, Resource, ResourceContents};
use serde_json::Value;
use windlass_core::message::{Content, Media, MediaSource, Part, media_type};
use windlass_threads::{LARGE_BYTES, off_thread};

use crate::tool::{ToolError, ToolResult};

/// The media type of bytes about which the server says nothing (RFC 2046, 4.5.1).
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// The members that describe media beside their data.
const MEDIA_KEYS: [&str; 6] = ["type", "mimeType", "mime_type", "mediaType", "media_type", "encoding"];

/// Weight of a result's part beside its own bytes.
const PART_BYTES: u64 = 64;

/// Converts a call's result, on another thread if it is large.
pub(super) async fn made(result: CallToolResult) -> ToolResult {
    off_thread(size(&result), move || self::result(result)).await
}

/// About how many bytes a result has. Of a value no more is looked at than it takes to see that it is large.
#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
fn size(result: &CallToolResult) -> u64 {
    let of = |block: &ContentBlock| match block {
        ContentBlock::Text(text) => text.text.len(),
        ContentBlock::Image(image) => image.data.len(),
        ContentBlock::Audio(audio) => audio.data.len(),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.len(),
            ResourceContents::BlobResourceContents { blob, .. } => blob.len(),
            _ => 0,
        },
        _ => 0,
    };
    let blocks: u64 = result.content.iter().map(|block| of(block) as u64 + PART_BYTES).sum();
    let mut left = LARGE_BYTES;
    let small = result.structured_content.as_ref().is_none_or(|value| fits(value, &mut left));
    blocks + if small { LARGE_BYTES - left } else { LARGE_BYTES }
}

/// Whether a value has no more bytes than are left.
fn fits(value: &Value, left: &mut u64) -> bool {
    let mut spend = |bytes: usize| {
        let rest = left.checked_sub(bytes as u64 + 2);
        *left = rest.unwrap_or(0);
        rest.is_some()
    };
    match value {
        Value::String(text) => spend(text.len()),
        Value::Array(items) => spend(0) && items.iter().all(|item| fits(item, left)),
        Value::Object(map) => {
            spend(0) && map.iter().all(|(key, item)| key.len() as u64 <= *left && fits(item, left))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => spend(0),
    }
}

/// Converts a call's result. `isError` makes it an error with the result's text.
fn result(result: CallToolResult) -> ToolResult {
    let failed = result.is_error == Some(true);
    let mut parts: Vec<Part> = result.content.into_iter().map(part).collect();
    let has_text = parts.iter().any(|part| matches!(part, Part::Text { .. }));
    if !has_text
        && let Some(structured) =
            result.structured_content.and_then(|value| without_media_data(value, &parts))
    {
        parts.insert(0, Part::Text { text: structured.to_string().into() });
    }
    let content = content(parts);
    if failed {
        let text = content.text();
        let text = if text.trim().is_empty() { "the tool failed and did not say why" } else { &text };
        return Err(ToolError::new(text));
    }
    Ok(content)
}

/// The structured content beside the media that are given: it may repeat their data, which a model has no use for as
/// text. `None`: nothing else.
fn without_media_data(structured: Value, parts: &[Part]) -> Option<Value> {
    let data: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Image(Media { source: MediaSource::Base64(data), .. })
            | Part::File(Media { source: MediaSource::Base64(data), .. }) => Some(data.as_ref()),
            Part::Image(_) | Part::File(_) | Part::Text { .. } | Part::Stored(_) => None,
        })
        .filter(|data| !data.is_empty())
        .collect();
    if data.is_empty() { Some(structured) } else { without(structured, &data) }
}

/// A value without data that stands elsewhere, and without what only describes it. `None`: nothing is left.
fn without(value: Value, data: &[&str]) -> Option<Value> {
    match value {
        Value::String(text) if is_one_of(&text, data) => None,
        Value::Array(items) => {
            let before = items.len();
            let items: Vec<Value> = items.into_iter().filter_map(|item| without(item, data)).collect();
            (!items.is_empty() || before == 0).then_some(Value::Array(items))
        }
        Value::Object(members) => {
            let before = members.len();
            let kept = members.into_iter().filter_map(|(name, value)| Some((name, without(value, data)?)));
            let mut kept: serde_json::Map<String, Value> = kept.collect();
            if kept.len() < before {
                kept.retain(|name, _| !MEDIA_KEYS.contains(&name.as_str()));
            }
            (!kept.is_empty() || before == 0).then_some(Value::Object(kept))
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => Some(other),
    }
}

/// Whether a text is one of these data, alone or in a `data:` URL (RFC 2397).
fn is_one_of(text: &str, data: &[&str]) -> bool {
    let text =
        text.strip_prefix("data:").and_then(|url| url.split_once(";base64,")).map_or(text, |(_, data)| data);
    let same = |data: &&str| {
        // The data have lost their line breaks, the text may have kept them.
        text.len() >= data.len() && text.bytes().filter(|byte| !byte.is_ascii_whitespace()).eq(data.bytes())
    };
    data.iter().any(same)
}

/// Text alone is one text; with media it stays in parts.
fn content(parts: Vec<Part>) -> Content {
    if parts.iter().all(|part| matches!(part, Part::Text { .. })) {
        return Content::Text(Content::Parts(parts).text().as_ref().into());
    }
    Content::Parts(parts)
}

fn part(block: ContentBlock) -> Part {
    match block {
        ContentBlock::Text(text) => Part::Text { text: text.text.into() },
        ContentBlock::Image(image) => {
            media(&image.data, Some(&image.mime_type), None).map_or_else(|note| note, Part::Image)
        }
        ContentBlock::Audio(audio) => {
            media(&audio.data, Some(&audio.mime_type), None).map_or_else(|note| note, Part::File)
        }
        ContentBlock::Resource(embedded) => resource(embedded.resource),
        ContentBlock::ResourceLink(link) => Part::Text { text: described(&link).into() },
        other => {
            Part::Text { text: format!("[content of an unknown kind was omitted: {}]", kind(&other)).into() }
        }
    }
}

/// A resource in the result: its text, or its bytes as an image or a file.
fn resource(contents: ResourceContents) -> Part {
    match contents {
        ResourceContents::TextResourceContents { uri, text, .. } => {
            Part::Text { text: format!("[resource {uri}]\n{text}").into() }
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            media(&blob, mime_type.as_deref(), Some(uri)).map_or_else(|note| note, of_type)
        }
        _ => Part::Text { text: "[a resource of an unknown kind was omitted]".into() },
    }
}

/// Describes a link as text: possibly only the server can follow it, and no provider should be made to.
fn described(link: &Resource) -> String {
    let mut text = format!("[resource link {}: {}", link.uri, link.title.as_ref().unwrap_or(&link.name));
    if let Some(media_type) = &link.mime_type {
        text = format!("{text} ({media_type})");
    }
    if let Some(description) = &link.description {
        text = format!("{text}: {description}");
    }
    text.push(']');
    text
}

/// A resource does not say whether it is an image; its media type does.
fn of_type(media: Media) -> Part {
    if media.media_type.starts_with("image/") { Part::Image(media) } else { Part::File(media) }
}

/// Inline bytes, or a note where they should be: a provider would refuse the whole request for bad base64. Where the server says nothing
/// of their type, or that it is unknown, their first bytes may.
fn media(data: &str, declared: Option<&str>, name: Option<String>) -> Result<Media, Part> {
    let packed: String = data.split_ascii_whitespace().collect();
    let declared = declared.filter(|declared| !declared.is_empty() && *declared != UNKNOWN_TYPE);
    let Ok(bytes) = STANDARD.decode(&packed) else {
        let declared = declared.unwrap_or(UNKNOWN_TYPE);
        let text = format!("[data of type {declared} was omitted: it is not valid base64]");
        return Err(Part::Text { text: text.into() });
    };
    let media_type = declared.or_else(|| media_type(&bytes)).unwrap_or(UNKNOWN_TYPE);
    let source = MediaSource::Base64(packed.into());
    Ok(Media { media_type: media_type.into(), name: name.map(Into::into), source })
}

fn kind(block: &ContentBlock) -> String {
    let value = serde_json::to_value(block).unwrap_or_default();
    value.get("type").and_then(serde_json::Value::as_str).unwrap_or("unnamed").to_owned()
}

#[cfg(test)]
mod tests;
