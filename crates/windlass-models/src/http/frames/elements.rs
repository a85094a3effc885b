//! Owns the reader of JSON objects in a list or one after another, fed with bytes cut anywhere.

use windlass_core::text::Steps;

use super::EventTooLong;

/// An incremental reader: bytes go in with [`push`](Self::push), whole objects come out of [`next_element`](Self::next_element).
/// The brackets of an outer list, commas and anything else between objects are passed over.
#[derive(Debug)]
pub struct ElementReader {
    max_element_bytes: usize,
    buffer: Vec<u8>,
    /// Start of the first object that is not yet consumed, or the place where it is looked for.
    start: usize,
    /// Up to where the buffer was read.
    searched: usize,
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// Range of the last object found.
    found: (usize, usize),
    steps: Steps,
}

impl ElementReader {
    /// A reader of objects that have at most so many bytes each.
    pub fn bounded(max_element_bytes: usize) -> Self {
        Self {
            max_element_bytes,
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            depth: 0,
            in_text: false,
            escaped: false,
            found: (0, 0),
            steps: Steps::default(),
        }
    }

    /// Number of bytes read or moved so far.
    pub fn steps(&self) -> u64 {
        self.steps.count()
    }

    /// Adds bytes as they came.
    ///
    /// # Errors
    /// The object that is being read is too long.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        self.found = (0, 0);
        if self.start > 0 {
            self.steps.add(self.buffer.len() - self.start);
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        if self.buffer.len() + bytes.len() > self.max_element_bytes {
            return Err(EventTooLong);
        }
        self.steps.add(bytes.len());
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// The next whole object; `None`: more bytes are needed.
    pub fn next_element(&mut self) -> Option<&[u8]> {
        self.find()?;
        Some(self.element())
    }

    /// The object that was found last, until more bytes are added.
    pub fn element(&self) -> &[u8] {
        let (start, end) = self.found;
        self.buffer.get(start..end).unwrap_or_default()
    }

    /// Finds the next whole object and says how many bytes it has; `None`: more bytes are needed.
    pub fn find(&mut self) -> Option<usize> {
        for (at, byte) in self.buffer.iter().enumerate().skip(self.searched) {
            self.steps.add(1);
            self.searched = at + 1;
            match byte {
                _ if self.in_text => {
                    self.in_text = self.escaped || *byte != b'"';
                    self.escaped = !self.escaped && *byte == b'\\';
                }
                b'"' if self.depth > 0 => self.in_text = true,
                b'{' => {
                    if self.depth == 0 {
                        self.start = at;
                    }
                    self.depth += 1;
                }
                b'}' if self.depth > 0 => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        self.found = (std::mem::replace(&mut self.start, at + 1), at + 1);
                        return Some(self.element().len());
                    }
                }
                _ if self.depth == 0 => self.start = at + 1,
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests;
