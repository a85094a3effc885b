//! Owns the look at an event with half characters: where its pieces of texts stand, and what is to be replaced in it.

use std::ops::Range;

use crate::wires::PiecedTexts;

/// The escape that stands for a half without its other one.
pub(super) const REPLACEMENT: &[u8] = b"\\ufffd";

/// The length of an escape such as `\ud83d`.
pub(super) const ESCAPE: usize = 6;

/// The deepest objects and lists that are looked into: no piece stands deeper.
const MAX_DEPTH: usize = 32;

/// The most pieces of one event whose halves are joined.
const MAX_PIECES: usize = 65_536;

/// A change of an event.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) at: usize,
    /// The number of bytes that are left out.
    pub(super) length: usize,
    pub(super) with: Vec<u8>,
}

impl Edit {
    /// The replacement of a half.
    pub(super) fn replaced(at: usize) -> Self {
        Self { at, length: ESCAPE, with: REPLACEMENT.to_vec() }
    }
}

/// A text that comes in pieces, in one event.
#[derive(Debug)]
pub(super) struct Piece {
    /// The number of its path.
    pub(super) path: usize,
    /// Where it stands, without its quotes.
    pub(super) span: Range<usize>,
    /// The second half that it begins with, and the first half that it ends with.
    pub(super) first: Option<u16>,
    pub(super) last: Option<u16>,
    key: Range<usize>,
    within: usize,
}

/// An object or a list that has pieces.
#[derive(Debug)]
struct Holder {
    parent: Option<usize>,
    key: Range<usize>,
    is_list: bool,
    /// The marks that identify its texts: the number of the rule and of the field, the field and its value.
    identities: Vec<(usize, usize, Range<usize>, Range<usize>)>,
    /// Fields without which a piece is not understood.
    needed: Vec<(Range<usize>, Range<usize>)>,
    begun: Option<Range<usize>>,
}

impl Holder {
    /// The field by which a rule identifies its texts, and its value.
    fn identity(&self, rule: usize) -> Option<(&Range<usize>, &Range<usize>)> {
        let of_rule = self.identities.iter().filter(|identity| identity.0 == rule);
        of_rule.min_by_key(|identity| identity.1).map(|(.., key, value)| (key, value))
    }
}

/// An object or a list that is open.
#[derive(Debug)]
struct Level {
    holder: usize,
    is_list: bool,
    /// The length of its path, and the number of pieces before it.
    path: usize,
    pieces: usize,
}

/// The findings in an event.
pub(super) struct Scan<'d> {
    pub(super) data: &'d [u8],
    texts: &'static PiecedTexts,
    pub(super) pieces: Vec<Piece>,
    pub(super) edits: Vec<Edit>,
    /// Whether a field says that all texts are over.
    pub(super) is_over: bool,
    /// Whether the object that holds texts open says no more that it goes on, and whether one of its kind begins.
    pub(super) is_closed: bool,
    pub(super) has_begun: bool,
    holders: Vec<Holder>,
    open: Vec<Level>,
    deeper: usize,
    path: Vec<u8>,
    key: Range<usize>,
    at: usize,
}

impl<'d> Scan<'d> {
    pub(super) fn of(data: &'d [u8], texts: &'static PiecedTexts) -> Self {
        let mut scan = Self {
            data,
            texts,
            pieces: Vec::new(),
            edits: Vec::new(),
            is_over: false,
            is_closed: false,
            has_begun: false,
            holders: Vec::new(),
            open: Vec::new(),
            deeper: 0,
            path: Vec::new(),
            key: 0..0,
            at: 0,
        };
        while scan.step() {}
        scan
    }

    pub(super) fn bytes(&self, span: &Range<usize>) -> &'d [u8] {
        self.data.get(span.clone()).unwrap_or_default()
    }

    fn step(&mut self) -> bool {
        let Some(byte) = self.data.get(self.at) else { return false };
        match byte {
            b'{' | b'[' => self.begin(*byte == b'['),
            b'}' | b']' => self.end(),
            b'"' => {
                self.text();
                return true;
            }
            b'-' | b'+' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                let rest = self.data.get(self.at..).unwrap_or_default();
                let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"{}[],:\"".contains(byte);
                let length = rest.iter().position(is_end).unwrap_or(rest.len());
                let span = self.at..self.at + length;
                self.value(span.clone());
                self.at = span.end;
                return true;
            }
            _ => {}
        }
        self.at += 1;
        true
    }

    fn begin(&mut self, is_list: bool) {
        if self.deeper > 0 || self.open.len() == MAX_DEPTH {
            self.deeper += 1;
            return;
        }
        let holder = self.holders.len();
        self.holders.push(Holder {
            parent: self.open.last().map(|level| level.holder),
            key: self.key.clone(),
            is_list,
            identities: Vec::new(),
            needed: Vec::new(),
            begun: None,
        });
        self.open.push(Level { holder, is_list, path: self.path.len(), pieces: self.pieces.len() });
    }

    fn end(&mut self) {
        if self.deeper > 0 {
            self.deeper -= 1;
            return;
        }
        let Some(level) = self.open.pop() else { return };
        self.path.truncate(level.path);
        if !level.is_list {
            self.ended(&level);
        }
        // The event's own fields name what it is about, even if it has no piece.
        if self.pieces.len() == level.pieces && level.holder > 0 {
            self.holders.truncate(level.holder);
        }
    }

    /// An object ends that may say that a text ends or begins.
    fn ended(&mut self, level: &Level) {
        let Some(holder) = self.holders.get(level.holder) else { return };
        let is_at = |path: &str| path.as_bytes() == self.path;
        if self.texts.open_by.is_some_and(|(at, _)| is_at(at)) {
            let goes_on = |(key, _): &(Range<usize>, Range<usize>)| {
                let key = self.bytes(key);
                self.texts.open_by.is_some_and(|(_, by)| key.get(1..key.len() - 1) == Some(by.as_bytes()))
            };
            self.is_closed |= !holder.needed.iter().any(goes_on);
            self.has_begun |= holder.begun.is_some();
        }
        let begun = self.texts.begun_by.filter(|(at, ..)| is_at(at) && holder.begun.is_some());
        if let Some((.., Some(path))) = begun
            && self.pieces.len() == level.pieces
        {
            // Another text begins even where nothing of it comes.
            let path = self.texts.pieces.iter().position(|piece| *piece == path).unwrap_or(usize::MAX);
            let (span, key, within) = (self.at..self.at, 0..0, level.holder);
            self.pieces.push(Piece { path, span, first: None, last: None, key, within });
        }
    }

    /// A text: a field's name, or a value.
    fn text(&mut self) {
        let begin = self.at + 1;
        let (mut end, mut halves) = (begin, Vec::new());
        loop {
            let rest = self.data.get(end..).unwrap_or_default();
            let Some(found) = memchr::memchr2(b'"', b'\\', rest) else {
                end = self.data.len();
                break;
            };
            end += found;
            if self.data.get(end) == Some(&b'"') {
                break;
            }
            match unit(self.data.get(end..).unwrap_or_default()) {
                Some(unit @ 0xd800..0xe000) => {
                    halves.push((end, unit));
                    end += ESCAPE;
                }
                Some(_) => end += ESCAPE,
                None => end += 2,
            }
        }
        let span = begin..end.min(self.data.len());
        self.at = span.end + 1;
        let behind = self.data.get(self.at..).unwrap_or_default().trim_ascii_start();
        let is_key = behind.first() == Some(&b':') && self.open.last().is_some_and(|level| !level.is_list);
        if is_key && self.deeper == 0 {
            self.name(&span);
        }
        let lone = lone(&halves);
        let path = (!is_key && self.deeper == 0 && self.pieces.len() < MAX_PIECES)
            .then(|| self.texts.pieces.iter().position(|path| path.as_bytes() == self.path))
            .flatten();
        let Some(path) = path else {
            self.edits.extend(lone.iter().map(|(at, _)| Edit::replaced(*at)));
            if !is_key {
                self.value(begin - 1..span.end + 1);
            }
            return;
        };
        let mut piece = Piece {
            path,
            first: None,
            last: None,
            key: self.key.clone(),
            within: self.open.last().map_or(0, |level| level.holder),
            span,
        };
        for (at, unit) in lone {
            if unit < 0xdc00 && at + ESCAPE == piece.span.end {
                piece.last = Some(unit);
            } else if unit >= 0xdc00 && at == piece.span.start {
                piece.first = Some(unit);
            } else {
                self.edits.push(Edit::replaced(at));
            }
        }
        self.pieces.push(piece);
    }

    /// The name of the field that follows.
    fn name(&mut self, span: &Range<usize>) {
        let Some(level) = self.open.last() else { return };
        self.path.truncate(level.path);
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(self.data.get(span.clone()).unwrap_or_default());
        self.key = span.start - 1..span.end + 1;
    }

    /// A value that is no piece, with its quotes.
    fn value(&mut self, span: Range<usize>) {
        let value = self.data.get(span.clone()).unwrap_or_default();
        if self.deeper > 0 || matches!(value, b"null" | b"false" | b"\"\"") {
            return;
        }
        let Some(level) = self.open.last().filter(|level| !level.is_list) else { return };
        let path = self.path.as_slice();
        self.is_over |= self.texts.over_by.is_some_and(|over| over.as_bytes() == path);
        let name = self.data.get(self.key.start + 1..self.key.end.saturating_sub(1)).unwrap_or_default();
        let at = path.get(..level.path).unwrap_or_default();
        let Some(holder) = self.holders.get_mut(level.holder) else { return };
        if matches!(name, b"type" | b"item_id" | b"willContinue") {
            holder.needed.push((self.key.clone(), span.clone()));
        }
        for (rule, identified) in self.texts.identified_by.iter().enumerate() {
            let by = identified.by.iter().position(|by| by.as_bytes() == name);
            if let Some(by) = by.filter(|_| identified.at.as_bytes() == at) {
                holder.identities.push((rule, by, self.key.clone(), span.clone()));
            }
        }
        if self.texts.begun_by.is_some_and(|(of, by, _)| of.as_bytes() == at && by.as_bytes() == name) {
            holder.begun = Some(span);
        }
    }

    /// The objects and lists around a piece, from the inside.
    fn around(&self, piece: &Piece) -> impl Iterator<Item = &Holder> {
        let first = self.holders.get(piece.within);
        std::iter::successors(first, |holder| holder.parent.and_then(|parent| self.holders.get(parent)))
    }

    /// The values that identify the text of a piece, by the rules.
    pub(super) fn identity(&self, piece: &Piece) -> Vec<Option<Vec<u8>>> {
        let rules = 0..self.texts.identified_by.len();
        let value = |rule| self.around(piece).find_map(|holder| holder.identity(rule));
        rules.map(|rule| value(rule).map(|(_, value)| self.bytes(value).to_vec())).collect()
    }

    /// The values that the event itself identifies its texts by.
    pub(super) fn identified_by_event(&self) -> Vec<Option<Vec<u8>>> {
        let root = self.holders.first();
        let value = |rule| root.and_then(|root| root.identity(rule));
        let rules = 0..self.texts.identified_by.len();
        rules.map(|rule| value(rule).map(|(_, value)| self.bytes(value).to_vec())).collect()
    }

    /// The value that says whether another text begins with a piece.
    pub(super) fn begun(&self, piece: &Piece) -> Option<&'d [u8]> {
        self.around(piece).find_map(|holder| holder.begun.as_ref()).map(|span| self.bytes(span))
    }

    /// The type of the event.
    pub(super) fn kind(&self) -> Option<&'d [u8]> {
        let root = self.holders.first()?;
        let (_, value) = root.needed.iter().find(|(key, _)| self.bytes(key) == b"\"type\"")?;
        self.bytes(value).strip_prefix(b"\"")?.strip_suffix(b"\"")
    }

    /// An event in which a piece says only that a half stays alone.
    pub(super) fn rest(&self, piece: &Piece) -> Vec<u8> {
        let mut value = [&b"\""[..], REPLACEMENT, b"\""].concat();
        let mut key = &piece.key;
        for holder in self.around(piece) {
            let (before, behind): (&[u8], &[u8]) = if holder.is_list { (b"[", b"]") } else { (b"{", b"}") };
            let mut out = before.to_vec();
            if !holder.is_list {
                let rules = 0..self.texts.identified_by.len();
                let identities = rules.filter_map(|rule| holder.identity(rule));
                let needed = holder.needed.iter().map(|(key, value)| (key, value));
                let mut written: Vec<&[u8]> = Vec::new();
                for (key, value) in identities.chain(needed) {
                    let key = self.bytes(key);
                    if !written.contains(&key) {
                        written.push(key);
                        out.extend_from_slice(&[key, b":", self.bytes(value), b","].concat());
                    }
                }
                out.extend_from_slice(self.bytes(key));
                out.push(b':');
            }
            out.extend_from_slice(&value);
            out.extend_from_slice(behind);
            (value, key) = (out, &holder.key);
        }
        value
    }
}

/// The halves that have no other one beside them.
fn lone(halves: &[(usize, u16)]) -> Vec<(usize, u16)> {
    let (mut lone, mut rest) = (Vec::new(), halves);
    while let [(at, unit), behind @ ..] = rest {
        rest = behind;
        match behind {
            [(next, second), others @ ..] if *unit < 0xdc00 && *second >= 0xdc00 && *next == at + ESCAPE => {
                rest = others;
            }
            _ => lone.push((*at, *unit)),
        }
    }
    lone
}

/// The number of an escape at the beginning, such as `\ud83d`.
fn unit(data: &[u8]) -> Option<u16> {
    let digits = data.strip_prefix(b"\\u")?.get(..4)?;
    digits
        .iter()
        .try_fold(0, |unit, digit| Some((unit << 4) | u16::try_from(char::from(*digit).to_digit(16)?).ok()?))
}
