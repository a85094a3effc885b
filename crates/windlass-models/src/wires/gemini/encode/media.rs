//! Owns how images and files become parts, and which of them the API takes.

use windlass_core::message::{Media, MediaSource, Part};

use crate::wires::json::{field, json_string};

/// Kinds of images that models read ("Image understanding"; BMP: "File input methods").
const IMAGES: [&str; 7] =
    ["image/png", "image/jpeg", "image/jpg", "image/webp", "image/heic", "image/heif", "image/bmp"];

/// Kinds of documents that models read, besides everything under `text/` ("File input methods").
const DOCUMENTS: [&str; 6] = [
    "application/pdf",
    "application/json",
    "application/rtf",
    "application/xml",
    "application/javascript",
    "application/x-javascript",
];

/// Kinds of media within results of functions ("Multimodal function responses").
const IN_RESULTS: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"];

/// Writes `"inlineData":{…}` or `"fileData":{…}`. `false`: the API does not take it, and nothing was written.
pub(super) fn write(out: &mut Vec<u8>, media: &Media) -> bool {
    if !is_taken(plain_type(media)) {
        return false;
    }
    let (begin, key, data): (&[u8], _, _) = match &media.source {
        MediaSource::Base64(data) => (b"\"inlineData\":{\"mimeType\":", "data", data),
        MediaSource::Url(place) | MediaSource::ProviderFile(place) => {
            (b"\"fileData\":{\"mimeType\":", "fileUri", place)
        }
        MediaSource::Stored(_) => return false,
    };
    out.extend_from_slice(begin);
    json_string(out, &media.media_type);
    field(out, key);
    json_string(out, data);
    out.push(b'}');
    true
}

/// Whether a person's message may hold the part.
pub(in crate::wires::gemini) fn takes(part: &Part) -> bool {
    match part {
        Part::Text { .. } | Part::Stored(_) => true,
        Part::Image(media) | Part::File(media) => {
            is_taken(plain_type(media)) && !matches!(media.source, MediaSource::Stored(_))
        }
    }
}

/// Whether a result of a function may hold it. The Gemini API takes no addresses there.
pub(super) fn goes_into_results(media: &Media) -> bool {
    matches!(media.source, MediaSource::Base64(_)) && IN_RESULTS.contains(&plain_type(media))
}

/// Its name for people.
pub(super) fn kind(media: &Media) -> &'static str {
    if media.media_type.starts_with("image/") { "image" } else { "file" }
}

fn is_taken(kind: &str) -> bool {
    let family = kind.split_once('/').map_or("", |(family, _)| family);
    matches!(family, "text" | "audio" | "video") || IMAGES.contains(&kind) || DOCUMENTS.contains(&kind)
}

/// The media type without its parameters (RFC 6838).
fn plain_type(media: &Media) -> &str {
    media.media_type.split(';').next().unwrap_or_default().trim()
}
