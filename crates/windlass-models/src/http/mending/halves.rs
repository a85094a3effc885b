//! Owns the halves of characters that wait for their other ones: a server cut a pair of surrogates in two pieces of one text.

use memchr::memchr_iter;

use super::scan::{ESCAPE, Edit, REPLACEMENT, Scan};
use crate::wires::PiecedTexts;

/// The most halves that wait at a time; a reply has rarely more than one.
const MAX_WAITING: usize = 64;

/// The mark at the end of some wires' streams.
const DONE: &[u8] = b"[DONE]";

/// The halves of one stream.
#[derive(Debug)]
pub(in crate::http) struct Halves {
    texts: &'static PiecedTexts,
    waiting: Vec<Waiting>,
}

/// A first half at the end of a piece, until its own text goes on or ends.
#[derive(Debug)]
struct Waiting {
    unit: u16,
    path: usize,
    identity: Vec<Option<Vec<u8>>>,
    begun: Option<Vec<u8>>,
    /// An event that says the replacement, once it is clear that the other half does not come.
    rest: Vec<u8>,
    /// The change of the event that is looked at now, if it came with it.
    here: Option<usize>,
}

/// An event in a form that can be read.
#[derive(Debug, Default)]
pub(in crate::http) struct Mended {
    /// The events that are given out before it.
    pub(in crate::http) before: Vec<Vec<u8>>,
    /// `None`: as it came.
    pub(in crate::http) data: Option<Vec<u8>>,
}

impl Halves {
    pub(in crate::http) fn new(texts: &'static PiecedTexts) -> Self {
        Self { texts, waiting: Vec::new() }
    }

    /// Joins and replaces the halves in an event. `None`: it has nothing to do with any.
    pub(in crate::http) fn take(&mut self, data: &[u8]) -> Option<Mended> {
        if self.waiting.is_empty() && !has_half(data) {
            return None;
        }
        let mut mended = Mended::default();
        if data.trim_ascii() == DONE {
            mended.before = self.rest();
            return Some(mended);
        }
        let mut scan = Scan::of(data, self.texts);
        for at in 0..scan.pieces.len() {
            self.piece(&mut scan, at, &mut mended.before);
        }
        let kind = scan.kind().unwrap_or_default();
        if scan.is_over || self.texts.over.iter().any(|over| over.as_bytes() == kind) {
            self.give_up(|_| true, &mut scan.edits, &mut mended.before);
        } else if self.texts.ends.iter().any(|end| end.as_bytes() == kind) {
            let (event, texts) = (scan.identified_by_event(), self.texts);
            let named = |waiting: &Waiting| {
                let rules = texts.identified_by.iter().zip(event.iter().zip(&waiting.identity));
                // The type tells the end from the pieces.
                rules
                    .filter(|(rule, _)| rule.by != ["type"])
                    .all(|(_, (event, own))| event.is_none() || own.is_none() || event == own)
            };
            self.give_up(named, &mut scan.edits, &mut mended.before);
        }
        if scan.is_closed || scan.has_begun {
            let texts = self.texts;
            let within = |waiting: &Waiting| {
                let path = texts.pieces.get(waiting.path).copied().unwrap_or_default();
                texts.open_by.is_some_and(|(at, _)| path.starts_with(at))
                    && (scan.is_closed || waiting.here.is_none())
            };
            self.give_up(within, &mut scan.edits, &mut mended.before);
        }
        self.waiting.iter_mut().for_each(|waiting| waiting.here = None);
        mended.data = (!scan.edits.is_empty()).then(|| edited(data, scan.edits));
        Some(mended)
    }

    /// Events that say the replacements of all halves that wait: nothing more comes.
    pub(in crate::http) fn rest(&mut self) -> Vec<Vec<u8>> {
        self.waiting.drain(..).map(|waiting| waiting.rest).collect()
    }

    /// Takes a piece of a text.
    fn piece(&mut self, scan: &mut Scan<'_>, at: usize, before: &mut Vec<Vec<u8>>) {
        let Some(piece) = scan.pieces.get(at) else { return };
        let identity = scan.identity(piece);
        let (path, span, first, last) = (piece.path, piece.span.clone(), piece.first, piece.last);
        let begun = scan.begun(piece).map(<[u8]>::to_vec);
        let place =
            self.waiting.iter().rposition(|waiting| waiting.path == path && self.is_same(waiting, &identity));
        match (place, first) {
            (Some(place), Some(_)) => {
                let waiting = self.waiting.remove(place);
                let with = format!("\\u{:04x}", waiting.unit).into_bytes();
                scan.edits.push(Edit { at: span.start, length: 0, with });
            }
            (None, Some(_)) => scan.edits.push(Edit::replaced(span.start)),
            (Some(place), None) => {
                let begins = self.waiting.get(place).is_some_and(|own| begun.is_some() && begun != own.begun);
                if !span.is_empty() || begins {
                    self.give_up_at(place, &mut scan.edits, before);
                }
            }
            (None, None) => {}
        }
        let Some(unit) = last else { return };
        let half = span.end - ESCAPE;
        if self.waiting.len() >= MAX_WAITING {
            return scan.edits.push(Edit::replaced(half));
        }
        let Some(piece) = scan.pieces.get(at) else { return };
        let rest = scan.rest(piece);
        let here = Some(scan.edits.len());
        scan.edits.push(Edit { at: half, length: ESCAPE, with: Vec::new() });
        self.waiting.push(Waiting { unit, path, identity, begun, rest, here });
    }

    /// Whether a piece goes on with the text of a half.
    fn is_same(&self, waiting: &Waiting, identity: &[Option<Vec<u8>>]) -> bool {
        let mut rules = self.texts.identified_by.iter().zip(waiting.identity.iter().zip(identity));
        rules.all(|(rule, (own, new))| own == new || (new.is_none() && rule.by.len() > 1))
    }

    /// Replaces the halves whose texts have ended.
    fn give_up(&mut self, ended: impl Fn(&Waiting) -> bool, edits: &mut [Edit], before: &mut Vec<Vec<u8>>) {
        while let Some(place) = self.waiting.iter().position(&ended) {
            self.give_up_at(place, edits, before);
        }
    }

    fn give_up_at(&mut self, place: usize, edits: &mut [Edit], before: &mut Vec<Vec<u8>>) {
        let waiting = self.waiting.remove(place);
        match waiting.here.and_then(|at| edits.get_mut(at)) {
            Some(edit) => edit.with = REPLACEMENT.to_vec(),
            None => before.push(waiting.rest),
        }
    }
}

/// Whether data may have half of a pair: escapes of characters are rare, and those of halves begin with this digit.
fn has_half(data: &[u8]) -> bool {
    let mut escapes = memchr_iter(b'\\', data).filter_map(|at| data.get(at + 1..));
    escapes.any(|escape| matches!(escape, [b'u', b'd' | b'D', ..]))
}

fn edited(data: &[u8], mut edits: Vec<Edit>) -> Vec<u8> {
    edits.sort_by_key(|edit| edit.at);
    let (mut out, mut copied) = (Vec::with_capacity(data.len() + 16), 0);
    for edit in edits {
        out.extend_from_slice(data.get(copied..edit.at).unwrap_or_default());
        out.extend_from_slice(&edit.with);
        copied = edit.at + edit.length;
    }
    out.extend_from_slice(data.get(copied..).unwrap_or_default());
    out
}
