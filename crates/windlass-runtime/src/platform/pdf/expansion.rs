//! How many bytes the streams of a file have when they are decompressed, before the parser decompresses them without a bound.
//!
//! Every stream of the raw file is looked at, since any of them may hold objects. Bytes of an encrypted file say nothing about that, and
//! it is refused.

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

use super::Stop;
use crate::platform::error::pdf::PdfError;

/// Maximum decompressed length of a stream.
pub(super) const MAX_STREAM_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum decompressed length of all streams together.
const MAX_FILE_BYTES: u64 = 512 * 1024 * 1024;
/// The most bytes that DEFLATE makes of one (RFC 1951: 258 bytes of two bits).
const DEFLATE_RATIO: u64 = 1_032;
/// The most bytes that LZW makes of one: codes of 12 bits for strings that grow to 4,096 bytes.
const LZW_RATIO: u64 = 1_366;
/// The most bytes that a run of two bytes stands for.
const RUN_RATIO: u64 = 64;

/// Refuses a file that is encrypted or decompresses to too much.
pub(super) fn check(bytes: &[u8], stop: &Stop) -> Result<(), PdfError> {
    if names(bytes).any(|(name, _)| name == b"Encrypt") {
        return Err(PdfError::Encrypted);
    }
    let (mut total, mut from, mut scan) = (0_u64, 0, Scan { bytes, keyword: 0 });
    while let Some(at) = find(bytes, b"stream", from) {
        let before = bytes.get(from..at).unwrap_or_default();
        from = at + b"stream".len();
        let Some(start) = begin(bytes, at) else { continue };
        stop.check()?;
        let size = scan.expanded(dictionary(before), start);
        total = total.saturating_add(size);
        if size > MAX_STREAM_BYTES {
            return Err(PdfError::Expands { most: MAX_STREAM_BYTES });
        }
        if total > MAX_FILE_BYTES {
            return Err(PdfError::Expands { most: MAX_FILE_BYTES });
        }
    }
    Ok(())
}

/// Where the data of the stream begins whose keyword is at `at`; `None`: the keyword is something else.
fn begin(bytes: &[u8], at: usize) -> Option<usize> {
    if at >= 3 && bytes.get(at - 3..at) == Some(b"end") {
        return None;
    }
    let after = at + b"stream".len();
    match (bytes.get(after), bytes.get(after + 1)) {
        (Some(b'\r'), Some(b'\n')) => Some(after + 2),
        (Some(b'\r' | b'\n'), _) => Some(after + 1),
        _ => None,
    }
}

/// The part of some bytes that begins the last object in them.
fn dictionary(before: &[u8]) -> &[u8] {
    let begins = before.windows(3).rposition(|word| word == b"obj").unwrap_or(0);
    before.get(begins..).unwrap_or_default()
}

/// The filters that a dictionary names, as far as they expand data.
#[derive(Default)]
struct Filters {
    deflate: u32,
    lzw: u32,
    runs: u32,
    ascii85: bool,
    /// They stand in another object.
    elsewhere: bool,
}

impl Filters {
    fn of(dictionary: &[u8]) -> Self {
        let mut filters = Self::default();
        for (name, rest) in names(dictionary) {
            match name.as_slice() {
                b"FlateDecode" | b"Fl" => filters.deflate += 1,
                b"LZWDecode" | b"LZW" => filters.lzw += 1,
                b"RunLengthDecode" | b"RL" => filters.runs += 1,
                b"ASCII85Decode" | b"A85" => filters.ascii85 = true,
                b"Filter" | b"F" => {
                    let first = rest.iter().find(|byte| !byte.is_ascii_whitespace());
                    filters.elsewhere |= first.is_some_and(u8::is_ascii_digit);
                }
                _ => {}
            }
        }
        filters
    }
}

/// A file that is looked through from its beginning to its end.
struct Scan<'b> {
    bytes: &'b [u8],
    /// Where the last `endstream` was found, which may lie ahead.
    keyword: usize,
}

impl Scan<'_> {
    /// The decompressed length of the stream whose data begin at `start`, or an upper bound of it where they are damaged.
    fn expanded(&mut self, dictionary: &[u8], start: usize) -> u64 {
        let filters = Filters::of(dictionary);
        let counts = (filters.deflate, filters.lzw, filters.runs);
        let data = self.bytes.get(start..).unwrap_or_default();
        if counts == (0, 0, 0) && !filters.elsewhere {
            // A filter may be named where it is not looked for. Other data than deflated ones end at once.
            return inflated(data).unwrap_or_else(|before| before);
        }
        let length = self.extent(dictionary, start);
        let bounded = |ratio: u64| (length as u64).saturating_mul(ratio);
        let inflated =
            |data: &[u8], ratio| inflated(data).unwrap_or_else(|before| before.max(bounded(ratio)));
        match counts {
            (0, 0, 0) => inflated(data, LZW_RATIO),
            (1, 0, 0) if filters.ascii85 => {
                inflated(&from_ascii85(data.get(..length).unwrap_or_default()), DEFLATE_RATIO)
            }
            (1, 0, 0) => inflated(data, DEFLATE_RATIO),
            (0, 1, 0) => bounded(LZW_RATIO),
            (0, 0, 1) => bounded(RUN_RATIO),
            // No program compresses twice, other than to expand a few bytes to any number.
            _ => u64::MAX,
        }
    }

    /// The length of a stream's data as far as they may reach: to the declared length or the keyword, whichever comes later.
    fn extent(&mut self, dictionary: &[u8], start: usize) -> usize {
        let most = self.bytes.len().saturating_sub(start);
        if self.keyword < start {
            self.keyword = find(self.bytes, b"endstream", start).unwrap_or(self.bytes.len());
        }
        let declared = names(dictionary).find(|(name, _)| name == b"Length").map(|(_, rest)| {
            let mut words = rest.split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
            let number = words.next().and_then(|word| std::str::from_utf8(word).ok()?.parse().ok());
            let is_reference = words.nth(1) == Some(b"R");
            if is_reference { most } else { number.unwrap_or(0) }
        });
        (self.keyword - start).max(declared.unwrap_or(0)).min(most)
    }
}

/// The length of inflated data, counted no further than the bound; as an error the length before the place where they are damaged.
fn inflated(data: &[u8]) -> Result<u64, u64> {
    let is_zlib = match data {
        [method, flags, ..] => {
            method & 0x0f == 8
                && u16::from_be_bytes([*method, *flags]).is_multiple_of(31)
                && flags & 0x20 == 0
        }
        _ => false,
    };
    let format = if is_zlib { DataFormat::ZLibIgnoreChecksum } else { DataFormat::Raw };
    let mut state = InflateState::new_boxed(format);
    let mut out = vec![0; 64 * 1024];
    let (mut left, mut length) = (data, 0_u64);
    while length <= MAX_STREAM_BYTES {
        let step = inflate(&mut state, left, &mut out, MZFlush::None);
        left = left.get(step.bytes_consumed..).unwrap_or_default();
        length += step.bytes_written as u64;
        match step.status {
            Ok(MZStatus::StreamEnd) => return Ok(length),
            Ok(_) if step.bytes_consumed > 0 || step.bytes_written > 0 => {}
            Ok(_) | Err(_) => return Err(length),
        }
    }
    Ok(length)
}

/// Decodes base 85 (ISO 32000-1, 7.4.3) up to its end mark.
fn from_ascii85(text: &[u8]) -> Vec<u8> {
    let (mut decoded, mut group, mut count) = (Vec::with_capacity(text.len()), 0_u32, 0);
    for byte in text {
        match byte {
            b'z' if count == 0 => decoded.extend([0; 4]),
            b'!'..=b'u' => {
                group = group.wrapping_mul(85).wrapping_add(u32::from(byte - b'!'));
                count += 1;
                if count == 5 {
                    decoded.extend(group.to_be_bytes());
                    (group, count) = (0, 0);
                }
            }
            b'~' => break,
            _ => {}
        }
    }
    if count > 1 {
        for _ in count..5 {
            group = group.wrapping_mul(85).wrapping_add(84);
        }
        decoded.extend(group.to_be_bytes().into_iter().take(count - 1));
    }
    decoded
}

fn find(bytes: &[u8], word: &[u8], from: usize) -> Option<usize> {
    Some(from + bytes.get(from..)?.windows(word.len()).position(|window| window == word)?)
}

/// The names in some bytes, without escapes (ISO 32000-1, 7.3.5), and the bytes behind each.
fn names(bytes: &[u8]) -> impl Iterator<Item = (Vec<u8>, &[u8])> {
    let starts = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1);
    starts.map(|start| {
        let rest = bytes.get(start..).unwrap_or_default();
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\0/[]<>(){}%".contains(byte);
        let end = rest.iter().take(MAX_NAME_BYTES).position(is_end).unwrap_or(rest.len().min(MAX_NAME_BYTES));
        let (name, rest) = rest.split_at(end);
        (unescaped(name), rest)
    })
}

/// No name that matters here is longer, escapes included.
const MAX_NAME_BYTES: usize = 64;

fn unescaped(name: &[u8]) -> Vec<u8> {
    let (mut plain, mut at) = (Vec::with_capacity(name.len()), 0);
    while let Some(byte) = name.get(at) {
        let digits = name.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) if *byte == b'#' => {
                plain.push(escaped);
                at += 3;
            }
            _ => {
                plain.push(*byte);
                at += 1;
            }
        }
    }
    plain
}
