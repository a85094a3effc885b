//! Finds base64 within texts.

use std::ops::Range;

/// Minimum number of characters of base64 that are stored apart.
pub(super) const LEAST: usize = 4_096;

/// The shortest line of base64 that goes on in the next line (RFC 7468, 2, has 64; RFC 2045, 6.8, has 76).
const LEAST_LINE: usize = 60;

/// The places of at least [`LEAST`] characters of base64. Small and capital letters and digits are all among so many: long
/// words of another kind are none.
pub(super) fn found(text: &str) -> Vec<Range<usize>> {
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

/// Characters of base64, with line breaks between.
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
            match byte {
                b'a'..=b'z' => run.lower = true,
                b'A'..=b'Z' => run.upper = true,
                b'0'..=b'9' => run.digit = true,
                b'+' | b'/' | b'-' | b'_' => {}
                b'=' => {
                    let padding = bytes.iter().skip(at).take(2).take_while(|byte| **byte == b'=').count();
                    run.end = at + padding;
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
            at += 1;
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

/// Where the next line begins, if the text breaks here: with a line break, or with one as JSON writes it.
fn line_break(bytes: &[u8], at: usize) -> Option<usize> {
    let breaks: [&[u8]; 4] = [b"\r\n", b"\n", b"\\r\\n", b"\\n"];
    breaks
        .iter()
        .find(|sign| bytes.get(at..).is_some_and(|rest| rest.starts_with(sign)))
        .map(|sign| at + sign.len())
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
        for line_break in ["\n", "\r\n", "\\n"] {
            let lines = vec![data(76); 60].join(line_break);
            assert_eq!(found(&lines), vec![0..lines.len()]);
        }
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
