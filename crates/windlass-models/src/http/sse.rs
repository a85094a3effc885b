//! Owns the parser of server-sent events (WHATWG HTML, 9.2.6), fed with bytes cut anywhere.

use windlass_core::text::steps;

use super::frames::EventTooLong;

/// The most bytes that one event may have before its end, where nothing else is said.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// An incremental parser: bytes go in with [`push`](Self::push), the data of whole events come out of
/// [`next_data`](Self::next_data). Lines may end in LF, CR or CRLF; comments, event types, ids and events without data
/// are passed over; several data lines are joined with LF.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about the stream")]
pub struct SseParser {
    max_event_bytes: usize,
    buffer: Vec<u8>,
    /// Start of the first line not yet consumed.
    line: usize,
    /// Up to where that line was searched for its end.
    searched: usize,
    /// Data of the event being read.
    data: Place,
    /// The data of an event of several data lines.
    joined: Vec<u8>,
    /// The last line ended in CR at the end of the buffer: an LF that follows belongs to it.
    after_cr: bool,
    begun: bool,
    ended: bool,
    /// Some line was none of the format.
    foreign: bool,
    /// Data of the last event found.
    found: Place,
}

/// Location of an event's data.
#[derive(Clone, Copy, Debug, Default)]
enum Place {
    #[default]
    Nowhere,
    /// One data line: from one place of the buffer to another.
    At(usize, usize),
    /// Several data lines, in `joined`.
    Joined,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::bounded(MAX_EVENT_BYTES)
    }
}

impl SseParser {
    /// A parser of events that have at most so many bytes each.
    pub fn bounded(max_event_bytes: usize) -> Self {
        Self {
            max_event_bytes,
            buffer: Vec::new(),
            line: 0,
            searched: 0,
            data: Place::Nowhere,
            joined: Vec::new(),
            after_cr: false,
            begun: false,
            ended: false,
            foreign: false,
            found: Place::Nowhere,
        }
    }

    /// Whether some line was neither a comment nor a field of the format, nor the beginning of one that was cut off.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Adds bytes as they came.
    ///
    /// # Errors
    /// The event that is being read is too long.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        self.compact();
        let joined = if matches!(self.data, Place::Joined) { self.joined.len() } else { 0 };
        if self.buffer.len() + joined + bytes.len() > self.max_event_bytes {
            return Err(EventTooLong);
        }
        steps::add(bytes.len());
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Nothing more will come: the last line and event count as ended. (The standard drops them; servers that close
    /// right after their last line do mean it.)
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The data of the next whole event; `None`: more bytes are needed.
    pub fn next_data(&mut self) -> Option<&[u8]> {
        self.next_event()?;
        Some(self.data())
    }

    /// The data of the event that was found last, until more bytes are added.
    pub fn data(&self) -> &[u8] {
        match self.found {
            Place::Nowhere => &[],
            Place::At(start, end) => self.buffer.get(start..end).unwrap_or_default(),
            Place::Joined => &self.joined,
        }
    }

    /// Finds the next whole event and says how many bytes of [`data`](Self::data) it has; `None`: more bytes are needed.
    pub fn next_event(&mut self) -> Option<usize> {
        self.skip_bom()?;
        loop {
            let Some((start, end)) = self.next_line() else {
                return if self.ended { self.dispatch() } else { None };
            };
            if start == end {
                if !matches!(self.data, Place::Nowhere) {
                    return self.dispatch();
                }
                continue;
            }
            let line = self.buffer.get(start..end).unwrap_or_default();
            if let Some(skip) = before_data(line) {
                self.take(start + skip, end);
            } else if !is_field(line) {
                self.foreign = true;
            }
        }
    }

    /// Drops what was taken, before new bytes come: what is left is at most one event's.
    fn compact(&mut self) {
        self.found = Place::Nowhere;
        let keep = if let Place::At(start, _) = self.data { start } else { self.line };
        if keep == 0 {
            return;
        }
        if keep == self.buffer.len() {
            self.buffer.clear();
        } else {
            steps::add(self.buffer.len() - keep);
            self.buffer.drain(..keep);
        }
        self.line -= keep;
        self.searched = self.searched.saturating_sub(keep).max(self.line);
        if let Place::At(start, end) = &mut self.data {
            *start -= keep;
            *end -= keep;
        }
    }

    /// Passes over a byte order mark at the very beginning. `None`: whether there is one cannot be said yet.
    fn skip_bom(&mut self) -> Option<()> {
        const BOM: &[u8] = b"\xEF\xBB\xBF";
        if self.begun {
            return Some(());
        }
        let head = self.buffer.get(..BOM.len()).unwrap_or(&self.buffer);
        if head == BOM {
            (self.line, self.searched) = (BOM.len(), BOM.len());
        } else if BOM.starts_with(head) && !self.ended {
            return None;
        }
        self.begun = true;
        Some(())
    }

    /// The next line without its end, as a range of the buffer.
    fn next_line(&mut self) -> Option<(usize, usize)> {
        if self.after_cr {
            match self.buffer.get(self.line) {
                None => return None,
                Some(b'\n') => {
                    self.line += 1;
                    self.searched = self.searched.max(self.line);
                }
                Some(_) => {}
            }
            self.after_cr = false;
        }
        let start = self.line;
        let rest = self.buffer.get(self.searched..).unwrap_or_default();
        let found = memchr::memchr2(b'\n', b'\r', rest);
        steps::add(found.map_or(rest.len(), |found| found + 1));
        let Some(found) = found else {
            self.searched = self.buffer.len();
            if self.ended && start < self.buffer.len() {
                self.line = self.buffer.len();
                return Some((start, self.line));
            }
            return None;
        };
        let end = self.searched + found;
        self.after_cr = self.buffer.get(end) == Some(&b'\r');
        (self.line, self.searched) = (end + 1, end + 1);
        Some((start, end))
    }

    fn take(&mut self, start: usize, end: usize) {
        match self.data {
            Place::Nowhere => {
                self.data = Place::At(start, end);
                return;
            }
            Place::At(start, end) => {
                self.joined.clear();
                self.joined.extend_from_slice(self.buffer.get(start..end).unwrap_or_default());
                self.data = Place::Joined;
            }
            Place::Joined => {}
        }
        steps::add(1 + end - start);
        self.joined.push(b'\n');
        self.joined.extend_from_slice(self.buffer.get(start..end).unwrap_or_default());
    }

    fn dispatch(&mut self) -> Option<usize> {
        if matches!(self.data, Place::Nowhere) {
            return None;
        }
        self.found = std::mem::take(&mut self.data);
        Some(self.data().len())
    }
}

/// The length of a line's field name, if the line holds data. llama.cpp's servers write an error in mid-stream into a field
/// `error` of its own, as JSON.
fn before_data(line: &[u8]) -> Option<usize> {
    match line.strip_prefix(b"data") {
        Some([]) => Some(4),
        Some([b':', b' ', ..]) => Some(6),
        Some([b':', ..]) => Some(5),
        _ => line.starts_with(b"error: {").then_some(7),
    }
}

/// Whether a line is a comment or a field, or the beginning of a field.
fn is_field(line: &[u8]) -> bool {
    const NAMES: [&[u8]; 4] = [b"data", b"event", b"id", b"retry"];
    match memchr::memchr(b':', line) {
        Some(0) => true,
        Some(end) => line.get(..end).is_some_and(|name| NAMES.contains(&name)),
        None => NAMES.iter().any(|name| name.starts_with(line)),
    }
}

#[cfg(test)]
mod tests;
