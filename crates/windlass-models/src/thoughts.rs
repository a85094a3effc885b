//! Owns how reasoning that a model writes into its text, between `<think>` and `</think>`, becomes reasoning.
//!
//! Reasoning models (DeepSeek-R1, Qwen3) begin a reply with it, and a server that does not know the tags passes them on
//! as text. They count only at the beginning of a reply, several times in a row too; anywhere else they are text.
//! - Without an end tag the whole reply is reasoning: the model was cut off while it reasoned.
//! - The chat templates of DeepSeek-R1 and Qwen3-2507 put the first tag into the request, and the reply holds the end
//!   tag only. The text before the first end tag on a line of its own, outside of code blocks, is then reasoning.
//! - Blanks before reasoning and between it and the text are left out.

use std::collections::VecDeque;

use windlass_core::message::Reasoning;
use windlass_core::model::Reply;

use crate::{Assembler, Delta};

const BEGIN: &str = "<think>";
const END: &str = "</think>";
const LINE_END: &str = "\n</think>";
const FENCE: &str = "```";
/// Between two pieces of reasoning.
pub(crate) const GAP: &str = "\n\n";
/// Maximum number of blanks before the first tag, and of bytes of a line with an end tag: more is text. So no more is
/// held back, and the cuts of a stream decide nothing.
const MOST_BLANKS: usize = 64;
/// Maximum indentation of a code block's fence (CommonMark, 4.5).
const MOST_INDENTED: usize = 3;

/// Sorts the pieces of one reply into reasoning and text. A piece that may be a part of a tag is held back until the
/// next one decides.
#[derive(Debug, Default)]
pub struct Thoughts {
    place: Place,
    held: String,
    /// Whether the reply has reasoning so far.
    reasoned: bool,
    /// Whether the reply has text so far.
    spoken: bool,
    /// Whether the next reasoning needs a gap before it.
    apart: bool,
    ready: VecDeque<Delta>,
}

/// A place in the text of a reply.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Place {
    /// Before any text.
    #[default]
    Start,
    /// After reasoning, before any text.
    After,
    /// After a tag and blanks.
    Opened,
    /// In reasoning.
    Reasoning,
    /// At the beginning of a line of text; an end tag may come.
    Line(Code),
    /// Within such a line.
    MidLine(Code),
    /// In text where tags do not count any more.
    Text,
}

/// Whether a line is within a fenced code block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Code {
    Outside,
    Within,
}

impl Thoughts {
    /// Takes the next piece, and passes on the pieces that are sorted by now, in order, until one is refused.
    ///
    /// # Errors
    /// The refusal. The pieces after it are dropped.
    pub fn pass<E>(&mut self, delta: Delta, mut on: impl FnMut(Delta) -> Result<(), E>) -> Result<(), E> {
        if self.is_sorted(&delta) {
            return on(delta);
        }
        match delta {
            Delta::Text(text) => self.take_text(&text),
            Delta::Whole(mut reply) => {
                sort_whole(&mut reply);
                self.ready.push_back(Delta::Whole(reply));
            }
            Delta::Stop(stop) => {
                self.release();
                self.ready.push_back(Delta::Stop(stop));
            }
            // The adapter has sorted the text already.
            Delta::Thought => {
                self.place = Place::After;
                self.reasoned |= self.spoken;
                self.ready.push_back(Delta::Thought);
            }
            Delta::Reasoning(text) => {
                self.reasoned |= !text.is_empty();
                self.ready.push_back(Delta::Reasoning(text));
            }
            Delta::Sealed(_)
            | Delta::Media(_)
            | Delta::Call { .. }
            | Delta::Annotation(_)
            | Delta::Usage(_) => {
                self.ready.push_back(delta);
            }
        }
        self.ready.drain(..).try_for_each(on)
    }

    /// Passes on the held-back text at the end of the stream.
    ///
    /// # Errors
    /// As with [`pass`](Self::pass).
    pub fn end<E>(&mut self, on: impl FnMut(Delta) -> Result<(), E>) -> Result<(), E> {
        self.release();
        self.ready.drain(..).try_for_each(on)
    }

    /// Whether a piece needs no sorting and leaves the state as it is, which holds for most pieces.
    fn is_sorted(&self, delta: &Delta) -> bool {
        match delta {
            Delta::Text(text) => match self.place {
                Place::Text => true,
                Place::MidLine(_) => !text.contains('\n'),
                Place::Start | Place::After | Place::Opened | Place::Reasoning | Place::Line(_) => false,
            },
            Delta::Reasoning(text) => self.reasoned || text.is_empty(),
            Delta::Sealed(_)
            | Delta::Media(_)
            | Delta::Call { .. }
            | Delta::Annotation(_)
            | Delta::Usage(_) => true,
            Delta::Whole(_) | Delta::Stop(_) | Delta::Thought => false,
        }
    }

    /// Sorts the held-back text at the end of the stream.
    fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.sort(&held, true);
    }

    fn take_text(&mut self, text: &str) {
        let mut all = std::mem::take(&mut self.held);
        all.push_str(text);
        let sorted = self.sort(&all, false);
        all.drain(..sorted);
        self.held = all;
    }

    /// Sorts the beginning of a text, all of it at the end of the reply. Returns how many bytes are sorted.
    fn sort(&mut self, text: &str, last: bool) -> usize {
        let mut sorted = 0;
        while let Some(rest) = text.get(sorted..).filter(|rest| !rest.is_empty()) {
            let (before, step) = (self.place, self.step(rest, last));
            if step == 0 && self.place == before {
                break;
            }
            sorted += step;
        }
        sorted
    }

    fn step(&mut self, rest: &str, last: bool) -> usize {
        match self.place {
            Place::Start => self.start(rest, last),
            Place::After => self.after(rest, last),
            Place::Opened => {
                let blanks = rest.len() - rest.trim_start().len();
                if blanks < rest.len() {
                    self.place = Place::Reasoning;
                    self.apart = self.reasoned;
                }
                blanks
            }
            Place::Reasoning => self.reasoning(rest, last),
            Place::Line(code) => self.line(rest, last, code),
            Place::MidLine(code) => {
                let end = rest.find('\n').map(|at| at + 1);
                if end.is_some() {
                    self.place = Place::Line(code);
                }
                self.text(rest, end.unwrap_or(rest.len()))
            }
            Place::Text => self.text(rest, rest.len()),
        }
    }

    fn start(&mut self, rest: &str, last: bool) -> usize {
        let body = rest.trim_start();
        let blanks = rest.len() - body.len();
        if body.starts_with(BEGIN) && blanks <= MOST_BLANKS {
            self.place = Place::Opened;
            return blanks + BEGIN.len();
        }
        if last || !BEGIN.starts_with(body) || blanks > MOST_BLANKS {
            self.place = Place::Line(Code::Outside);
        }
        0
    }

    fn after(&mut self, rest: &str, last: bool) -> usize {
        let body = rest.trim_start();
        let blanks = rest.len() - body.len();
        if body.starts_with(BEGIN) {
            self.place = Place::Opened;
            return blanks + BEGIN.len();
        }
        if !body.is_empty() && (last || !BEGIN.starts_with(body)) {
            self.place = Place::Text;
        }
        blanks
    }

    fn reasoning(&mut self, rest: &str, last: bool) -> usize {
        if let Some(at) = rest.find(END) {
            self.place = Place::After;
            let thought = rest.get(..at).unwrap_or_default();
            self.thought(thought.strip_suffix('\n').unwrap_or(thought));
            return at + END.len();
        }
        let parts = (1..LINE_END.len()).rev().filter_map(|length| LINE_END.get(..length));
        let parts = parts.chain((1..END.len()).rev().filter_map(|length| END.get(..length)));
        let held = parts.filter(|part| !last && rest.ends_with(part)).map(str::len).max().unwrap_or(0);
        let passed = rest.len() - held;
        self.thought(rest.get(..passed).unwrap_or_default());
        passed
    }

    fn line(&mut self, rest: &str, last: bool, code: Code) -> usize {
        let end = rest.find('\n').map(|at| at + 1);
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let body = line.trim_start();
        let (whole, short) = (last || end.is_some(), line.len() <= MOST_BLANKS);
        if whole && short && body.trim_end() == END && code == Code::Outside {
            self.place = Place::After;
            self.reasoned |= self.spoken;
            self.ready.push_back(Delta::Thought);
            return line.len();
        }
        let undecided = END.starts_with(body.trim_end()) || FENCE.starts_with(body);
        if !whole && undecided && short {
            return 0;
        }
        let fence = body.starts_with(FENCE) && line.len() - body.len() <= MOST_INDENTED;
        let code = match (fence, code) {
            (true, Code::Outside) => Code::Within,
            (true, Code::Within) => Code::Outside,
            (false, code) => code,
        };
        self.place = if end.is_some() { Place::Line(code) } else { Place::MidLine(code) };
        self.text(rest, line.len())
    }

    /// Passes on the first bytes as text.
    fn text(&mut self, rest: &str, bytes: usize) -> usize {
        let text = rest.get(..bytes).unwrap_or_default();
        self.spoken |= !text.trim_start().is_empty();
        match self.ready.back_mut() {
            Some(Delta::Text(before)) => before.push_str(text),
            _ => self.ready.push_back(Delta::Text(text.to_owned())),
        }
        bytes
    }

    fn thought(&mut self, text: &str) {
        if !text.is_empty() {
            let gap = if std::mem::take(&mut self.apart) { GAP } else { "" };
            self.reasoned = true;
            self.ready.push_back(Delta::Reasoning(format!("{gap}{text}")));
        }
    }
}

/// The same with a whole reply.
fn sort_whole(reply: &mut Reply) {
    let Some(text) = reply.text.as_ref().filter(|text| text.contains('<')) else { return };
    if !text.trim_start().starts_with(BEGIN) && !text.contains(END) {
        return;
    }
    let mut thoughts = Thoughts::default();
    let native = reply.reasoning.as_ref().map(|reasoning| reasoning.text.to_string());
    let mut assembler = Assembler::new(reply.model.clone()).bounded(u64::MAX);
    let mut push = |delta| assembler.push(delta);
    let passed = thoughts
        .pass(Delta::Reasoning(native.unwrap_or_default()), &mut push)
        .and_then(|()| thoughts.pass(Delta::Text(text.to_string()), &mut push))
        .and_then(|()| thoughts.end(push));
    let sorted = assembler.finish();
    // Without a bound, pieces of text cannot be refused.
    if passed.is_ok()
        && let Some(Reasoning { text, .. }) = sorted.reasoning
    {
        let sealed = reply.reasoning.take().and_then(|reasoning| reasoning.provider_metadata);
        reply.reasoning = Some(Reasoning { text, provider_metadata: sealed });
    }
    reply.text = sorted.text;
    if let Some(annotations) = &mut reply.annotations {
        annotations.without_spans();
    }
}

#[cfg(test)]
mod tests;
