//! The conversation: its messages, and what is known of all of them together.

use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync};

use crate::event::Steered;
use crate::history::History;
use crate::ids::{CallId, Text};
use crate::state::context::{Gauge, LeftOut};
use crate::stored::Ref;

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
    pub(crate) gauge: Gauge,
}

impl Conversation {
    /// Whether there is something that only the reading tool gives.
    pub(crate) fn has_more_to_read(&self) -> bool {
        !self.stored.is_empty() || !self.left_out.is_empty()
    }

    /// The same messages, for a run that begins with them: nothing was said or called in it yet.
    pub(crate) fn below(&self) -> Self {
        Self { steering: Vec::new(), last_text: None, outputs: 0, gauge: self.gauge.below(), ..self.clone() }
    }
}
