//! Owns the repair of JSON that servers write against its specification: halves of surrogate pairs, numbers that are none, bytes
//! that are no UTF-8. A reply that was paid for is read in spite of them.

use std::borrow::Cow;

use memchr::memmem;

use crate::wires::DecodeError;

/// The escape that stands for a half without its other one.
const REPLACEMENT: &[u8] = b"\\ufffd";

/// Reads a body, once more in a mended form if it cannot be read as it is. Halves of pairs are replaced before, because a reader
/// that passes over them unread would lose the whole text.
pub(super) fn tolerant<T>(
    data: &[u8],
    mut read: impl FnMut(&[u8]) -> Result<T, DecodeError>,
) -> Result<T, DecodeError> {
    let halves = Mended::of(data);
    let data = halves.as_ref().map_or(data, |mended| &mended.data);
    let error = match read(data) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    match readable(data) {
        Some(mended) => read(&mended),
        None => Err(error),
    }
}

/// The same value with `null` for numbers that are none, and U+FFFD for bytes that are no UTF-8. `None`: it has neither.
pub(super) fn readable(data: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(data);
    let (mut out, mut rest, mut changed) = (Vec::new(), text.as_bytes(), matches!(text, Cow::Owned(_)));
    let mut in_text = false;
    while let Some((&byte, after)) = rest.split_first() {
        let number = [&b"-Infinity"[..], b"Infinity", b"NaN"]
            .into_iter()
            .find(|word| !in_text && rest.starts_with(word));
        if let Some(word) = number {
            out.extend_from_slice(b"null");
            rest = rest.get(word.len()..).unwrap_or_default();
            changed = true;
            continue;
        }
        if in_text && byte == b'\\' {
            let (escape, behind) = rest.split_at(rest.len().min(2));
            out.extend_from_slice(escape);
            rest = behind;
            continue;
        }
        in_text ^= byte == b'"';
        out.push(byte);
        rest = after;
    }
    changed.then_some(out)
}

/// JSON whose lone halves of pairs are replaced.
#[derive(Debug)]
pub(super) struct Mended {
    pub(super) data: Vec<u8>,
    /// A first half at the end of a text, whose other half may begin the same field of the next event.
    open: Option<Half>,
    /// Second halves at the beginning of texts.
    begun: Vec<Half>,
}

/// Where the replacement of a half stands.
#[derive(Debug)]
struct Half {
    /// The keys that lead to the text.
    field: Vec<u8>,
    at: usize,
    unit: u16,
}

impl Mended {
    /// `None`: there is nothing to mend.
    pub(super) fn of(data: &[u8]) -> Option<Self> {
        // Escapes of characters are rare, and those of halves begin with this digit.
        memmem::find(data, b"\\u").filter(|at| {
            let escapes = memmem::find_iter(data.get(*at..).unwrap_or_default(), b"\\u");
            let mut digits = escapes.filter_map(|found| data.get(at + found + 2));
            digits.any(|digit| matches!(digit, b'd' | b'D'))
        })?;
        let mut scan = Scan { rest: data, out: Vec::with_capacity(data.len() + 16), ..Scan::default() };
        while scan.step() {}
        let Scan { out: data, open, begun, changed, .. } = scan;
        changed.then_some(Self { data, open, begun })
    }

    /// Whether the other half of a pair may come with the next event.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Puts the pair of two halves together that follow each other in one field of two events.
    pub(super) fn join(&mut self, next: &mut Self) {
        let Some(open) = self.open.take() else { return };
        let Some(place) = next.begun.iter().position(|begun| begun.field == open.field) else { return };
        let begun = next.begun.remove(place);
        let end = begun.at + REPLACEMENT.len();
        next.data.drain(begun.at..end);
        let moved = |half: &mut Half| half.at -= if half.at > begun.at { REPLACEMENT.len() } else { 0 };
        next.begun.iter_mut().chain(&mut next.open).for_each(moved);
        let pair = format!("\\u{:04x}\\u{:04x}", open.unit, begun.unit);
        self.data.splice(open.at..open.at + REPLACEMENT.len(), pair.into_bytes());
    }
}

/// A pass over JSON that copies it.
#[derive(Default)]
struct Scan<'d> {
    rest: &'d [u8],
    out: Vec<u8>,
    /// The keys of the objects that are open, each behind a `/`, and where each begins.
    field: Vec<u8>,
    levels: Vec<usize>,
    open: Option<Half>,
    begun: Vec<Half>,
    changed: bool,
}

impl Scan<'_> {
    /// Copies a text or another byte. `false`: there is none.
    fn step(&mut self) -> bool {
        let Some((&byte, after)) = self.rest.split_first() else { return false };
        self.rest = after;
        self.out.push(byte);
        match byte {
            b'"' => self.text(),
            b'{' => self.levels.push(self.field.len()),
            b'}' => {
                let before = self.levels.pop().unwrap_or(0);
                self.field.truncate(before);
            }
            _ => {}
        }
        true
    }

    /// Copies a text behind its quote. One with a colon behind it is the key of what follows.
    fn text(&mut self) {
        let begin = self.out.len();
        while let Some((&byte, after)) = self.rest.split_first() {
            if byte == b'\\' && self.half(begin) {
                continue;
            }
            let length = if byte == b'\\' { 2 } else { 1 };
            let (copied, rest) = self.rest.split_at(self.rest.len().min(length));
            self.out.extend_from_slice(copied);
            self.rest = rest;
            if byte == b'"' {
                let is_key = after.trim_ascii_start().first() == Some(&b':');
                if is_key && let Some(level) = self.levels.last() {
                    self.field.truncate(*level);
                    self.field.push(b'/');
                    self.field.extend_from_slice(self.out.get(begin..).unwrap_or_default());
                }
                return;
            }
        }
    }

    /// Copies a pair, or replaces a half; `false`: another escape stands here.
    fn half(&mut self, begin: usize) -> bool {
        let Some(unit) = unit(self.rest).filter(|unit| (0xd800..0xe000).contains(unit)) else { return false };
        let behind = self.rest.get(6..).unwrap_or_default();
        let is_first = unit < 0xdc00;
        if is_first && self::unit(behind).is_some_and(|next| (0xdc00..0xe000).contains(&next)) {
            let (pair, rest) = self.rest.split_at(12);
            self.out.extend_from_slice(pair);
            self.rest = rest;
            return true;
        }
        let half = || Half { field: self.field.clone(), at: self.out.len(), unit };
        if is_first && behind.first() == Some(&b'"') {
            self.open = Some(half());
        } else if !is_first && self.out.len() == begin {
            let begun = half();
            self.begun.push(begun);
        }
        self.out.extend_from_slice(REPLACEMENT);
        self.rest = behind;
        self.changed = true;
        true
    }
}

/// The number of an escape at the beginning, such as `\ud83d`.
fn unit(data: &[u8]) -> Option<u16> {
    let digits = data.strip_prefix(b"\\u")?.get(..4)?;
    digits
        .iter()
        .try_fold(0, |unit, digit| Some((unit << 4) | u16::try_from(char::from(*digit).to_digit(16)?).ok()?))
}

#[cfg(test)]
mod tests;
