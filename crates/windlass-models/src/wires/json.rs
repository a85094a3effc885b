//! Owns writing JSON straight into a byte buffer.

use serde::Serialize;

/// Writes a JSON string (RFC 8259, 7).
pub(crate) fn json_string(out: &mut Vec<u8>, text: &str) {
    json_value(out, text);
}

/// Writes any value. Serializing the values used here (texts, numbers, JSON values) cannot fail, and neither can writing to a
/// vector; should it fail nevertheless, `null` keeps the document valid.
pub(crate) fn json_value<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let before = out.len();
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(before);
        out.extend_from_slice(b"null");
    }
}

/// Writes `,"name":` for a name that needs no escape.
pub(crate) fn field(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// A JSON text without the whitespace between its tokens: the same value, whether its server indents or not. Numbers stay as
/// they are written.
pub(crate) fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut in_text, mut escaped) = (false, false);
    for character in json.chars() {
        if in_text {
            in_text = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if character.is_ascii_whitespace() {
            continue;
        } else {
            in_text = character == '"';
        }
        out.push(character);
    }
    out
}
