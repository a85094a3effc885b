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
pub(super) struct OneLine {
    pub(super) bytes: Vec<u8>,
    /// From which of these bytes on, so many bytes of the text were left out.
    left_out: Vec<(usize, usize)>,
}

impl OneLine {
    pub(super) fn of(text: &[u8]) -> Self {
        let (mut bytes, mut left_out) = (Vec::with_capacity(text.len()), Vec::new());
        let mut rest = text;
        loop {
            let plain = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r' | b'\\'));
            let (before, after) = rest.split_at(plain.unwrap_or(rest.len()));
            bytes.extend_from_slice(before);
            let (kept, length) = match after {
                [] => break,
                [b'\n' | b'\r', ..] => (0, 1),
                [b'\\', b'n' | b'r', ..] => (0, 2),
                // An escaped backslash, behind which no escape begins.
                [b'\\', b'\\', ..] => (2, 2),
                _ => (1, 1),
            };
            let (passed, after) = after.split_at(length);
            bytes.extend_from_slice(passed.get(..kept).unwrap_or_default());
            rest = after;
            if kept == 0 {
                left_out.push((bytes.len(), text.len() - rest.len() - bytes.len()));
            }
        }
        Self { bytes, left_out }
    }

    /// Whether it had no line break.
    pub(super) fn was_one(&self) -> bool {
        self.left_out.is_empty()
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

/// A way along the places that were left out, which goes forward only.
#[derive(Default)]
struct Cursor {
    next: usize,
    left_out: usize,
}

impl Cursor {
    /// Position of the byte at `place` in the text.
    fn in_text(&mut self, line: &OneLine, place: usize) -> usize {
        while let Some((_, left_out)) = line.left_out.get(self.next).filter(|(from, _)| *from <= place) {
            self.left_out = *left_out;
            self.next += 1;
        }
        place + self.left_out
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
