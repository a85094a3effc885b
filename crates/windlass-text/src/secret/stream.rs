//! Owns [`StreamMask`], which hides secrets in a text that comes in pieces.

use super::Masker;
use super::matcher::replaced;

/// Hides secrets in a text that comes in pieces: what may be the beginning of a secret is held back until the rest is there.
/// It holds back no more than the longest form of a secret with its line breaks, and nothing where there are no secrets.
///
/// ```
/// use windlass_text::secret::{Masker, Secret};
///
/// let masker = Masker::new();
/// masker.add(&Secret::new("sk-0123456789abcdef"));
/// let mut stream = masker.stream();
/// assert_eq!(stream.push("the key is sk-0123".to_owned()), "the key is ");
/// assert_eq!(stream.push("456789abcdef.".to_owned()), "***.");
/// assert_eq!(stream.finish(), "");
/// ```
#[derive(Debug)]
pub struct StreamMask<'m> {
    masker: &'m Masker,
    held: String,
    /// Number of bytes already searched.
    seen: usize,
}

impl<'m> StreamMask<'m> {
    pub(super) fn new(masker: &'m Masker) -> Self {
        Self { masker, held: String::new(), seen: 0 }
    }

    /// Takes the next piece and gives what can be shown by now.
    pub fn push(&mut self, piece: String) -> String {
        let Some(patterns) = self.masker.patterns() else { return piece };
        if self.held.is_empty() {
            self.held = piece;
        } else {
            self.held.push_str(&piece);
        }
        // What is held is looked at again once a quarter has come to it: pieces of a byte cost no more than others.
        if self.held.len() < self.seen + self.seen / 4 {
            return String::new();
        }
        let found = patterns.find_open(&self.held);
        let within = |open: usize| found.ranges.iter().rfind(|range| range.start < open && open < range.end);
        let open = within(found.open).map_or(found.open, |range| range.start);
        let rest = self.held.split_off(open);
        let released = std::mem::replace(&mut self.held, rest);
        self.seen = self.held.len();
        let whole = found.ranges.partition_point(|range| range.end <= open);
        let ranges = found.ranges.get(..whole).filter(|ranges| !ranges.is_empty());
        ranges.map(|ranges| replaced(&released, ranges)).unwrap_or(released)
    }

    /// Returns the held-back text at the end of the stream.
    pub fn finish(&mut self) -> String {
        self.seen = 0;
        if self.held.is_empty() {
            return String::new();
        }
        let held = std::mem::take(&mut self.held);
        match self.masker.hide(&held) {
            std::borrow::Cow::Borrowed(_) => held,
            std::borrow::Cow::Owned(masked) => masked,
        }
    }
}
