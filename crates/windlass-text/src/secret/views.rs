//! Ways to look at a text: with its escapes resolved, and with its lines joined.

use std::ops::Range;

/// Whether a text has anything that [`unescaped`] would resolve.
pub(super) fn has_escapes(text: &str) -> bool {
    text.contains('%') || text.contains('\\')
}

/// Gives each byte of the text, with the place where it stands, once URL escapes (`%2B`) and those of JSON (`\u002b`,
/// `\/`) are resolved. Gives back where an escape begins that the end of the text cuts off; else the text's length.
pub(super) fn unescaped(text: &[u8], mut each: impl FnMut(u8, Range<usize>)) -> usize {
    let mut place = 0;
    while let Some(byte) = text.get(place) {
        let rest = text.get(place..).unwrap_or_default();
        let escape = if matches!(byte, b'%' | b'\\') { escape(rest) } else { Escape::None };
        let (length, char) = match escape {
            Escape::None => (1, None),
            Escape::Cut => return place,
            Escape::Byte(length, byte) => {
                each(byte, place..place + length);
                place += length;
                continue;
            }
            Escape::Char(length, char) => (length, Some(char)),
        };
        match char {
            None => each(*byte, place..place + 1),
            Some(char) => {
                for byte in char.encode_utf8(&mut [0; 4]).bytes() {
                    each(byte, place..place + length);
                }
            }
        }
        place += length;
    }
    text.len()
}

/// The escape sequence at the start of a text.
enum Escape {
    None,
    /// The beginning of an escape; the rest may follow.
    Cut,
    Byte(usize, u8),
    Char(usize, char),
}

fn escape(text: &[u8]) -> Escape {
    match text {
        [b'%' | b'\\'] => Escape::Cut,
        [b'%', rest @ ..] => hex(rest, 2).map_or_else(|| cut(rest, 2), |value| Escape::Byte(3, value as u8)),
        [b'\\', b'x', rest @ ..] => {
            hex(rest, 2).map_or_else(|| cut(rest, 2), |value| Escape::Byte(4, value as u8))
        }
        [b'\\', b'u', rest @ ..] => match hex(rest, 4) {
            Some(value) => char::from_u32(value).map_or(Escape::None, |char| Escape::Char(6, char)),
            None => cut(rest, 4),
        },
        [b'\\', byte @ (b'"' | b'\\' | b'/' | b'\''), ..] => Escape::Byte(2, *byte),
        [b'\\', b'n', ..] => Escape::Byte(2, b'\n'),
        [b'\\', b'r', ..] => Escape::Byte(2, b'\r'),
        [b'\\', b't', ..] => Escape::Byte(2, b'\t'),
        _ => Escape::None,
    }
}

fn cut(rest: &[u8], digits: usize) -> Escape {
    let may_go_on = rest.len() < digits && rest.iter().all(u8::is_ascii_hexdigit);
    if may_go_on { Escape::Cut } else { Escape::None }
}

fn hex(text: &[u8], digits: usize) -> Option<u32> {
    let digits = std::str::from_utf8(text.get(..digits)?).ok()?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

/// A text without its line breaks, also where they stand as escapes of JSON: as `fold` breaks a line that it is given.
///
/// Where a byte stands in the text is found by going through the text once more: a list of the breaks would take many times
/// the memory of a text that has little else.
pub(super) struct OneLine<'t> {
    pub(super) bytes: Vec<u8>,
    text: &'t [u8],
}

impl<'t> OneLine<'t> {
    pub(super) fn of(text: &'t [u8]) -> Self {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text;
        loop {
            let plain = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r' | b'\\'));
            let (before, after) = rest.split_at(plain.unwrap_or(rest.len()));
            bytes.extend_from_slice(before);
            let (kept, length) = step(after);
            if length == 0 {
                break;
            }
            let (passed, after) = after.split_at(length);
            bytes.extend_from_slice(passed.get(..kept).unwrap_or_default());
            rest = after;
        }
        Self { bytes, text }
    }

    /// Whether it had no line break.
    pub(super) fn was_one(&self) -> bool {
        self.bytes.len() == self.text.len()
    }

    /// Gives each byte with the place where it stands in the text.
    pub(super) fn each(&self, mut each: impl FnMut(u8, Range<usize>)) {
        let mut from = Cursor::default();
        for (place, byte) in self.bytes.iter().enumerate() {
            let start = from.in_text(self, place);
            each(*byte, start..start + 1);
        }
    }

    /// As [`OneLine::each`], with escapes resolved; line breaks that stand as such are left out too. Gives back where an
    /// escape begins that the end cuts off.
    pub(super) fn each_unescaped(&self, mut each: impl FnMut(u8, Range<usize>)) -> usize {
        let (mut from, mut to) = (Cursor::default(), Cursor::default());
        let cut = unescaped(&self.bytes, |byte, range| {
            let (start, last) = (from.in_text(self, range.start), to.in_text(self, range.end - 1));
            if !matches!(byte, b'\n' | b'\r') {
                each(byte, start..last + 1);
            }
        });
        from.in_text(self, cut)
    }
}

/// Of what a text begins with: how many bytes stay, and how many there are; none of none at its end.
fn step(text: &[u8]) -> (usize, usize) {
    match text {
        [] => (0, 0),
        [b'\n' | b'\r', ..] => (0, 1),
        [b'\\', b'n' | b'r', ..] => (0, 2),
        // An escaped backslash, behind which no escape begins.
        [b'\\', b'\\', ..] => (2, 2),
        _ => (1, 1),
    }
}

/// A way along the text, which goes forward only.
#[derive(Default)]
struct Cursor {
    /// Number of bytes of the line that are passed.
    line: usize,
    /// Number of bytes of the text that are passed.
    text: usize,
}

impl Cursor {
    /// Position of the byte at `place` in the text. Places must not fall.
    fn in_text(&mut self, one: &OneLine<'_>, place: usize) -> usize {
        loop {
            let (kept, length) = step(one.text.get(self.text..).unwrap_or_default());
            if length == 0 || (kept > 0 && place < self.line + kept) {
                return self.text + place.saturating_sub(self.line);
            }
            self.line += kept;
            self.text += length;
        }
    }
}

/// Gives each byte of the text that is no white space, also where that stands as an escape of JSON.
pub(super) fn joined(text: &[u8], mut each: impl FnMut(u8, Range<usize>)) {
    let mut place = 0;
    while let Some(byte) = text.get(place) {
        match (byte, text.get(place + 1)) {
            (b'\\', Some(b'n' | b'r' | b't')) => place += 1,
            (byte, _) if byte.is_ascii_whitespace() => {}
            (byte, _) => each(*byte, place..place + 1),
        }
        place += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::OneLine;

    /// Each byte that stays, with its place.
    fn placed(text: &[u8]) -> Vec<(u8, usize)> {
        let mut all = Vec::new();
        OneLine::of(text).each(|byte, range| all.push((byte, range.start)));
        all
    }

    #[test]
    fn a_text_of_line_breaks_takes_no_more_memory_than_itself() {
        for text in
            ["\n".repeat(100_000), "\\n".repeat(50_000), "a\n".repeat(50_000), "a\\r\n".repeat(25_000)]
        {
            let line = OneLine::of(text.as_bytes());
            assert!(size_of_val(&line) + line.bytes.capacity() <= text.len() + 64);
        }
        assert_eq!(
            placed(b"\n\na\\nb\\\\n\r\nc\\t\n"),
            [(b'a', 2), (b'b', 5), (b'\\', 6), (b'\\', 7), (b'n', 8), (b'c', 11), (b'\\', 12), (b't', 13)]
        );
    }

    proptest! {
        #[test]
        fn each_byte_keeps_its_place(text in "[ab\\\\nr\n\r]{0,40}") {
            let mut last = None;
            for (byte, place) in placed(text.as_bytes()) {
                prop_assert_eq!(text.as_bytes().get(place), Some(&byte));
                prop_assert!(last < Some(place));
                last = Some(place);
            }
            let mut seen = Vec::new();
            let end = OneLine::of(text.as_bytes()).each_unescaped(|_, range| seen.push(range));
            prop_assert!(end <= text.len() && seen.iter().all(|range| range.end <= text.len()));
            prop_assert!(seen.is_sorted_by_key(|range| range.start));
        }
    }
}
