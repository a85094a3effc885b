//! A text that comes in pieces: blocks that are closed are given out once, and the open one is drawn again as it grows.

use ratatui_core::text::Line;

use super::code::Within;
use super::{Ends, Look, blocks, rendered_from};

/// An open paragraph of more bytes than this is given out up to its last word: neither memory nor the time of a frame grows with the
/// text. 8 KiB.
const MOST_OPEN: usize = 8 * 1024;
/// The same for a block that is worth waiting for, such as a table: 16 KiB.
const MOST_WHOLE: usize = 16 * 1024;

/// A text in Markdown that is not whole yet.
#[derive(Debug, Default)]
pub struct Stream {
    /// Text that was not given out.
    open: String,
    /// The line that opened the block of code that `open` goes on with, and what goes on in that code.
    fence: Option<(String, Within)>,
    /// The block that was given out last; `None`: none was.
    ended: Option<Ended>,
}

/// The end of what was given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// A block of its own.
    Block,
    /// An item of a list, without a blank line behind it.
    Item,
    /// The beginning of a block that goes on.
    Part,
    /// The beginning of a block of code that goes on.
    Code,
}

impl Stream {
    /// Takes the next piece.
    pub fn push(&mut self, piece: &str) {
        self.open.push_str(piece);
    }

    /// Bytes that were not given out.
    pub fn waiting(&self) -> usize {
        self.open.len()
    }

    /// Whether rows were given out.
    pub fn has_begun(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether the rows that were given out last belong to a block that goes on: another text between would cut it in two.
    pub fn is_within(&self) -> bool {
        matches!(self.ended, Some(Ended::Item | Ended::Part | Ended::Code))
    }

    /// The rows of all blocks that no further text can change.
    pub fn closed(&mut self, look: Look) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        while let Some((end, ended)) = self.closed_end() {
            rows.extend(self.give_out(end, ended, look));
        }
        rows
    }

    /// The rows of what is still open.
    pub fn open(&self, look: Look) -> Vec<Line<'static>> {
        if self.open.trim().is_empty() {
            return Vec::new();
        }
        self.rendered(&self.open, look).0
    }

    /// The rest: the text is whole.
    pub fn finish(&mut self, look: Look) -> Vec<Line<'static>> {
        let mut rows = self.closed(look);
        if !self.open.trim().is_empty() {
            rows.extend(self.give_out(self.open.len(), Ended::Block, look));
        }
        *self = Self::default();
        rows
    }

    /// Rows of the next part, with the blank row between blocks, and what goes on in its code.
    fn rendered(&self, part: &str, look: Look) -> (Vec<Line<'static>>, Within) {
        let (mut rows, within) = match &self.fence {
            Some((fence, within)) => rendered_from(&format!("{fence}\n{part}"), look, *within),
            None => rendered_from(part, look, Within::Code),
        };
        let list = || blocks(part).first().is_some_and(|(_, ends)| *ends == Ends::List);
        let apart = match self.ended {
            None | Some(Ended::Part | Ended::Code) => false,
            Some(Ended::Item) => !list(),
            Some(Ended::Block) => self.fence.is_none(),
        };
        if apart && !rows.is_empty() {
            rows.insert(0, Line::default());
        }
        (rows, within)
    }

    fn give_out(&mut self, end: usize, ended: Ended, look: Look) -> Vec<Line<'static>> {
        let part: String = self.open.drain(..end).collect();
        let (rows, within) = self.rendered(&part, look);
        if !rows.is_empty() || self.fence.is_some() {
            self.ended = Some(ended);
        }
        if ended == Ended::Item {
            self.number(&part);
        }
        let opening = match self.fence.take() {
            Some((opening, _)) => Some(opening),
            None => part.lines().find(|line| !line.trim().is_empty()).map(str::to_owned),
        };
        self.fence = opening.filter(|_| ended == Ended::Code).map(|opening| (opening, within));
        rows
    }

    /// Items count on from those that were given out, whatever number they carry (CommonMark, 5.3).
    fn number(&mut self, part: &str) {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let (before, own) = (digits(part), digits(&self.open));
        let first: Option<u64> = part.get(..before).and_then(|number| number.parse().ok());
        let items = part.lines().filter(|line| is_item(line)).count() as u64;
        if let Some(first) = first.filter(|_| own > 0) {
            self.open.replace_range(..own, &(first + items).to_string());
        }
    }

    /// Where the next part that cannot change any more ends, and what it is.
    fn closed_end(&self) -> Option<(usize, Ended)> {
        // Lines that have not ended may still become anything.
        let whole = self.open.rfind('\n').map_or(0, |at| at + 1);
        let text = self.open.get(..whole)?;
        let too_long = || (self.open.len() > MOST_OPEN).then(|| (self.last_word(), Ended::Code));
        if let Some((fence, _)) = &self.fence {
            return closed_code(fence, text, 0).or_else(too_long);
        }
        let blocks = blocks(text);
        let Some((last, ends)) = blocks.last() else {
            if whole > 0 && text.trim().is_empty() {
                return Some((whole, Ended::Part));
            }
            return (self.open.len() > MOST_OPEN).then(|| (self.last_word(), Ended::Part));
        };
        if blocks.len() > 1 {
            return Some((last.start, Ended::Block));
        }
        let block = text.get(last.clone())?;
        let opening = block.lines().next().filter(|line| fence_of(line).is_some());
        if let Some(opening) = opening {
            let code = closed_code(opening, text.get(last.start..)?, 1);
            return code.map(|(end, ended)| (last.start + end, ended)).or_else(too_long);
        }
        let is_closed = match ends {
            Ends::Line => true,
            Ends::Blank => text.ends_with("\n\n"),
            Ends::List | Ends::Else => false,
        };
        if is_closed {
            return Some((whole, Ended::Block));
        }
        let item = (*ends == Ends::List).then(|| last_item(block)).flatten();
        if let Some(item) = item {
            let blank = block.get(..item).is_some_and(|items| items.ends_with("\n\n"));
            return Some((last.start + item, if blank { Ended::Block } else { Ended::Item }));
        }
        let most = if is_paragraph(block) { MOST_OPEN } else { MOST_WHOLE };
        (self.open.len() > most).then(|| (self.last_word(), Ended::Part))
    }

    /// The end of the last line or word.
    fn last_word(&self) -> usize {
        self.open.rfind([' ', '\n']).map_or(self.open.len(), |at| at + 1)
    }
}

/// The end of the code's last whole line, or of its closing fence. The opening alone is not worth a frame.
fn closed_code(opening: &str, text: &str, skipped: usize) -> Option<(usize, Ended)> {
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        at += line.len();
        if number >= skipped && closes(opening, line.trim_end_matches('\n')) {
            return Some((at, Ended::Block));
        }
    }
    (text.lines().count() > skipped).then_some((text.len(), Ended::Code))
}

/// Whether a line ends the code that the opening begins.
fn closes(opening: &str, line: &str) -> bool {
    fence_of(opening).zip(fence_of(line)).is_some_and(|((char, least, _), (mark, length, rest))| {
        char == mark && length >= least && rest.trim().is_empty()
    })
}

/// Whether a line begins an item of a list that stands in no other block.
fn is_item(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line.get(digits..).unwrap_or_default();
    let marks: &[&str] = if digits > 0 { &[". ", ") "] } else { &["- ", "* ", "+ "] };
    marks.iter().any(|mark| rest.starts_with(mark))
}

/// The beginning of a list's last item, once there is one before it.
fn last_item(list: &str) -> Option<usize> {
    let (mut at, mut last) = (0, 0);
    for line in list.split_inclusive('\n') {
        if is_item(line) {
            last = at;
        }
        at += line.len();
    }
    (last > 0).then_some(last)
}

/// Whether a block is text, which may be shown up to its last word.
fn is_paragraph(block: &str) -> bool {
    !block.starts_with(['|', '>', '<', '-', '*', '+', '#'])
}

/// The character, the length and the rest of a fence of code (CommonMark, 4.5).
fn fence_of(line: &str) -> Option<(char, usize, &str)> {
    let text = line.trim_start_matches(' ');
    let char = text.chars().next().filter(|char| matches!(char, '`' | '~'))?;
    let length = text.chars().take_while(|other| *other == char).count();
    let rest = text.get(length..)?;
    let valid = length >= 3 && line.len() - text.len() <= 3 && !(char == '`' && rest.contains('`'));
    valid.then_some((char, length, rest))
}

#[cfg(test)]
mod tests;
