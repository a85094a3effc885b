//! Owns the encoded elements of a list of messages, of which some may be written anew with a marker for the provider's cache.

use windlass_core::Message;

use crate::ModelRequest;

/// The elements with commas between them, and none marked.
#[derive(Default)]
pub(crate) struct Elements {
    pub(crate) bytes: Vec<u8>,
    /// End of each message in `bytes`. A message may be several elements, or none.
    pub(crate) ends: Vec<usize>,
}

impl Elements {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(bytes), ends: Vec::new() }
    }

    /// Says that what was written belongs to the next message.
    pub(crate) fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    /// The elements from a message on.
    pub(crate) fn since(&self, place: usize) -> &[u8] {
        self.bytes.get(self.start(place)..).unwrap_or_default()
    }

    /// The start of a message: a comma stands between two elements.
    fn start(&self, place: usize) -> usize {
        let before = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        if before > 0 && self.bytes.get(before) == Some(&b',') { before + 1 } else { before }
    }

    /// The elements with the messages at these places written anew, in order; `None`: there is none. What is kept stays as it
    /// is, so that a marker may move from turn to turn. `anew` is given a message and its bytes, and says `None` where it cannot
    /// be marked.
    pub(crate) fn marked(
        &self,
        places: &[usize],
        request: &ModelRequest,
        anew: impl Fn(&Message, &[u8]) -> Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        if places.is_empty() {
            return None;
        }
        let mut out = Vec::with_capacity(self.bytes.len() + 64 * places.len());
        let mut copied = 0;
        for place in places {
            let (Some(end), Some(message)) = (self.ends.get(*place), request.message(*place)) else {
                continue;
            };
            let start = self.start(*place);
            let kept = self.bytes.get(start..*end).unwrap_or_default();
            let Some(anew) = anew(&message, kept) else { continue };
            out.extend_from_slice(self.bytes.get(copied..start).unwrap_or_default());
            out.extend_from_slice(&anew);
            copied = *end;
        }
        out.extend_from_slice(self.bytes.get(copied..).unwrap_or_default());
        Some(out)
    }
}
