//! The conversation: its messages, and what is known of all of them together.

use std::sync::Arc;

use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync, VectorSync};

use crate::protocol::fact::interrupts::Steered;
use crate::state::context::{ContextTracker, LeftOut};
use crate::vocabulary::history::{History, Splice};
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::message::Message;
use crate::vocabulary::payload::Ref;

/// The conversation of a run, shared with the runs that go on from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conversation {
    pub(crate) history: History,
    /// The ids of all its calls: a new one is unlike each of them.
    pub(crate) call_ids: RedBlackTreeSetSync<CallId>,
    /// Its stored payloads, by handle.
    pub(crate) stored: RedBlackTreeMapSync<Text, Ref>,
    /// Steering messages that enter at the next turn.
    pub(crate) steering: Vec<Steered>,
    /// The last text of the model that was not blank.
    pub(crate) last_text: Option<Text>,
    /// Number of tool results.
    pub(crate) outputs: u64,
    /// What a compaction removed, by the name under which the model reads it.
    pub(crate) left_out: RedBlackTreeMapSync<Text, LeftOut>,
    /// Size of requests, and places that compactions look at.
    pub(crate) tracker: ContextTracker,
    /// Replies in vain and what was said about them, if any: the session goes on without them.
    pub(crate) passing: Option<Arc<Vec<Arc<Message>>>>,
    /// Which model wrote the replies from a place on, by its name; an empty name: nobody knows.
    speakers: VectorSync<(usize, Text)>,
}

impl Conversation {
    /// The next message is a reply of this model.
    pub(crate) fn spoken_by(&mut self, model: &Text) {
        if self.speakers.last().is_none_or(|(_, last)| last != model) {
            self.speakers.push_back_mut((self.history.len(), model.clone()));
        }
    }

    /// The model that wrote the reply at that place.
    pub(crate) fn speaker(&self, place: usize) -> Option<&Text> {
        let before = self.speakers.iter().take_while(|(from, _)| *from <= place);
        before.last().map(|(_, model)| model).filter(|model| !model.is_empty())
    }

    /// Messages were replaced: the places move with the messages that are left.
    pub(crate) fn spliced(&mut self, splice: &Splice) {
        let at = usize::try_from(splice.at).unwrap_or(usize::MAX);
        let end = at.saturating_add(usize::try_from(splice.remove).unwrap_or(usize::MAX));
        let moved = |from: usize| {
            if from >= end { from - (end - at) + splice.insert.len() } else { from.min(at) }
        };
        self.speakers = self.speakers.iter().map(|(from, model)| (moved(*from), model.clone())).collect();
    }

    /// The changes that leave out what is of no use beyond the run, the last message first, so that no place moves.
    pub(crate) fn without_passing(&mut self) -> Vec<Splice> {
        let Some(passing) = self.passing.take() else { return Vec::new() };
        let passes = |at: &usize| {
            self.history.get(*at).is_some_and(|message| passing.iter().any(|one| Arc::ptr_eq(one, message)))
        };
        let places = (0..self.history.len()).rev().filter(passes);
        places.map(|at| Splice { at: at as u64, remove: 1, insert: Vec::new() }).collect()
    }

    /// Whether there is something that only the reading tool gives.
    pub(crate) fn has_more_to_read(&self) -> bool {
        !self.stored.is_empty() || !self.left_out.is_empty()
    }

    /// The same messages, for a run that begins with them: nothing was said or called in it yet.
    pub(crate) fn below(&self) -> Self {
        Self {
            steering: Vec::new(),
            last_text: None,
            outputs: 0,
            tracker: self.tracker.below(),
            ..self.clone()
        }
    }
}
