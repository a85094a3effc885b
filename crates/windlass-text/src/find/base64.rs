//! Base64 within texts: files that somebody has put into a result.

use std::ops::Range;

/// Minimum number of characters of base64 that are found.
pub const LEAST: usize = 4_096;

/// The shortest line of base64 that goes on in the next line (RFC 7468, 2, has 64; RFC 2045, 6.8, has 76).
const LEAST_LINE: usize = 60;

/// The places of at least [`LEAST`] characters of base64. Small and capital letters and digits are all among so many: long
/// words of another kind are none.
pub fn found(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let run = Run::at(bytes, at);
        if run.is_base64() {
            found.push(at..run.end);
        }
        at = run.end.max(at + 1);
    }
    found
}

/// Characters of base64, with line breaks between, and with the escapes that JSON and addresses have for some of them.
#[derive(Default)]
struct Run {
    end: usize,
    chars: usize,
    lower: bool,
    upper: bool,
    digit: bool,
}

impl Run {
    fn at(bytes: &[u8], start: usize) -> Self {
        let mut run = Self { end: start, ..Self::default() };
        let (mut at, mut line) = (start, 0);
        while let Some(byte) = bytes.get(at) {
            let (sign, len) = escape(bytes, at).unwrap_or((*byte, 1));
            match sign {
                b'a'..=b'z' => run.lower = true,
                b'A'..=b'Z' => run.upper = true,
                b'0'..=b'9' => run.digit = true,
                b'+' | b'/' | b'-' | b'_' => {}
                b'=' => {
                    run.end = padded(bytes, at);
                    return run;
                }
                _ => {
                    let Some(after) = line_break(bytes, at).filter(|_| line >= LEAST_LINE) else {
                        return run;
                    };
                    (at, line) = (after, 0);
                    continue;
                }
            }
            at += len;
            line += 1;
            run.chars += 1;
            run.end = at;
        }
        run
    }

    fn is_base64(&self) -> bool {
        self.chars >= LEAST && self.lower && self.upper && self.digit
    }
}

/// A sign of base64 that is written as an escape here, and the bytes of the escape: JSON may write `\/` and `\u002b`
/// (RFC 8259, 7), an address `%2B` (RFC 3986, 2.1).
fn escape(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let escapes: [(&str, u8); 7] = [
        ("\\/", b'/'),
        ("\\u002b", b'+'),
        ("\\u002f", b'/'),
        ("\\u003d", b'='),
        ("%2b", b'+'),
        ("%2f", b'/'),
        ("%3d", b'='),
    ];
    if !matches!(bytes.get(at), Some(b'\\' | b'%')) {
        return None;
    }
    let is_here = |text: &str| {
        bytes.get(at..at + text.len()).is_some_and(|here| here.eq_ignore_ascii_case(text.as_bytes()))
    };
    escapes.iter().find(|(text, _)| is_here(text)).map(|(text, sign)| (*sign, text.len()))
}

/// The end of the padding that begins here: two signs at most.
fn padded(bytes: &[u8], mut at: usize) -> usize {
    for _ in 0..2 {
        match escape(bytes, at).or_else(|| bytes.get(at).map(|byte| (*byte, 1))) {
            Some((b'=', len)) => at += len,
            _ => break,
        }
    }
    at
}

/// Where the next line's text begins, if the text breaks here: with a line break, or with one as JSON writes it. Lines
/// may be indented.
fn line_break(bytes: &[u8], at: usize) -> Option<usize> {
    let breaks: [&[u8]; 4] = [b"\r\n", b"\n", b"\\r\\n", b"\\n"];
    let sign = breaks.iter().find(|sign| bytes.get(at..).is_some_and(|rest| rest.starts_with(sign)))?;
    let after = at + sign.len();
    let indent = bytes.iter().skip(after).take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    Some(after + indent)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many characters of base64.
    fn data(chars: usize) -> String {
        "aB3/".chars().cycle().take(chars).collect()
    }

    #[test]
    fn base64_is_found_between_other_text() {
        let long = data(LEAST);
        let text = format!("{{\"a\":\"{long}==\",\"b\":\"{}\"}}", data(LEAST - 1));
        assert_eq!(found(&text), vec![6..6 + LEAST + 2]);
        assert_eq!(found(&format!("ü {long} and {long}")).len(), 2);
        for line_break in ["\n", "\r\n", "\\n", "\n    ", "\\n\t"] {
            let lines = vec![data(76); 60].join(line_break);
            assert_eq!(found(&lines), vec![0..lines.len()]);
        }
    }

    #[test]
    fn escapes_of_json_and_of_addresses_are_signs_of_base64() {
        for sign in ["\\/", "\\u002b", "\\u002F", "%2B", "%2f"] {
            let escaped = data(LEAST).replace('/', sign);
            for padding in ["", "==", "\\u003d\\u003D", "%3D"] {
                let text = format!("a {escaped}{padding}=\"");
                let end = text.len() - if padding.is_empty() || padding == "%3D" { 1 } else { 2 };
                assert_eq!(found(&text), vec![2..end], "{sign} {padding}");
            }
        }
        assert!(found(&data(LEAST).replace('/', "\\n")).is_empty());
    }

    #[test]
    fn other_long_text_is_none() {
        for text in [
            "x".repeat(10_000),
            "0123456789abcdef".repeat(1_000),
            "ACGT".repeat(5_000),
            "some Words 2 read\n".repeat(1_000),
            format!("{}\n", data(40)).repeat(1_000),
        ] {
            assert!(found(&text).is_empty(), "{text:.40}");
        }
    }
}
