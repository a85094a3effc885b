//! The characters of codes in fonts that declare no mapping to Unicode (ISO 32000-1, Annex D), and of glyphs by name.

use std::collections::HashMap;
use std::sync::OnceLock;

/// An encoding of simple fonts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Standard,
    WinAnsi,
    MacRoman,
}

/// Names of glyphs and their characters, as fonts for Latin and Greek scripts and for mathematics name them.
const GLYPH_NAMES: &str = include_str!("glyph_names.txt");

/// The characters of StandardEncoding from 0xA1 on. A space: none.
const STANDARD: &str =
    "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ –†‡· ¶•‚„”»…‰ ¿ `´ˆ˜¯˘˙¨ ˚¸ ˝˛ˇ—                Æ ª    ŁØŒº     æ   ı  łøœß";

/// The characters of WinAnsiEncoding from 0x80 to 0x9F; undefined codes are bullets.
const WIN_ANSI: &str = "€•‚ƒ„…†‡ˆ‰Š‹Œ•Ž••‘’“”•–—˜™š›œ•žŸ";

/// The characters of MacRomanEncoding from 0x80 on.
const MAC_ROMAN: &str = "ÄÅÇÉÑÖÜáàâäãåçéèêëíìîïñóòôöõúùûü†°¢£§•¶ß®©™´¨≠ÆØ∞±≤≥¥µ∂∑∏π∫ªºΩæø¿¡¬√ƒ≈∆«»… ÀÃÕŒœ–—“”‘’÷◊ÿŸ⁄¤‹›ﬁﬂ‡·‚„‰ÂÊÁËÈÍÎÏÌÓÔ\u{f8ff}ÒÚÛÙıˆ˜¯˘˙˚¸˝˛ˇ";

impl Encoding {
    /// The encoding of that name; `None`: it has no name here.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        match name {
            b"StandardEncoding" => Some(Self::Standard),
            b"WinAnsiEncoding" => Some(Self::WinAnsi),
            b"MacRomanEncoding" => Some(Self::MacRoman),
            _ => None,
        }
    }

    /// The character of a code.
    pub(super) fn character(self, code: u8) -> Option<char> {
        let from = |table: &str, first: u8| {
            let at = usize::from(code.checked_sub(first)?);
            table.chars().nth(at).filter(|character| *character != ' ')
        };
        match (self, code) {
            (Self::Standard, b'\'') => Some('’'),
            (Self::Standard, b'`') => Some('‘'),
            (_, b' '..=b'~') | (Self::WinAnsi, 0xa0..) => Some(char::from(code)),
            (Self::Standard, _) => from(STANDARD, 0xa1),
            (Self::WinAnsi, 0x80..=0x9f) => from(WIN_ANSI, 0x80),
            (Self::MacRoman, 0xca) => Some(' '),
            (Self::MacRoman, 0x80..) => from(MAC_ROMAN, 0x80),
            (Self::WinAnsi | Self::MacRoman, _) => None,
        }
    }
}

/// The text of a glyph by its name: `eacute`, `f_i`, `uni20AC`, `u1F600`, each perhaps with a suffix as in `a.alt`.
pub(super) fn glyph_text(name: &str) -> Option<String> {
    let name = name.split('.').next().filter(|name| !name.is_empty())?;
    name.split('_').map(glyph).collect()
}

fn glyph(name: &str) -> Option<char> {
    static NAMES: OnceLock<HashMap<&str, char>> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let pair = |line: &'static str| {
            let (name, character) = line.split_once(' ')?;
            Some((name, character.chars().next()?))
        };
        GLYPH_NAMES.lines().filter_map(pair).collect()
    });
    let by_number = |digits: &str| char::from_u32(u32::from_str_radix(digits, 16).ok()?);
    match name {
        "space" | "nbspace" | "nonbreakingspace" => Some(' '),
        _ => names.get(name).copied().or_else(|| match (name.strip_prefix("uni"), name.strip_prefix('u')) {
            (Some(digits), _) if digits.len() >= 4 => by_number(digits.get(..4)?),
            (_, Some(digits)) if (4..=6).contains(&digits.len()) => by_number(digits),
            _ => None,
        }),
    }
}
