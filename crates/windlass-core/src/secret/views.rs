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

/// What stands at the beginning of a text.
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
