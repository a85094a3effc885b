//! Owns writing JSON straight into a byte buffer.

use serde::Serialize;

/// Writes a JSON string (RFC 8259, 7), as serde_json writes it. Runs without escapes are copied whole, because a built view writes
/// its long texts anew in each turn.
pub(crate) fn json_string(out: &mut Vec<u8>, text: &str) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some((run, escaped)) = plain_run(rest) {
        out.extend_from_slice(run);
        rest = rest.get(run.len() + 1..).unwrap_or_default();
        match escaped {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', escaped]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            control => {
                let digit = |half: u8| if half < 10 { b'0' + half } else { b'a' + half - 10 };
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(control >> 4), digit(control & 15)]);
            }
        }
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// The bytes before the first one that must be escaped, and that one; `None`: none must. Eight bytes are looked at together: a
/// byte minus the bound borrows into its highest bit only if it is below the bound, and a byte of other text has that bit itself.
fn plain_run(bytes: &[u8]) -> Option<(&[u8], u8)> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    let less_than = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word & HIGH;
    let (words, _) = bytes.as_chunks::<8>();
    let plain = words.iter().position(|word| {
        let word = u64::from_le_bytes(*word);
        let equals = |byte: u8| less_than(word ^ (ONES * u64::from(byte)), 1);
        (less_than(word, 0x20) | equals(b'"') | equals(b'\\')) != 0
    });
    // A borrow may mark a byte behind a special one, never one in a word without any.
    let from = plain.unwrap_or(words.len()) * 8;
    let at = from + bytes.get(from..)?.iter().position(is_special)?;
    Some((bytes.get(..at)?, *bytes.get(at)?))
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

/// Writes `,"name":{…}` of fields with a comma in front of each; nothing if there is none.
pub(crate) fn object(out: &mut Vec<u8>, name: &str, fields: &[u8]) {
    if let [b',', fields @ ..] = fields {
        field(out, name);
        out.push(b'{');
        out.extend_from_slice(fields);
        out.push(b'}');
    }
}

/// Writes items as `each` writes one, with commas between them.
pub(crate) fn listed<I>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = I>,
    mut each: impl FnMut(&mut Vec<u8>, I),
) {
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        each(out, item);
    }
}

/// Writes a setting that is a number, if it is one that JSON can say.
pub(crate) fn number(out: &mut Vec<u8>, name: &str, value: Option<f64>) {
    if let Some(value) = value.filter(|value| value.is_finite()) {
        field(out, name);
        json_value(out, &value);
    }
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

#[cfg(test)]
mod tests {
    use super::json_string;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        json_string(&mut out, text);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn strings_are_written_as_serde_writes_them() {
        let every: String = (0..0x300).filter_map(char::from_u32).collect();
        assert_eq!(written(&every), serde_json::to_string(&every).expect("JSON"));
        // Every byte at every place of a word, beside bytes that a borrow could reach.
        for special in (0..0x80_u8).map(char::from).chain(['é', '語', '😀']) {
            for place in 0..20 {
                for filler in ["a", "\u{7f}", " ", "!", "#", "]", "é"] {
                    let text = format!("{}{special}{}", filler.repeat(place), filler.repeat(20 - place));
                    assert_eq!(written(&text), serde_json::to_string(&text).expect("JSON"), "{text:?}");
                }
            }
        }
    }
}
