//! Fonts as far as text needs them: the characters of codes, and how far each moves the pen. Font programs are not read.

use std::collections::HashMap;

use hayro_cmap::{BfString, CMap};
use hayro_syntax::object::{Array, Dict, Name, Number, Object, Stream};

use super::encodings::{Encoding, glyph_text};

/// Stands for a code whose character the file does not tell.
pub(super) const UNKNOWN: char = '\u{fffd}';
/// Maximum length of a mapping to Unicode, decompressed.
const MAX_MAPPING_BYTES: usize = 4 * 1024 * 1024;
/// Maximum number of widths of a font.
const MAX_WIDTHS: usize = 65_536;

/// A font of a page.
#[derive(Debug)]
pub(super) struct Font {
    codes: Codes,
    to_unicode: Option<CMap>,
    widths: HashMap<u32, f64>,
    /// The width of codes without one, in thousandths of the size; `None`: it is estimated by the character.
    default_width: Option<f64>,
}

#[derive(Debug)]
enum Codes {
    /// One byte a code, with the encoding and the glyphs that differ from it.
    Simple { encoding: Encoding, differences: HashMap<u8, Option<String>> },
    /// Two bytes a code: indices of glyphs, which say nothing by themselves.
    Composite,
    /// Two bytes a code: UTF-16 (the predefined CMaps whose names begin with `Uni`).
    Utf16,
}

/// One code of a text.
pub(super) struct Code {
    pub(super) text: String,
    /// How far it moves the pen, in thousandths of the font's size.
    pub(super) width: f64,
    /// Whether word spacing is added: the single byte 32 (ISO 32000-1, 9.3.3).
    pub(super) is_word_end: bool,
}

impl Font {
    pub(super) fn new(dict: &Dict<'_>) -> Self {
        let to_unicode = dict
            .get::<Stream<'_>>("ToUnicode")
            .and_then(|stream| stream.decoded_data().ok())
            .filter(|data| data.len() <= MAX_MAPPING_BYTES)
            .and_then(|data| CMap::parse(&data, |_| None));
        let subtype = dict.get::<Name<'_>>("Subtype");
        let is = |name: &[u8]| subtype.as_deref() == Some(name);
        if is(b"Type0") {
            let descendant =
                dict.get::<Array<'_>>("DescendantFonts").and_then(|all| all.iter::<Dict<'_>>().next());
            let (widths, default) = descendant.map_or_else(Default::default, |font| composite_widths(&font));
            let encoding = dict.get::<Name<'_>>("Encoding");
            let is_unicode = encoding.as_deref().is_some_and(|name| name.starts_with(b"Uni"));
            // Widths are by glyph, and which glyph a character has stands in the predefined CMap only.
            let widths = if is_unicode { HashMap::new() } else { widths };
            let codes = if is_unicode { Codes::Utf16 } else { Codes::Composite };
            return Self { codes, to_unicode, widths, default_width: Some(default.unwrap_or(1000.0)) };
        }
        let default_encoding = if is(b"TrueType") { Encoding::WinAnsi } else { Encoding::Standard };
        let codes = simple_codes(dict, default_encoding);
        // Glyphs of Type 3 fonts have their own unit.
        let unit = if is(b"Type3") { type3_unit(dict) } else { 1.0 };
        let (widths, default_width) = simple_widths(dict, unit);
        Self { codes, to_unicode, widths, default_width }
    }

    /// The codes of a text, in order.
    pub(super) fn codes<'f>(&'f self, bytes: &'f [u8]) -> impl Iterator<Item = Code> + 'f {
        let length = if matches!(self.codes, Codes::Simple { .. }) { 1 } else { 2 };
        bytes.chunks(length).map(move |code| {
            let number = code.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
            let text = self.text(number);
            let width =
                self.widths.get(&number).copied().or(self.default_width).unwrap_or_else(|| estimated(&text));
            Code { text, width, is_word_end: code == b" " }
        })
    }

    fn text(&self, code: u32) -> String {
        let mapped = self.to_unicode.as_ref().and_then(|map| map.lookup_bf_string(code));
        match mapped {
            Some(BfString::Char(character)) if character != '\0' => return clean(&character.to_string()),
            Some(BfString::String(text)) => return clean(&text),
            Some(BfString::Char(_)) | None => {}
        }
        let text = match &self.codes {
            Codes::Simple { encoding, differences } => match u8::try_from(code) {
                Ok(code) => match differences.get(&code) {
                    Some(glyph) => glyph.clone(),
                    None => encoding.character(code).map(String::from),
                },
                Err(_) => None,
            },
            Codes::Utf16 => char::from_u32(code).map(String::from),
            Codes::Composite => None,
        };
        text.map_or_else(|| UNKNOWN.to_string(), |text| clean(&text))
    }
}

/// A text without control characters, its ligatures as the letters that they join.
fn clean(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            'ﬀ' => clean.push_str("ff"),
            'ﬁ' => clean.push_str("fi"),
            'ﬂ' => clean.push_str("fl"),
            'ﬃ' => clean.push_str("ffi"),
            'ﬄ' => clean.push_str("ffl"),
            '\u{a0}' | '\t' | '\r' | '\n' => clean.push(' '),
            // A soft hyphen is drawn where a word is divided.
            '\u{ad}' => clean.push('-'),
            other if other.is_control() => {}
            other => clean.push(other),
        }
    }
    clean
}

fn simple_codes(dict: &Dict<'_>, default_encoding: Encoding) -> Codes {
    let mut encoding = default_encoding;
    let mut differences = HashMap::new();
    match dict.get::<Object<'_>>("Encoding") {
        Some(Object::Name(name)) => encoding = Encoding::named(&name).unwrap_or(default_encoding),
        Some(Object::Dict(changed)) => {
            if let Some(base) = changed.get::<Name<'_>>("BaseEncoding") {
                encoding = Encoding::named(&base).unwrap_or(default_encoding);
            }
            let mut next = 0_u8;
            for item in changed.get::<Array<'_>>("Differences").iter().flat_map(Array::iter::<Object<'_>>) {
                match item {
                    Object::Number(code) => next = u8::try_from(code.as_i64()).unwrap_or(u8::MAX),
                    Object::Name(glyph) => {
                        differences.insert(next, glyph_text(&String::from_utf8_lossy(&glyph)));
                        next = next.wrapping_add(1);
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
    Codes::Simple { encoding, differences }
}

/// The widths of a simple font, and of the codes without one.
fn simple_widths(dict: &Dict<'_>, unit: f64) -> (HashMap<u32, f64>, Option<f64>) {
    let Some(widths) = dict.get::<Array<'_>>("Widths") else { return (HashMap::new(), None) };
    let first = dict.get::<u32>("FirstChar").unwrap_or(0);
    let numbered = widths.iter::<Number>().take(256).enumerate();
    let widths =
        numbered.map(|(at, width)| (first.saturating_add(at as u32), width.as_f64() * unit)).collect();
    let descriptor = dict.get::<Dict<'_>>("FontDescriptor");
    let missing = descriptor.and_then(|descriptor| descriptor.get::<Number>("MissingWidth"));
    (widths, Some(missing.map_or(0.0, |width| width.as_f64())))
}

/// How many thousandths of the size a unit of a Type 3 font has.
fn type3_unit(dict: &Dict<'_>) -> f64 {
    let scale = dict.get::<Array<'_>>("FontMatrix").and_then(|matrix| matrix.iter::<Number>().next());
    scale.map_or(1.0, |scale| scale.as_f64().abs() * 1000.0)
}

/// The widths of a composite font (ISO 32000-1, 9.7.4.3), and of the codes without one.
fn composite_widths(font: &Dict<'_>) -> (HashMap<u32, f64>, Option<f64>) {
    let default = font.get::<Number>("DW").map(|width| width.as_f64());
    let mut widths = HashMap::new();
    let Some(array) = font.get::<Array<'_>>("W") else { return (widths, default) };
    let mut items = array.iter::<Object<'_>>();
    while let Some(Object::Number(first)) = items.next() {
        let first = first.as_i64().clamp(0, i64::from(u16::MAX)) as u32;
        match (items.next(), widths.len() < MAX_WIDTHS) {
            (Some(Object::Array(each)), true) => {
                let numbered = each.iter::<Number>().take(MAX_WIDTHS).enumerate();
                widths.extend(numbered.map(|(at, width)| (first.saturating_add(at as u32), width.as_f64())));
            }
            (Some(Object::Number(last)), true) => {
                let Some(Object::Number(width)) = items.next() else { break };
                let last = last.as_i64().clamp(0, i64::from(u16::MAX)) as u32;
                widths.extend((first..=last).map(|code| (code, width.as_f64())));
            }
            _ => break,
        }
    }
    (widths, default)
}

/// About how wide a text is in a standard font, whose widths files may leave out: as in Helvetica.
fn estimated(text: &str) -> f64 {
    let of = |character: char| match character {
        'i' | 'j' | 'l' | '\'' | '|' => 222.0,
        ' ' | '.' | ',' | ':' | ';' | '!' | 'f' | 't' | 'I' | '/' | '[' | ']' => 278.0,
        'r' | '(' | ')' | '-' => 333.0,
        'm' | 'M' | '%' => 850.0,
        'w' | 'A'..='Z' => 700.0,
        _ => 556.0,
    };
    text.chars().map(of).sum()
}
