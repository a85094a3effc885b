//! JSON as programs write it that do not keep to its grammar (RFC 8259): what cannot be read is replaced, the rest stays.

use std::ops::Range;

/// The text that stands for half of a surrogate pair.
const REPLACEMENT: &str = "\\ufffd";

/// Maximum depth of values in each other; the library reads 127.
const MAX_DEPTH: usize = 100;

/// The text that stands for a value that is deeper.
const TOO_DEEP: &str = "\"[omitted: it is nested too deep]\"";

/// The text with what JSON does not know replaced: halves of surrogate pairs by U+FFFD, `NaN`, infinities and numbers
/// beyond all bounds by `null`, control characters within strings by their escapes, and unknown escapes by their letters.
pub(super) fn repaired(text: &str) -> String {
    let mut repair = Repair { text, at: 0, out: String::with_capacity(text.len()) };
    while let Some(byte) = repair.peek(0) {
        match byte {
            b'"' => repair.string(),
            b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => repair.word(),
            _ => repair.keep(1),
        }
    }
    repair.out
}

/// The text with what stands too deep replaced by a note.
pub(super) fn pruned(text: &str) -> String {
    let (mut out, mut depth, mut at, mut kept) = (String::with_capacity(text.len()), 0_usize, 0, 0);
    while let Some(byte) = text.as_bytes().get(at) {
        let step = match byte {
            b'"' => string_length(text.as_bytes().get(at..).unwrap_or_default()),
            b'{' | b'[' => {
                depth += 1;
                if depth == MAX_DEPTH + 1 {
                    out.push_str(text.get(kept..at).unwrap_or_default());
                    out.push_str(TOO_DEEP);
                }
                1
            }
            b'}' | b']' => {
                if depth == MAX_DEPTH + 1 {
                    kept = at + 1;
                }
                depth = depth.saturating_sub(1);
                1
            }
            _ => 1,
        };
        at += step;
    }
    if depth <= MAX_DEPTH {
        out.push_str(text.get(kept..).unwrap_or_default());
    }
    out
}

struct Repair<'t> {
    text: &'t str,
    at: usize,
    out: String,
}

impl Repair<'_> {
    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    /// Takes the characters that begin in the next bytes over.
    fn keep(&mut self, bytes: usize) {
        let mut end = (self.at + bytes).min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end += 1;
        }
        self.out.push_str(self.text.get(self.at..end).unwrap_or_default());
        self.at = end;
    }

    fn put(&mut self, text: &str, instead_of: usize) {
        self.out.push_str(text);
        self.at += instead_of;
    }

    /// A number, or a word such as `true`.
    fn word(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
        let length = rest.bytes().take_while(|b| is_part(*b)).count();
        let word = rest.get(..length).unwrap_or_default();
        let unbounded = word.parse::<f64>().is_ok_and(|number| !number.is_finite());
        if unbounded {
            self.put("null", length);
        } else {
            self.keep(length);
        }
    }

    fn string(&mut self) {
        self.keep(1);
        loop {
            match self.peek(0) {
                None => return,
                Some(b'"') => return self.keep(1),
                Some(b'\\') => self.escape(),
                Some(control @ 0..=0x1f) => self.put(&format!("\\u{control:04x}"), 1),
                Some(_) => self.plain(),
            }
        }
    }

    /// Characters of a string up to one that needs a look.
    fn plain(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|b| !matches!(b, b'"' | b'\\' | 0..=0x1f)).count();
        self.keep(length);
    }

    fn escape(&mut self) {
        match self.peek(1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.keep(2),
            Some(b'u') => match (self.unit(0), self.unit(6)) {
                (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => self.keep(12),
                (Some(0xd800..=0xdfff), _) => self.put(REPLACEMENT, 6),
                (Some(_), _) => self.keep(6),
                (None, _) => self.put("\\\\", 1),
            },
            // The end of the text, or an escape of another language.
            _ => self.put("\\\\", 1),
        }
    }

    /// The code unit of the escape that begins so many bytes ahead.
    fn unit(&self, ahead: usize) -> Option<u16> {
        let range: Range<usize> = self.at + ahead..self.at + ahead + 6;
        let digits = self.text.get(range)?.strip_prefix("\\u")?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        u16::from_str_radix(digits, 16).ok()
    }
}

/// The value of the first member `id` of an object that may break off anywhere: a whole number or a text.
pub(super) fn id_in(text: &str) -> Option<serde_json::Value> {
    let (mut depth, mut rest) = (0_usize, text.as_bytes());
    let mut offset = 0;
    while let Some((&first, _)) = rest.split_first() {
        let mut step = 1;
        match first {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                step = string_length(rest);
                let is_id = depth == 1 && rest.get(..step) == Some(b"\"id\"");
                let after = text.get(offset + step..).unwrap_or_default().trim_start();
                if is_id && let Some(value) = after.strip_prefix(':') {
                    return scalar(value.trim_start());
                }
            }
            _ => {}
        }
        offset += step;
        rest = rest.get(step..).unwrap_or_default();
    }
    None
}

/// The length of the string at the beginning, with both of its quotes.
fn string_length(text: &[u8]) -> usize {
    let mut escaped = false;
    for (n, byte) in text.iter().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return n + 1,
            _ => {}
        }
    }
    text.len()
}

fn scalar(text: &str) -> Option<serde_json::Value> {
    let length = if text.starts_with('"') {
        string_length(text.as_bytes())
    } else {
        // A number that the text breaks off in may be another one.
        text.find([',', '}', ' ', '\t'])?
    };
    let value = serde_json::from_str(text.get(..length)?).ok()?;
    matches!(value, serde_json::Value::Number(_) | serde_json::Value::String(_)).then_some(value)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(text: &str) -> Value {
        serde_json::from_str(&repaired(text)).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn what_json_does_not_know_is_replaced_and_the_rest_stays() {
        for (text, value) in [
            (r#""a\ud83d b""#, json!("a\u{fffd} b")),
            (r#""\ude00""#, json!("\u{fffd}")),
            (r#""\ud83d\ud83d\ude00""#, json!("\u{fffd}😀")),
            (r#""\ud83d\n\u00e9é""#, json!("\u{fffd}\néé")),
            (
                "[NaN, -Infinity, Infinity, 1e999, -1.5e2, true, null]",
                json!([null, null, null, null, -150.0, true, null]),
            ),
            (r#""NaN \" Infinity""#, json!("NaN \" Infinity")),
            ("\"a\tb\u{1b}[0m\"", json!("a\tb\u{1b}[0m")),
            (r#""C:\dir \x1b \u12""#, json!("C:\\dir \\x1b \\u12")),
            (r#"{"ü": "\\ud83d"}"#, json!({"ü": "\\ud83d"})),
        ] {
            assert_eq!(read(text), value, "{text}");
        }
    }

    #[test]
    fn a_repair_of_any_cut_of_a_text_ends() {
        let text = r#"{"a":"\ud83d\ude00 \u00e9 é \"","b":[-1.5e10,NaN],"id":7}"#;
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let _repaired = repaired(&text[..cut]);
            let _id = id_in(&text[..cut]);
        }
    }

    #[test]
    fn what_is_too_deep_is_left_out_and_the_rest_stays() {
        let deep = format!("{}\"]\",[{{}}]{}", "[".repeat(5_000), "]".repeat(5_000));
        let text = format!(r#"{{"a":1,"b":[{deep},"x]",{deep}],"c":"y"}}"#);
        let value: Value = serde_json::from_str(&pruned(&text)).expect("JSON");
        assert_eq!((&value["a"], &value["b"][1], &value["c"]), (&json!(1), &json!("x]"), &json!("y")));
        assert_eq!(pruned(&text).matches("nested too deep").count(), 2);
        assert_eq!(pruned(r#"{"a":["\"]",{}]}"#), r#"{"a":["\"]",{}]}"#);
    }

    #[test]
    fn an_id_is_seen_in_what_cannot_be_read() {
        for (text, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{"#, Some(json!(7))),
            (r#"{"result":{"id":1,"a":"\"id\":2"},"id" : "x\"y" ,"#, Some(json!("x\"y"))),
            (r#"{"jsonrpc":"2.0","id":7"#, None),
            (r#"{"jsonrpc":"2.0","id":"7"#, None),
            (r#"{"result":{"id":7}"#, None),
            (r#"{"id":{"a":1},"b":"#, None),
        ] {
            assert_eq!(id_in(text), id, "{text}");
        }
    }
}
