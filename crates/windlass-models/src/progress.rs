//! Progress of a reply: content, and usage that grows. Pings, comments, roles and empty pieces are none (E56).

use crate::Delta;

/// Tells the pieces of one reply that bring something from those that bring nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Tokens that the provider had counted so far.
    used: u64,
}

impl Progress {
    /// Whether this piece, the next one of the reply, brings something.
    pub fn is_made_by(&mut self, delta: &Delta) -> bool {
        match delta {
            Delta::Text(text) | Delta::Reasoning(text) => !text.is_empty(),
            Delta::Sealed(sealed) => !sealed.data.is_empty(),
            Delta::Call { name, args, .. } => {
                !args.is_empty() || name.as_ref().is_some_and(|name| !name.is_empty())
            }
            Delta::Usage(usage) => {
                let grown = usage.total() > self.used;
                self.used = self.used.max(usage.total());
                grown
            }
            Delta::Media(_) | Delta::Annotation(_) | Delta::Whole(_) => true,
            Delta::Stop(_) | Delta::Thought => false,
        }
    }
}
