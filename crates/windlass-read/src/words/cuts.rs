//! Texts that are shortened for lines.

use std::cell::Cell;

use super::{LINE_CHARS, cut};

/// Shortens texts for lines, and remembers whether anything was cut.
#[derive(Debug, Default)]
pub struct Cuts(Cell<bool>);

impl Cuts {
    /// The text on one line of usual length.
    pub fn line(&self, text: &str) -> String {
        self.chars(text, LINE_CHARS)
    }

    /// The text on one line of at most so many characters.
    pub fn chars(&self, text: &str, chars: usize) -> String {
        let short = cut(text, chars);
        if short.chars().count() > chars {
            self.note();
        }
        short
    }

    /// Something is left out.
    pub fn note(&self) {
        self.0.set(true);
    }

    /// Whether anything was cut.
    pub fn any(&self) -> bool {
        self.0.get()
    }
}
