//! The conversation as a persistent list: cheap to clone, cheap to add to, shared between a run and its bases.

use std::sync::Arc;

use crate::message::Message;

/// A conversation. Cloning costs O(1), adding a message O(1), whatever came before.
#[derive(Clone, Debug, Default)]
pub struct History {
    messages: rpds::VectorSync<Arc<Message>>,
    bytes: u64,
    edits: u64,
}

impl History {
    /// How many messages there are.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Bytes of text in all messages: the base of token estimates.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How often earlier messages were changed. As long as this stays, a longer history begins with a shorter one.
    pub fn edits(&self) -> u64 {
        self.edits
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: Arc<Message>) {
        self.bytes = self.bytes.saturating_add(message.bytes());
        self.messages.push_back_mut(message);
    }

    /// The messages in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.messages.iter()
    }

    /// The messages from that place on, found without walking over the earlier ones.
    pub fn since(&self, start: usize) -> impl Iterator<Item = &Arc<Message>> {
        (start..self.messages.len()).filter_map(|at| self.messages.get(at))
    }

    /// The last message.
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.messages.last()
    }
}

impl PartialEq for History {
    fn eq(&self, other: &Self) -> bool {
        self.edits == other.edits && self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl FromIterator<Arc<Message>> for History {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        let mut history = Self::default();
        messages.into_iter().for_each(|message| history.push(message));
        history
    }
}
