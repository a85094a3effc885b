//! Owns the ids of the replies that one stream brings: two are answers to two requests, and would run together.

use super::DecodeError;

/// The first reply's id, and that of another one which began in the same stream.
#[derive(Debug, Default)]
pub(crate) struct ReplyIds {
    first: Option<String>,
    second: Option<String>,
}

impl ReplyIds {
    /// A reply begins. Some servers say so twice of the same one.
    pub(crate) fn begin(&mut self, id: String) {
        match &self.first {
            Some(first) if *first != id => self.second = Some(id),
            Some(_) => {}
            None => self.first = Some(id),
        }
    }

    /// To be asked when a part of a reply comes: a second one that brings nothing does no harm.
    ///
    /// # Errors
    /// A second one has begun: the stream is broken, and nothing of it counts.
    pub(crate) fn only_one(&self) -> Result<(), DecodeError> {
        match (&self.first, &self.second) {
            (Some(first), Some(second)) => Err(DecodeError::second_reply(first, second)),
            _ => Ok(()),
        }
    }
}
