//! Owns the reader of lines of JSON, fed with bytes cut anywhere.

use windlass_core::text::steps;

use super::EventTooLong;

/// An incremental reader: bytes go in with [`push`](Self::push), whole lines come out of [`next_line`](Self::next_line).
/// Lines end in LF or CRLF; empty ones are passed over.
#[derive(Debug)]
pub struct LineReader {
    max_line_bytes: usize,
    buffer: Vec<u8>,
    /// Start of the first line not yet consumed.
    line: usize,
    /// Up to where that line was searched for its end.
    searched: usize,
    ended: bool,
    /// Range of the last line found.
    found: (usize, usize),
}

impl LineReader {
    /// A reader of lines that have at most so many bytes each.
    pub fn bounded(max_line_bytes: usize) -> Self {
        Self { max_line_bytes, buffer: Vec::new(), line: 0, searched: 0, ended: false, found: (0, 0) }
    }

    /// Adds bytes as they came.
    ///
    /// # Errors
    /// The line that is being read is too long.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        self.found = (0, 0);
        if self.line > 0 {
            steps::add(self.buffer.len() - self.line);
            self.buffer.drain(..self.line);
            self.searched -= self.line;
            self.line = 0;
        }
        if self.buffer.len() + bytes.len() > self.max_line_bytes {
            return Err(EventTooLong);
        }
        steps::add(bytes.len());
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Nothing more will come: the last line counts as ended.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The next whole line that is not empty; `None`: more bytes are needed.
    pub fn next_line(&mut self) -> Option<&[u8]> {
        self.find()?;
        Some(self.line())
    }

    /// The line that was found last, until more bytes are added.
    pub fn line(&self) -> &[u8] {
        let (start, end) = self.found;
        self.buffer.get(start..end).unwrap_or_default().trim_ascii()
    }

    /// Finds the next whole line that is not empty and says how many bytes it has; `None`: more bytes are needed.
    pub fn find(&mut self) -> Option<usize> {
        loop {
            let rest = self.buffer.get(self.searched..).unwrap_or_default();
            let found = memchr::memchr(b'\n', rest);
            steps::add(found.map_or(rest.len(), |found| found + 1));
            let (end, next) = match found {
                Some(found) => (self.searched + found, self.searched + found + 1),
                None if self.ended && self.line < self.buffer.len() => (self.buffer.len(), self.buffer.len()),
                None => {
                    self.searched = self.buffer.len();
                    return None;
                }
            };
            self.found = (std::mem::replace(&mut self.line, next), end);
            self.searched = next;
            if !self.line().is_empty() {
                return Some(self.line().len());
            }
        }
    }
}

#[cfg(test)]
mod tests;
