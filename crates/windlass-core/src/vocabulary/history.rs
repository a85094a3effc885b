//! The conversation as a persistent list: cheap to clone, cheap to add to, shared between a run and its bases.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::vocabulary::ids::CallId;
use crate::vocabulary::message::Message;

/// A conversation. Cloning it and appending a message cost O(1).
#[derive(Clone, Debug, Default)]
pub struct History {
    messages: rpds::VectorSync<Arc<Message>>,
    bytes: u64,
    /// Bytes of calls that are contained in a text, too.
    again: u64,
    edits: u64,
    /// Places of pinned messages, the last one first. An empty list takes no memory.
    pins: rpds::ListSync<usize>,
}

impl History {
    /// None, for one that is made anew each time another one has been edited: so many times by now.
    pub(crate) fn after_edits(edits: u64) -> Self {
        Self { edits, ..Self::default() }
    }

    /// The number of messages.
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

    /// Bytes of text in all messages when calls are sent as text; a call that is contained in a text is counted once.
    pub(crate) fn bytes_as_text(&self) -> u64 {
        self.bytes.saturating_sub(self.again)
    }

    /// Number of edits of earlier messages. While it is unchanged, the messages are only appended to.
    pub fn edits(&self) -> u64 {
        self.edits
    }

    /// Adds a message at the end.
    pub fn push(&mut self, message: Arc<Message>) {
        self.bytes = self.bytes.saturating_add(message.bytes());
        self.again = self.again.saturating_add(message.bytes_again());
        if message.is_pinned() {
            self.pins.push_front_mut(self.messages.len());
        }
        self.messages.push_back_mut(message);
    }

    /// Replaces messages in a row by others, one change after another. Costs as much as there are messages behind the
    /// earliest change; the earlier ones stay shared.
    pub fn edit(&mut self, splices: &[Splice]) {
        let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
        let first = splices.iter().map(|splice| place(splice.at)).min().unwrap_or(usize::MAX).min(self.len());
        let mut rest: Vec<Arc<Message>> = self.since(first).cloned().collect();
        for splice in splices {
            let at = place(splice.at).saturating_sub(first).min(rest.len());
            let after = at.saturating_add(place(splice.remove)).min(rest.len());
            self.edits += u64::from(at < rest.len());
            rest.splice(at..after, splice.insert.iter().cloned());
        }
        while self.len() > first {
            if let Some(last) = self.messages.last() {
                self.bytes = self.bytes.saturating_sub(last.bytes());
                self.again = self.again.saturating_sub(last.bytes_again());
                if last.is_pinned() {
                    self.pins.drop_first_mut();
                }
            }
            self.messages.drop_last_mut();
        }
        for message in rest {
            self.push(message);
        }
    }

    /// First violation that a provider would refuse: a result without its call, or a call without its result.
    pub fn fault(&self) -> Option<String> {
        let mut open: Vec<&CallId> = Vec::new();
        for message in self.iter() {
            if let Message::Tool(result) = &**message {
                let Some(place) = open.iter().position(|call| **call == result.call) else {
                    return Some(format!("the result of {} follows no such call", result.call));
                };
                open.remove(place);
                continue;
            }
            if let Some(call) = open.first() {
                return Some(format!("the call {call} has no result"));
            }
            if let Message::Assistant(reply) = &**message {
                open = reply.calls.iter().map(|call| &call.id).collect();
            }
        }
        open.first().map(|call| format!("the call {call} has no result"))
    }

    /// The messages in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Message>> {
        self.messages.iter()
    }

    /// The messages from that place on, found without walking over the earlier ones.
    pub fn since(&self, start: usize) -> impl Iterator<Item = &Arc<Message>> {
        (start..self.messages.len()).filter_map(|at| self.messages.get(at))
    }

    /// Places of the pinned messages before that place, in order. Costs as much as there are pinned messages.
    pub(crate) fn pinned_before(&self, place: usize) -> Vec<usize> {
        let mut places: Vec<usize> = self.pins.iter().copied().filter(|at| *at < place).collect();
        places.reverse();
        places
    }

    /// The message at that place, from 0.
    pub fn get(&self, at: usize) -> Option<&Arc<Message>> {
        self.messages.get(at)
    }

    /// The last message that is no result of a call.
    pub fn last_non_tool(&self) -> Option<&Arc<Message>> {
        let places = (0..self.messages.len()).rev();
        places.filter_map(|at| self.messages.get(at)).find(|message| !matches!(***message, Message::Tool(_)))
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

/// A change of the conversation: some messages in a row are replaced by others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Splice {
    /// The place of the first message that goes, or before which others come, from 0.
    pub at: u64,
    /// Number of messages removed.
    #[serde(default)]
    pub remove: u64,
    /// Messages inserted in their place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub insert: Vec<Arc<Message>>,
}
