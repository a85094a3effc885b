//! Owns how the blocks of a reply become text, reasoning, calls and a [`Layout`].
//!
//! Blocks count in the order in which they began. The first open one is passed on as it comes; pieces of later ones, which
//! interleave with it, are held until it ends.

use std::collections::VecDeque;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use windlass_core::message::{ProviderMetadata, Span};
use windlass_core::model::{FailureKind, MAX_REPLY_BYTES};

use super::super::encode::is_odd;
use super::annotations;
use super::shapes::{Head, Piece, Tag};
use crate::Delta;
use crate::wires::annotations::{cited, step};
use crate::wires::layout::{Kind, Layout, Part};
use crate::wires::{DecodeError, Dialect};

/// The most blocks that are open at once: of more, the first ones count as ended.
const MAX_OPEN: usize = 64;

/// The kinds of pieces with a meaning of their own.
const KNOWN: [&str; 5] =
    ["text_delta", "thinking_delta", "input_json_delta", "signature_delta", "citations_delta"];

/// The blocks of one reply.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    layout: Layout,
    open: VecDeque<Block>,
    calls: u32,
    /// Whether reasoning goes back though nobody signed it.
    return_reasoning: bool,
    /// Bytes that are kept beside what was passed on.
    kept: usize,
    /// Bytes of text, reasoning and calls.
    pub(super) output_bytes: usize,
    /// Bytes of text.
    text_bytes: usize,
    /// Whether any text came.
    pub(super) has_text: bool,
}

/// A block that may still grow.
#[derive(Debug)]
struct Block {
    index: Option<u64>,
    kind: Kind,
    /// Content that was not passed on yet; of a block of the provider's own, its input in pieces.
    held: String,
    /// Bytes that were passed on.
    passed: usize,
    /// A call's place, id, name, and the input that it began with.
    call: Option<Call>,
    /// The fields that go back beside that: those without a meaning here, or the whole block's.
    fields: Map<String, Value>,
    ended: bool,
}

#[derive(Debug, Default)]
struct Call {
    place: Option<u32>,
    id: Option<String>,
    name: Option<String>,
    input: String,
    /// The id would be changed if another server had made it.
    is_odd: bool,
}

impl Blocks {
    pub(super) fn new(dialect: &Dialect) -> Self {
        Self { return_reasoning: dialect.quirks.return_reasoning, ..Self::default() }
    }

    /// Begins a block with all that stands in it already.
    pub(super) fn begin(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        let unreadable = |error| DecodeError::unreadable(&error, raw.get().as_bytes());
        let tag: Tag<'_> = serde_json::from_str(raw.get()).map_err(unreadable)?;
        let mut fields: Map<String, Value> = serde_json::from_str(raw.get()).map_err(unreadable)?;
        let mut block = Block::new(index, Kind::Own);
        block.kind = match &*tag.kind {
            "text" => Kind::Text,
            "thinking" => Kind::Reasoning,
            "tool_use" => Kind::Call,
            "container_upload" => Kind::Media,
            _ => Kind::Own,
        };
        if !matches!(block.kind, Kind::Own | Kind::Media) {
            let head: Head<'_> = serde_json::from_str(raw.get()).map_err(unreadable)?;
            block.held = head.text.or(head.thinking).unwrap_or_default();
            let known: &[&str] = match block.kind {
                Kind::Text => &["type", "text"],
                Kind::Reasoning => &["type", "thinking"],
                Kind::Call | Kind::Media | Kind::Own => &["type", "id", "name", "input"],
            };
            fields.retain(|name, value| !known.contains(&name.as_str()) && !value.is_null() && *value != "");
            if block.kind == Kind::Call {
                let input = head.input.map(|input| input.get().to_owned()).unwrap_or_default();
                let is_odd = head.id.as_deref().is_some_and(|id| !id.is_empty() && is_odd(id));
                block.call = Some(Call { place: None, id: head.id, name: head.name, input, is_odd });
            }
        }
        block.fields = fields;
        self.keep(raw.get().len())?;
        self.open(block, out);
        Ok(())
    }

    /// Begins a text that comes without a block, from a server that knows no more.
    pub(super) fn plain(&mut self, text: String, out: &mut VecDeque<Delta>) {
        let mut block = Block::new(None, Kind::Text);
        (block.held, block.ended) = (text, true);
        self.open(block, out);
    }

    /// Adds a piece to a block.
    pub(super) fn add(
        &mut self,
        index: Option<u64>,
        raw: &RawValue,
        out: &mut VecDeque<Delta>,
    ) -> Result<(), DecodeError> {
        let unreadable = |error| DecodeError::unreadable(&error, raw.get().as_bytes());
        let tag: Tag<'_> = serde_json::from_str(raw.get()).map_err(unreadable)?;
        let found = self.open.iter().rposition(|block| block.index == index && !block.ended);
        let at = match (found, &*tag.kind) {
            (Some(at), _) => at,
            (None, "text_delta") => self.open(Block::new(index, Kind::Text), out),
            (None, "thinking_delta") => self.open(Block::new(index, Kind::Reasoning), out),
            (None, _) => return Ok(()),
        };
        let Some(block) = self.open.get_mut(at) else { return Ok(()) };
        let is_known = KNOWN.contains(&&*tag.kind);
        let piece: Piece =
            if is_known { serde_json::from_str(raw.get()).map_err(unreadable)? } else { Piece::default() };
        let own = block.kind == Kind::Own;
        match (&*tag.kind, block.kind) {
            ("text_delta", Kind::Text) => block.held.push_str(&piece.text.unwrap_or_default()),
            ("thinking_delta", Kind::Reasoning) => {
                block.held.push_str(&piece.thinking.unwrap_or_default());
            }
            ("input_json_delta", Kind::Call | Kind::Own) => {
                block.held.push_str(&piece.partial_json.unwrap_or_default());
            }
            ("signature_delta", Kind::Reasoning) => {
                if let Some(signature) = piece.signature.filter(|signature| !signature.is_empty()) {
                    block.fields.insert("signature".to_owned(), signature.into());
                }
            }
            ("citations_delta", Kind::Text | Kind::Own) => {
                let all = block.fields.entry("citations").or_insert_with(|| Value::Array(Vec::new()));
                if all.is_null() {
                    *all = Value::Array(Vec::new());
                }
                if let (Value::Array(all), Some(citation)) = (all, piece.citation) {
                    all.push(citation);
                }
            }
            (_, Kind::Own) => merge(&mut block.fields, serde_json::from_str(raw.get()).map_err(unreadable)?),
            (_, Kind::Text | Kind::Reasoning | Kind::Call | Kind::Media) => {}
        }
        if own || at > 0 || matches!(&*tag.kind, "citations_delta" | "signature_delta") {
            self.keep(raw.get().len())?;
        }
        self.pass_on(out);
        Ok(())
    }

    /// Ends a block.
    pub(super) fn end(&mut self, index: Option<u64>, out: &mut VecDeque<Delta>) {
        if let Some(block) = self.open.iter_mut().rev().find(|block| block.index == index && !block.ended) {
            block.ended = true;
        }
        self.pass_on(out);
    }

    /// Whether a block of thoughts is open.
    pub(super) fn is_thinking(&self) -> bool {
        let sealed =
            |block: &Block| block.fields.get("type").is_some_and(|kind| *kind == "redacted_thinking");
        self.open.iter().any(|block| !block.ended && (block.kind == Kind::Reasoning || sealed(block)))
    }

    /// Ends all blocks.
    pub(super) fn end_all(&mut self, out: &mut VecDeque<Delta>) {
        self.open.iter_mut().for_each(|block| block.ended = true);
        self.pass_on(out);
    }

    /// The order of the blocks with what goes back, if it says more than the reply itself.
    pub(super) fn seal(&self, label: &str) -> Option<ProviderMetadata> {
        self.layout.seal(label, super::super::NAME)
    }

    /// Adds an open block. Gives its place.
    fn open(&mut self, block: Block, out: &mut VecDeque<Delta>) -> usize {
        if block.index.is_some() {
            self.end(block.index, out);
        }
        if self.open.len() >= MAX_OPEN
            && let Some(first) = self.open.front_mut()
        {
            first.ended = true;
        }
        self.open.push_back(block);
        self.pass_on(out);
        self.open.len().saturating_sub(1)
    }

    fn pass_on(&mut self, out: &mut VecDeque<Delta>) {
        while let Some(first) = self.open.front_mut() {
            let bytes = first.pass_on(&mut self.calls, out);
            self.output_bytes += bytes;
            if first.kind == Kind::Text {
                self.text_bytes += bytes;
            }
            self.has_text |= first.kind == Kind::Text && first.passed > 0;
            if !first.ended {
                return;
            }
            let Some(mut ended) = self.open.pop_front() else { return };
            ended.annotate(self.text_bytes, out);
            if let Some(part) = ended.part(self.return_reasoning) {
                self.layout.push(part);
            }
        }
    }

    /// Open blocks, bytes that they hold back, and bytes that are kept.
    #[cfg(test)]
    pub(super) fn load(&self) -> (usize, usize, usize) {
        let held = self.open.iter().map(|block| block.held.capacity()).sum();
        (self.open.len(), held, self.kept)
    }

    /// Counts bytes that are kept until the end of the reply.
    fn keep(&mut self, bytes: usize) -> Result<(), DecodeError> {
        self.kept = self.kept.saturating_add(bytes);
        if self.kept as u64 <= MAX_REPLY_BYTES {
            return Ok(());
        }
        let words = format!("blocks of the provider's own are longer than {MAX_REPLY_BYTES} bytes");
        Err(DecodeError { kind: FailureKind::TooLarge, ..DecodeError::protocol(words) })
    }
}

impl Block {
    fn new(index: Option<u64>, kind: Kind) -> Self {
        Self { index, kind, held: String::new(), passed: 0, call: None, fields: Map::new(), ended: false }
    }

    /// Passes on what is held. Gives the number of its bytes.
    fn pass_on(&mut self, calls: &mut u32, out: &mut VecDeque<Delta>) -> usize {
        let bytes = match self.kind {
            Kind::Text | Kind::Reasoning if self.held.is_empty() => 0,
            Kind::Text | Kind::Reasoning => {
                let text = std::mem::take(&mut self.held);
                let bytes = text.len();
                out.push_back(if self.kind == Kind::Text {
                    Delta::Text(text)
                } else {
                    Delta::Reasoning(text)
                });
                bytes
            }
            Kind::Call => self.pass_on_call(calls, out),
            Kind::Media | Kind::Own => 0,
        };
        self.passed += bytes;
        bytes
    }

    fn pass_on_call(&mut self, calls: &mut u32, out: &mut VecDeque<Delta>) -> usize {
        let Some(call) = &mut self.call else { return 0 };
        if self.ended && self.passed == 0 && is_nothing(&self.held) {
            self.held.clear();
            self.held.push_str(if is_nothing(&call.input) { "{}" } else { &call.input });
        }
        // As long as they may still become `null`, which means none, arguments wait.
        let waits = !self.ended && self.passed == 0 && "null".starts_with(self.held.trim());
        let args = if waits { String::new() } else { std::mem::take(&mut self.held) };
        if call.place.is_some() && args.is_empty() {
            return 0;
        }
        let place = *call.place.get_or_insert_with(|| {
            *calls += 1;
            *calls - 1
        });
        let bytes = args.len();
        let (id, name) = (call.id.take(), call.name.take());
        out.push_back(Delta::Call { index: Some(place), id, name, args });
        bytes
    }

    /// Says what the whole block is beside its content; `text_bytes`: the length of the text up to its end.
    fn annotate(&mut self, text_bytes: usize, out: &mut VecDeque<Delta>) {
        match self.kind {
            Kind::Text if self.fields.contains_key("citations") => {
                let span = Span(text_bytes.saturating_sub(self.passed), text_bytes);
                annotations::citations(&self.fields, span).for_each(|one| cited(out, one));
            }
            Kind::Own => {
                if !self.held.trim().is_empty() {
                    let held = std::mem::take(&mut self.held);
                    let input = serde_json::from_str(&held).unwrap_or(Value::String(held));
                    self.fields.insert("input".to_owned(), input);
                }
                if let Some(one) = annotations::step(&self.fields) {
                    step(out, one);
                }
            }
            Kind::Media => match annotations::uploaded(&self.fields) {
                Some(media) => out.push_back(Delta::Media(media)),
                None => self.kind = Kind::Own,
            },
            Kind::Text | Kind::Reasoning | Kind::Call => {}
        }
    }

    /// The block's part of the layout.
    fn part(mut self, return_reasoning: bool) -> Option<Part> {
        let own = match self.kind {
            Kind::Own | Kind::Media => true,
            Kind::Reasoning => {
                if return_reasoning && !self.fields.contains_key("signature") {
                    self.fields.insert("signature".to_owned(), "".into());
                }
                !self.fields.is_empty()
            }
            Kind::Text | Kind::Call => {
                // A text begins with a list of citations even if none comes.
                self.fields.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
                // The reply says who made it, so that the id goes back as it came.
                !self.fields.is_empty() || self.call.as_ref().is_some_and(|call| call.is_odd)
            }
        };
        let own = own.then(|| serde_json::value::to_raw_value(&self.fields).ok()).flatten();
        let is_text = matches!(self.kind, Kind::Text | Kind::Reasoning);
        if is_text && self.passed == 0 && own.is_none() {
            return None;
        }
        Some(Part { kind: self.kind, bytes: if is_text { self.passed } else { 0 }, own })
    }
}

/// Whether arguments, as JSON, are none.
fn is_nothing(args: &str) -> bool {
    matches!(args.trim(), "" | "null" | "\"\"")
}

/// Adds a piece of unknown kind to a block of the provider's own: texts and lists grow, other values are set.
fn merge(fields: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (name, value) in piece {
        match (fields.get_mut(&name), value) {
            _ if name == "type" => {}
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) => text.push_str(&more),
            (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (_, value) => {
                fields.insert(name, value);
            }
        }
    }
}
