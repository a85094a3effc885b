//! Owns the items of one reply while they come: what is given out of them, in which order, and their layout.
//!
//! Items stand in the order in which they began. The text of an item is given out when all earlier items with text are done,
//! so that streams whose items interleave give the same text as the whole reply.

use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};

use serde_json::value::RawValue;
use windlass_core::model::{FailureKind, MAX_REPLY_BYTES};

use super::super::own::CLIENT_CALLS;
use super::super::shapes::{Fields, MAX_ITEMS};
use crate::thoughts::GAP;
use crate::wires::DecodeError;
use crate::wires::annotations::cited;
use crate::{Cited, Delta};

mod annotations;
mod kind;
mod matching;
mod sealing;
mod whole;

pub(super) use self::kind::Kind;
use self::kind::Voice;
use self::matching::Unmatched;

/// How many of the last items are looked at for an event that does not say which one it means.
const OPEN_AT_ONCE: usize = 8;

/// A part of an item's text.
#[derive(Debug, Default)]
struct TextPart {
    bytes: usize,
    /// Whether it begins with an empty line that is not the provider's.
    gap: bool,
    index: Option<u64>,
    refusal: bool,
    annotations: Option<Box<RawValue>>,
}

/// Where more of a text belongs within its item.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) index: Option<u64>,
    pub(super) refusal: bool,
    /// Of reasoning: the thoughts themselves, not their summary.
    pub(super) content: bool,
}

#[derive(Debug)]
struct Item {
    kind: Kind,
    id: Option<Box<str>>,
    done: bool,
    /// Text, reasoning or arguments so far, while they may grow.
    text: String,
    /// Bytes of it that were given out; of a call the number of pieces.
    given: usize,
    /// Whether an empty line was given out before it.
    gap: bool,
    parts: Vec<TextPart>,
    /// Of reasoning: whether `text` are the thoughts themselves. `None`: there is no text.
    content: Option<bool>,
    /// The place of the call among the calls.
    call: Option<u32>,
    /// Whether the call's id and its name were given out.
    named: (bool, bool),
    /// The part of it that its provider needs back.
    own: Option<Box<RawValue>>,
    /// Whether `own` says more than names of its own.
    special: bool,
    /// Sources of its text, with places in bytes of it.
    cited: Vec<Cited>,
}

/// The items of one reply.
#[derive(Debug, Default)]
pub(super) struct Items {
    all: Vec<Item>,
    by_id: BTreeMap<String, usize>,
    by_index: BTreeMap<u64, usize>,
    /// The first item that may still give out text, and reasoning.
    front: [usize; 2],
    /// Whether text, and reasoning, was given out.
    spoken: [bool; 2],
    calls: u32,
    /// Bytes of text that were given out, before the item whose turn it is.
    text_bytes: usize,
    kept: u64,
    pub(super) refused: bool,
    pub(super) output_bytes: usize,
}

impl Items {
    /// The item of this kind that an event means: by its id, else by its place in the output, else (where the event says
    /// neither) the last one that is not done.
    pub(super) fn find(&self, kind: Kind, id: Option<&str>, index: Option<u64>) -> Option<usize> {
        let id = id.filter(|id| !id.is_empty());
        if id.is_none() && index.is_none() {
            let mut last = (0..self.all.len()).rev().take(OPEN_AT_ONCE);
            return last.find(|at| self.all.get(*at).is_some_and(|item| item.kind == kind && !item.done));
        }
        let by_id = id.and_then(|id| self.by_id.get(id)).copied();
        let here = index.and_then(|index| self.by_index.get(&index)).copied();
        // Ids may repeat, and some servers give every item the same place.
        let same = here.filter(|at| self.all.get(*at).is_some_and(|item| item.id.as_deref() == id));
        let at = same.or(by_id).or(here)?;
        (self.kind(at) == Some(kind)).then_some(at)
    }

    /// The id that events name an item by: its own, or (llama-server) that of its call.
    pub(super) fn id_of<'a>(item: &Fields<'a>) -> Option<Cow<'a, str>> {
        let id = |name| item.text(name).filter(|id| !id.is_empty());
        id("id").or_else(|| id("call_id"))
    }

    /// Whether an item began at this place of the output.
    pub(super) fn has_index(&self, index: u64) -> bool {
        self.by_index.contains_key(&index)
    }

    /// The items so far, none of which was found in the whole output yet.
    pub(super) fn unmatched(&self) -> Unmatched {
        Unmatched(vec![true; self.all.len()])
    }

    pub(super) fn kind(&self, at: usize) -> Option<Kind> {
        self.all.get(at).map(|item| item.kind)
    }

    pub(super) fn is_done(&self, at: usize) -> bool {
        self.all.get(at).is_some_and(|item| item.done)
    }

    /// Whether nothing of the item's text came yet.
    pub(super) fn is_silent(&self, at: usize) -> bool {
        self.all.get(at).is_some_and(|item| item.text.is_empty() && !item.done)
    }

    /// Whether any item came, and all of them are done.
    pub(super) fn are_done(&self) -> bool {
        !self.all.is_empty() && self.all.iter().all(|item| item.done)
    }

    /// Whether an item of reasoning is open.
    pub(super) fn are_thoughts_open(&self) -> bool {
        self.all.iter().rev().take(OPEN_AT_ONCE).any(|item| item.kind == Kind::Reasoning && !item.done)
    }

    pub(super) fn has_begun(&self) -> bool {
        !self.all.is_empty()
    }

    /// Begins an item.
    pub(super) fn begin(
        &mut self,
        kind: Kind,
        id: Option<&str>,
        index: Option<u64>,
    ) -> Result<usize, DecodeError> {
        let at = self.all.len();
        if at == MAX_ITEMS {
            return Err(DecodeError::protocol(format!("the reply has more than {MAX_ITEMS} items")));
        }
        let id = id.filter(|id| !id.is_empty());
        if let Some(id) = id {
            self.kept = self.kept.saturating_add(id.len() as u64);
            self.by_id.insert(id.to_owned(), at);
        }
        if let Some(index) = index {
            self.by_index.insert(index, at);
        }
        let call = matches!(kind, Kind::Call | Kind::Client(_)).then(|| {
            self.calls += 1;
            self.calls - 1
        });
        self.all.push(Item {
            kind,
            id: id.map(Into::into),
            done: false,
            text: String::new(),
            given: 0,
            gap: false,
            parts: Vec::new(),
            content: None,
            call,
            named: (false, false),
            own: None,
            special: false,
            cited: Vec::new(),
        });
        Ok(at)
    }

    /// Adds text or reasoning to an item.
    pub(super) fn add_text(
        &mut self,
        place: usize,
        at: At,
        more: &str,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        let Some(item) = self.all.get_mut(place).filter(|item| !item.done && !more.is_empty()) else {
            return Ok(());
        };
        let Some(voice) = item.kind.voice() else { return Ok(()) };
        // Thoughts and their summary are not both given out; the item itself has both.
        if voice == Voice::Reasoning && *item.content.get_or_insert(at.content) != at.content {
            return Ok(());
        }
        self.kept = self.kept.saturating_add(more.len() as u64);
        self.refused |= at.refusal;
        let same = |last: &TextPart| {
            (at.index.is_none() || last.index.is_none() || last.index == at.index)
                && last.refusal == at.refusal
        };
        if !item.parts.last().is_some_and(same) {
            let gap = if voice == Voice::Reasoning && !item.parts.is_empty() { GAP } else { "" };
            item.text.push_str(gap);
            let gap = (gap.len(), !gap.is_empty());
            let (bytes, gap) = gap;
            item.parts.push(TextPart { bytes, gap, index: at.index, refusal: at.refusal, annotations: None });
        }
        item.text.push_str(more);
        if let Some(last) = item.parts.last_mut() {
            last.bytes += more.len();
        }
        self.release(voice, out);
        self.bounded()
    }

    /// Gives out the text that is in turn.
    fn release(&mut self, voice: Voice, out: &mut VecDeque<Delta>) {
        let (Some(front), Some(spoken)) =
            (self.front.get_mut(voice as usize), self.spoken.get_mut(voice as usize))
        else {
            return;
        };
        while let Some(item) = self.all.get_mut(*front) {
            if item.kind.voice() == Some(voice) {
                let more = item.text.get(item.given..).unwrap_or_default();
                if !more.is_empty() {
                    item.gap |= item.given == 0 && *spoken;
                    let gap = if item.given == 0 && *spoken { GAP } else { "" };
                    let text = [gap, more].concat();
                    self.output_bytes += more.len();
                    out.push_back(match voice {
                        Voice::Text => Delta::Text(text),
                        Voice::Reasoning => Delta::Reasoning(text),
                    });
                    (item.given, *spoken) = (item.text.len(), true);
                }
                if !item.done {
                    return;
                }
                if voice == Voice::Text {
                    let begin = self.text_bytes + if item.gap { GAP.len() } else { 0 };
                    item.cited.drain(..).for_each(|one| cited(out, annotations::moved(one, begin)));
                    self.text_bytes = begin + item.given;
                }
                (item.text, item.given) = (String::new(), 0);
            }
            *front += 1;
        }
    }

    /// Tells of a function call what is known of it so far.
    pub(super) fn name_call(&mut self, place: usize, known: &Fields<'_>, out: &mut VecDeque<Delta>) {
        self.call(place, known, "", out);
    }

    /// Adds to the arguments of a function call.
    pub(super) fn add_args(
        &mut self,
        place: usize,
        more: &str,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        if let Some(item) = self.all.get_mut(place).filter(|item| item.kind == Kind::Call && !item.done) {
            item.text.push_str(more);
            self.kept = self.kept.saturating_add(more.len() as u64);
            self.call(place, &Fields::default(), more, out);
        }
        self.bounded()
    }

    /// Gives out a piece of a call, with its id and its name once.
    fn call(&mut self, place: usize, known: &Fields<'_>, args: &str, out: &mut VecDeque<Delta>) {
        let Some(item) = self.all.get_mut(place) else { return };
        let fixed = match item.kind {
            Kind::Client(kind) => CLIENT_CALLS.get(kind).and_then(|(_, name, _)| *name),
            Kind::Message | Kind::Reasoning | Kind::Call | Kind::Image | Kind::Own => None,
        };
        let text = |name: &str| known.text(name).filter(|text| !text.is_empty()).map(Into::into);
        let id: Option<String> = text("call_id").filter(|_| !item.named.0);
        let name = fixed.map(str::to_owned).or_else(|| text("name")).filter(|_| !item.named.1);
        item.named = (item.named.0 || id.is_some(), item.named.1 || name.is_some());
        if id.is_some() || name.is_some() || !args.is_empty() {
            item.given += 1;
            self.output_bytes += args.len() + name.as_ref().map_or(0, String::len);
            out.push_back(Delta::Call { index: item.call, id, name, args: args.to_owned() });
        }
    }

    /// Ends all items: nothing more comes.
    pub(super) fn end(&mut self, out: &mut VecDeque<Delta>) {
        for item in &mut self.all {
            item.done = true;
        }
        self.release(Voice::Reasoning, out);
        self.release(Voice::Text, out);
    }

    /// The part of a reply that is kept has the bound of a reply.
    fn bounded(&self) -> Result<(), DecodeError> {
        if self.kept <= MAX_REPLY_BYTES {
            return Ok(());
        }
        let words = format!("the items of the reply are longer than {MAX_REPLY_BYTES} bytes");
        Err(DecodeError { kind: FailureKind::TooLarge, ..DecodeError::protocol(words) })
    }
}
