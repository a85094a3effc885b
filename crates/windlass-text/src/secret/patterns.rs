//! The forms in which a secret may stand in a text.

use std::collections::BTreeSet;
use std::ops::Range;

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, HEXLOWER, HEXUPPER};

use super::Secret;
use super::matcher::{Found, Matcher, union};
use super::views::{OneLine, has_escapes, joined, unescaped};

/// Encoded pieces of a secret that are shorter, in characters, are not looked for: they are ordinary words.
const MIN_ENCODED_CHARS: usize = 8;
/// Parts of a secret that are shorter, in bytes, are not looked for by themselves: the token after `Bearer`, a line of a
/// private key.
const MIN_PART_BYTES: usize = 8;
/// Patterns from this length on, in bytes, are also found where any white space stands in them: encoders break lines, and
/// indent them.
const MIN_BROKEN_BYTES: usize = 32;
/// The bytes of all encoded forms together: of the secrets beyond, the oldest ones, only the text itself is found.
const ENCODED_BYTES: usize = 2 * 1024 * 1024;

/// The forms of all known secrets.
pub(super) struct Patterns {
    all: Option<Matcher>,
    /// Patterns long enough to be matched with any white space in them, stored without white space.
    long: Option<Matcher>,
    /// Some have several lines themselves.
    of_lines: bool,
    /// Bytes of the shortest: a shorter text holds none, for escapes and line breaks only add to it.
    shortest: usize,
}

impl Patterns {
    /// The forms of these secrets, the newest first.
    pub(super) fn new<'s>(secrets: impl Iterator<Item = &'s str>) -> Self {
        let mut forms: BTreeSet<Vec<u8>> = BTreeSet::new();
        let mut encoded = 0;
        for secret in secrets {
            for part in parts(secret) {
                let more = encodings(&part);
                let bytes: usize = more.iter().map(Vec::len).sum();
                forms.insert(part);
                if encoded + bytes <= ENCODED_BYTES {
                    encoded += bytes;
                    forms.extend(more);
                }
            }
        }
        let all: Vec<Vec<u8>> = forms.into_iter().collect();
        let long: BTreeSet<Vec<u8>> = all
            .iter()
            .map(|form| form.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<_>>())
            .filter(|form| form.len() >= MIN_BROKEN_BYTES)
            .collect();
        let of_lines = all.iter().flatten().any(|byte| matches!(byte, b'\n' | b'\r'));
        let shortest = all.iter().map(Vec::len).min().unwrap_or(0);
        Self { all: Matcher::new(&all), of_lines, shortest, long: Matcher::new(&Vec::from_iter(long)) }
    }

    /// Ranges of secrets in a complete text.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let Some(all) = self.all.as_ref().filter(|_| text.len() >= self.shortest) else { return Vec::new() };
        let mut ranges =
            if all.is_in(text.as_bytes()) { all.find(text.as_bytes()).ranges } else { Vec::new() };
        if self.of_lines && has_escapes(text) {
            let mut bytes = Vec::with_capacity(text.len());
            unescaped(text.as_bytes(), |byte, _| bytes.push(byte));
            if all.is_in(&bytes) {
                ranges = union(ranges, resolved(all, text).ranges);
            }
        }
        if may_have_lines(text) {
            let line = OneLine::of(text.as_bytes());
            if !line.was_one() && all.is_in(&line.bytes) {
                ranges = union(ranges, in_lines(all, text, &line).ranges);
            }
            if has_escapes(text) {
                let mut bytes = Vec::with_capacity(text.len());
                line.each_unescaped(|byte, _| bytes.push(byte));
                if all.is_in(&bytes) {
                    ranges = union(ranges, resolved_in_lines(all, text, &line).ranges);
                }
            }
        }
        if let Some(long) = self.long.as_ref().filter(|_| is_broken(text)) {
            let mut bytes = Vec::with_capacity(text.len());
            joined(text.as_bytes(), |byte, _| bytes.push(byte));
            if long.is_in(&bytes)
                && let Some(mut walk) = long.walk()
            {
                joined(text.as_bytes(), |byte, from| walk.take(byte, from));
                ranges = union(ranges, walk.end(text.len()).ranges);
            }
        }
        ranges
    }

    /// Ranges of secrets in a text that may continue, and the start of a possible secret at its end. Secrets with white space
    /// other than line breaks are left to [`find`](Self::find), because their extent is unbounded.
    pub(super) fn find_open(&self, text: &str) -> Found {
        let Some(all) = &self.all else { return Found { ranges: Vec::new(), open: text.len() } };
        let mut found = all.find(text.as_bytes());
        // All other views begin with a line break or an escape.
        if !may_have_lines(text) {
            return found;
        }
        let mut add = |other: Found| {
            found.ranges = union(std::mem::take(&mut found.ranges), other.ranges);
            found.open = found.open.min(other.open);
        };
        if has_escapes(text) {
            add(resolved(all, text));
        }
        let line = OneLine::of(text.as_bytes());
        add(in_lines(all, text, &line));
        if has_escapes(text) {
            add(resolved_in_lines(all, text, &line));
        }
        found
    }
}

fn resolved(matcher: &Matcher, text: &str) -> Found {
    let Some(mut walk) = matcher.walk() else { return Found::default() };
    let cut = unescaped(text.as_bytes(), |byte, from| walk.take(byte, from));
    let found = walk.end(text.len());
    Found { open: found.open.min(cut), ..found }
}

fn in_lines(matcher: &Matcher, text: &str, line: &OneLine<'_>) -> Found {
    let Some(mut walk) = matcher.walk() else { return Found::default() };
    line.each(|byte, from| walk.take(byte, from));
    walk.end(text.len())
}

fn resolved_in_lines(matcher: &Matcher, text: &str, line: &OneLine<'_>) -> Found {
    let Some(mut walk) = matcher.walk() else { return Found::default() };
    let cut = line.each_unescaped(|byte, from| walk.take(byte, from));
    let found = walk.end(text.len());
    Found { open: found.open.min(cut), ..found }
}

/// Whether the text may have line breaks, as they are or as escapes.
fn may_have_lines(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'\n' | b'\r' | b'\\' | b'%'))
}

/// Whether white space within the text may have to be left out.
fn is_broken(text: &str) -> bool {
    text.len() >= MIN_BROKEN_BYTES
        && (text.bytes().any(|byte| byte.is_ascii_whitespace()) || text.contains('\\'))
}

/// A secret, and those parts of it that are secrets by themselves.
fn parts(secret: &str) -> Vec<Vec<u8>> {
    let secret = secret.trim();
    let mut parts = vec![secret.as_bytes().to_vec()];
    let mut add = |part: &str| {
        if part.len() >= MIN_PART_BYTES && part.len() < secret.len() {
            parts.push(part.as_bytes().to_vec());
        }
    };
    if let Some((scheme, token)) = secret.split_once(char::is_whitespace) {
        // The value of a header: `Bearer TOKEN`, `Basic BASE64`.
        let token = token.trim();
        if scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) {
            add(token);
        }
        if scheme.eq_ignore_ascii_case("basic")
            && let Some(login) =
                BASE64.decode(token.as_bytes()).ok().and_then(|login| String::from_utf8(login).ok())
        {
            add(&login);
            add(login.split_once(':').map_or("", |(_, password)| password));
        }
    }
    if secret.contains('\n') {
        // A private key: its first and last lines are those of every key.
        secret.lines().map(str::trim).filter(|line| !line.starts_with("---")).for_each(&mut add);
    }
    if secret.contains(' ') {
        parts.push(secret.replace(' ', "+").into_bytes());
    }
    parts
}

/// Encodings of a secret in base64 and hexadecimal: alone, and within a longer encoded text.
fn encodings(secret: &[u8]) -> Vec<Vec<u8>> {
    if secret.len() < Secret::MIN_MASKED_BYTES {
        return Vec::new();
    }
    let mut forms: Vec<String> = [BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, HEXLOWER, HEXUPPER]
        .iter()
        .map(|encoding| encoding.encode(secret))
        .collect();
    for before in 0..3_usize {
        let mut bytes = vec![0; before];
        bytes.extend_from_slice(secret);
        // Characters that also hold bits of a neighbour are not part of it.
        let own = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
        for encoding in [BASE64_NOPAD, BASE64URL_NOPAD] {
            forms.extend(encoding.encode(&bytes).get(own.clone()).map(str::to_owned));
        }
    }
    // As fingerprints and keys are printed: `aa:bb:cc`.
    for digits in [HEXLOWER.encode(secret), HEXUPPER.encode(secret)] {
        let pairs: Vec<&str> =
            digits.as_bytes().chunks(2).filter_map(|pair| std::str::from_utf8(pair).ok()).collect();
        forms.push(pairs.join(":"));
    }
    forms.retain(|form| form.len() >= MIN_ENCODED_CHARS);
    forms.into_iter().map(String::into_bytes).collect()
}
