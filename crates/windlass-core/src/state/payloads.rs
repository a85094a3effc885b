//! Payloads that are too large for events: they are stored first, once, and go through the core by name.
//!
//! A model sees the beginning, the end and a line that says how to read more; the tool for that is offered as soon as a
//! conversation holds such a payload, and not before.

use crate::state::State;
use crate::vocabulary::ids::Text;
use crate::vocabulary::message::Content;
use crate::vocabulary::payload::Ref;

impl State {
    /// The stored payload of this conversation that has that handle.
    pub fn stored(&self, handle: &str) -> Option<&Ref> {
        self.conversation.stored().get(handle)
    }

    /// The handles of what the conversation holds in part only: stored payloads, and what compactions left out.
    pub fn handles(&self) -> impl Iterator<Item = &Text> {
        self.conversation.stored().keys().chain(self.conversation.left_out().keys())
    }

    /// Remembers stored payloads, and offers the tool that reads them from the first one on.
    pub(crate) fn keep_stored(&mut self, content: &Content) {
        for stored in content.readable() {
            let first = !self.conversation.has_more_to_read();
            self.conversation.store(stored);
            if first {
                self.offer_tools(self.toolbox.own().clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
