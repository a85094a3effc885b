//! The output of the code.

use std::borrow::Cow;

use monty_types::{MontyException, PrintWriterCallback};

use crate::Output;

/// Keeps the beginning of what is printed and counts the rest.
#[derive(Debug)]
pub(super) struct Printed {
    /// Bytes that may still be kept.
    room: usize,
    /// Output since it was last taken.
    since: Output,
}

impl Printed {
    pub(super) fn new(most: usize) -> Self {
        Self { room: most, since: Output::default() }
    }

    /// The output since this was last called.
    pub(super) fn take(&mut self) -> Output {
        std::mem::take(&mut self.since)
    }

    fn push(&mut self, text: &str) {
        let kept = text.floor_char_boundary(self.room);
        self.since.text.push_str(text.get(..kept).unwrap_or_default());
        self.room -= kept;
        if kept < text.len() {
            // Nothing is kept after a gap.
            self.room = 0;
            self.since.cut = self.since.cut.saturating_add((text.len() - kept) as u64);
        }
    }
}

impl PrintWriterCallback for Printed {
    fn stdout_write(&mut self, output: Cow<'_, str>) -> Result<(), MontyException> {
        self.push(&output);
        Ok(())
    }

    fn stdout_push(&mut self, end: char) -> Result<(), MontyException> {
        self.push(end.encode_utf8(&mut [0; 4]));
        Ok(())
    }
}
