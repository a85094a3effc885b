//! Owns how texts and media of this side are written: `input_text`, `input_image`, `input_file`.
//!
//! Source: API reference, "Create a response", `input`; guides "Images and vision" and "File inputs".

use windlass_core::Message;
use windlass_core::message::{Content, Media, MediaSource, Part};

use crate::wires::content::note;
use crate::wires::json::{field, json_string};

/// The images that the API reads (guide "Images and vision").
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// Marks the end of a part that the provider is to cache (`prompt_cache_breakpoint`).
const BREAKPOINT: &[u8] = b",\"prompt_cache_breakpoint\":{\"mode\":\"explicit\"}}";

/// Whether a marker for the provider's cache has a place in the message: in parts of input only.
pub(super) fn can_be_marked(message: &Message) -> bool {
    match message {
        Message::System { .. } | Message::User { .. } | Message::TaskDelegation { .. } | Message::Tool(_) => {
            true
        }
        Message::Assistant(_) => false,
    }
}

/// Writes content: as a text where it is nothing else, else as a list of parts. The last part of `marked` content carries
/// the marker.
pub(super) fn content(out: &mut Vec<u8>, content: &Content, marked: bool) {
    match content {
        Content::Text(words) => text(out, words, marked),
        Content::Parts(parts) if parts.iter().all(is_text) => text(out, &content.text(), marked),
        Content::Parts(parts) => {
            out.push(b'[');
            for (at, one) in parts.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                part(out, one);
            }
            close(out, marked);
        }
    }
}

fn is_text(part: &Part) -> bool {
    match part {
        Part::Text { .. } | Part::Stored(_) => true,
        Part::Image(_) | Part::File(_) => false,
    }
}

/// Writes a text as content.
pub(super) fn text(out: &mut Vec<u8>, words: &str, marked: bool) {
    if !marked {
        return json_string(out, words);
    }
    out.push(b'[');
    input_text(out, words);
    close(out, true);
}

fn close(out: &mut Vec<u8>, marked: bool) {
    if marked && out.last() == Some(&b'}') {
        out.pop();
        out.extend_from_slice(BREAKPOINT);
    }
    out.push(b']');
}

fn input_text(out: &mut Vec<u8>, words: &str) {
    out.extend_from_slice(b"{\"type\":\"input_text\",\"text\":");
    json_string(out, words);
    out.push(b'}');
}

fn part(out: &mut Vec<u8>, part: &Part) {
    match part {
        Part::Text { text } => input_text(out, text),
        Part::Stored(stored) => input_text(out, &stored.placeholder()),
        Part::Image(media) => image(out, media),
        Part::File(media) => file(out, media),
    }
}

/// Whether a person's message may hold the part.
pub(in crate::wires::openai_responses) fn takes(part: &Part) -> bool {
    match part {
        Part::Text { .. } | Part::Stored(_) => true,
        Part::Image(media) => match media.source {
            MediaSource::Base64(_) => IMAGES.contains(&&*media.media_type),
            MediaSource::Url(_) | MediaSource::ProviderFile(_) => true,
            MediaSource::Stored(_) => false,
        },
        Part::File(media) => !matches!(media.source, MediaSource::Stored(_)) && !is_heard_or_seen(media),
    }
}

/// Sound and film are no files for the API.
fn is_heard_or_seen(media: &Media) -> bool {
    media.media_type.starts_with("audio/") || media.media_type.starts_with("video/")
}

fn image(out: &mut Vec<u8>, media: &Media) {
    let url = match &media.source {
        MediaSource::Base64(data) if IMAGES.contains(&&*media.media_type) => {
            format!("data:{};base64,{data}", media.media_type)
        }
        MediaSource::Url(url) => url.to_string(),
        MediaSource::ProviderFile(id) => {
            out.extend_from_slice(b"{\"type\":\"input_image\",\"detail\":\"auto\",\"file_id\":");
            json_string(out, id);
            out.push(b'}');
            return;
        }
        MediaSource::Base64(_) | MediaSource::Stored(_) => return input_text(out, &note("image", media)),
    };
    out.extend_from_slice(b"{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":");
    json_string(out, &url);
    out.push(b'}');
}

fn file(out: &mut Vec<u8>, media: &Media) {
    let heard = is_heard_or_seen(media);
    match &media.source {
        MediaSource::ProviderFile(id) if !heard => {
            out.extend_from_slice(b"{\"type\":\"input_file\",\"file_id\":");
            json_string(out, id);
            out.push(b'}');
        }
        MediaSource::Base64(data) if !heard => {
            out.extend_from_slice(b"{\"type\":\"input_file\",\"filename\":");
            json_string(out, media.name.as_deref().unwrap_or("file"));
            field(out, "file_data");
            json_string(out, &format!("data:{};base64,{data}", media.media_type));
            out.push(b'}');
        }
        MediaSource::Url(url) if !heard => {
            out.extend_from_slice(b"{\"type\":\"input_file\",\"file_url\":");
            json_string(out, url);
            out.push(b'}');
        }
        MediaSource::Base64(_)
        | MediaSource::Url(_)
        | MediaSource::ProviderFile(_)
        | MediaSource::Stored(_) => {
            input_text(out, &note("file", media));
        }
    }
}
