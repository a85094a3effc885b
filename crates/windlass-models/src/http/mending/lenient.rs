//! Owns the second look at JSON that is none by the letter (RFC 8259): what nobody reads must not cost the rest.

use std::borrow::Cow;

/// The same in strict JSON, as far as it can be guessed: `null` for numbers that are none and for words that JSON does not know,
/// numbers in its own form, control characters and unknown escapes as texts may have them, no comma before a closing bracket, and
/// U+FFFD for bytes that are no UTF-8. `None`: there is nothing to mend, or they are neither an object nor a list.
pub(in crate::http) fn readable(data: &[u8]) -> Option<Vec<u8>> {
    data.trim_ascii_start().first().filter(|first| matches!(first, b'{' | b'['))?;
    let text = String::from_utf8_lossy(data);
    let changed = matches!(text, Cow::Owned(_));
    let mut mend = Mend { rest: &text, out: String::with_capacity(text.len() + 16), changed };
    while let Some(byte) = mend.rest.bytes().next() {
        match byte {
            b'"' => mend.text(),
            b',' => mend.comma(),
            b'{' | b'}' | b'[' | b']' | b':' => mend.keep(1),
            _ if byte.is_ascii_whitespace() => mend.keep(1),
            _ => mend.word(),
        }
    }
    mend.changed.then(|| mend.out.into_bytes())
}

struct Mend<'t> {
    rest: &'t str,
    out: String,
    changed: bool,
}

impl Mend<'_> {
    /// Takes so many bytes over.
    fn keep(&mut self, bytes: usize) {
        let (kept, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.out.push_str(kept);
        self.rest = rest;
    }

    fn put(&mut self, text: &str, instead_of: usize) {
        self.out.push_str(text);
        self.rest = self.rest.get(instead_of..).unwrap_or_default();
        self.changed = true;
    }

    fn comma(&mut self) {
        let behind = self.rest.get(1..).unwrap_or_default().trim_start();
        if behind.starts_with(['}', ']']) { self.put("", 1) } else { self.keep(1) }
    }

    /// A number, or a word such as `true`.
    fn word(&mut self) {
        let is_end = |letter: char| letter.is_ascii_whitespace() || "{}[],:\"".contains(letter);
        let length = self.rest.find(is_end).unwrap_or(self.rest.len());
        let word = self.rest.get(..length).unwrap_or_default();
        if serde_json::from_str::<f64>(word).is_ok() || matches!(word, "true" | "false" | "null") {
            return self.keep(length);
        }
        let strict = match &*word.to_ascii_lowercase() {
            "true" => "true".to_owned(),
            "false" => "false".to_owned(),
            _ => number(word).unwrap_or_else(|| "null".to_owned()),
        };
        self.put(&strict, length);
    }

    fn text(&mut self) {
        self.keep(1);
        loop {
            let special = |byte: u8| matches!(byte, b'"' | b'\\' | 0..=0x1f);
            let plain = self.rest.bytes().position(special).unwrap_or(self.rest.len());
            self.keep(plain);
            match self.rest.bytes().next() {
                None => return,
                Some(b'"') => return self.keep(1),
                Some(b'\\') => self.escape(),
                Some(control) => self.put(&format!("\\u{control:04x}"), 1),
            }
        }
    }

    fn escape(&mut self) {
        let digits = self.rest.get(2..6);
        let is_unit = digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match self.rest.as_bytes().get(1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.keep(2),
            Some(b'u') if is_unit => self.keep(6),
            // The end of what came.
            None => self.keep(1),
            Some(_) => self.put("\\\\", 1),
        }
    }
}

/// A number in the form of JSON: without a plus, without zeros in front, with a digit on both sides of its point. `None`: it is
/// none, or beyond all bounds.
fn number(word: &str) -> Option<String> {
    let is_plain = word.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if !is_plain || !word.parse::<f64>().is_ok_and(f64::is_finite) {
        return None;
    }
    let (sign, digits) = match word.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", word.strip_prefix('+').unwrap_or(word)),
    };
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, behind) = digits.split_at_checked(end)?;
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let behind = match behind.strip_prefix('.') {
        Some(rest) if !rest.starts_with(|letter: char| letter.is_ascii_digit()) => format!(".0{rest}"),
        Some(_) | None => behind.to_owned(),
    };
    Some(format!("{sign}{whole}{behind}"))
}
