//! The conversation: its messages, and what is known of all of them together.

use std::sync::Arc;

use rpds::{RedBlackTreeMapSync, RedBlackTreeSetSync, VectorSync};

use crate::protocol::fact::context::Compacted;
use crate::protocol::fact::interrupts::Steered;
use crate::protocol::fact::turns::TurnCompleted;
use crate::state::context::{ContextTracker, LeftOut, result_handle};
use crate::vocabulary::history::{History, Splice};
use crate::vocabulary::ids::{CallId, RunId, Text};
use crate::vocabulary::message::{AssistantMessage, Content, Message};
use crate::vocabulary::payload::Ref;

/// The conversation of a run, shared with the runs that go on from it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Conversation {
    history: History,
    /// The ids of all its calls: a new one is unlike each of them.
    call_ids: RedBlackTreeSetSync<CallId>,
    /// Its stored payloads, by handle.
    stored: RedBlackTreeMapSync<Text, Ref>,
    /// Steering messages that enter at the next turn.
    steering: Vec<Steered>,
    /// The last text of the model that was not blank.
    last_text: Option<Text>,
    /// Number of tool results.
    outputs: u64,
    /// Messages that a compaction removed, by the name under which the model reads them.
    left_out: RedBlackTreeMapSync<Text, LeftOut>,
    /// Size of requests, and places that compactions look at.
    tracker: ContextTracker,
    /// Replies in vain and what was said about them, if any: the session goes on without them.
    passing: Option<Arc<Vec<Arc<Message>>>>,
    /// Which model wrote the replies from a place on, by its name; an empty name: nobody knows.
    speakers: VectorSync<(usize, Text)>,
}

impl Conversation {
    pub(crate) fn history(&self) -> &History {
        &self.history
    }

    /// The ids of all its calls: a new one is unlike each of them.
    pub(crate) fn call_ids(&self) -> &RedBlackTreeSetSync<CallId> {
        &self.call_ids
    }

    /// Its stored payloads, by handle.
    pub(crate) fn stored(&self) -> &RedBlackTreeMapSync<Text, Ref> {
        &self.stored
    }

    /// Steering messages that enter at the next turn.
    pub(crate) fn steering(&self) -> &[Steered] {
        &self.steering
    }

    /// The last text of the model that was not blank.
    pub(crate) fn last_text(&self) -> Option<&Text> {
        self.last_text.as_ref()
    }

    /// Number of tool results.
    pub(crate) fn outputs(&self) -> u64 {
        self.outputs
    }

    /// Messages that a compaction removed, by the name under which the model reads them.
    pub(crate) fn left_out(&self) -> &RedBlackTreeMapSync<Text, LeftOut> {
        &self.left_out
    }

    /// Size of requests, and places that compactions look at.
    pub(crate) fn tracker(&self) -> &ContextTracker {
        &self.tracker
    }

    /// A message enters at the end.
    pub(crate) fn push(&mut self, message: Arc<Message>) {
        self.history.push(message);
    }

    /// A reply of the loop's model enters.
    pub(crate) fn replied(&mut self, turn: &TurnCompleted) {
        self.tracker.replied();
        if let Some(text) = turn.text_without_calls().filter(|text| !text.trim().is_empty()) {
            self.last_text = Some(text);
        }
        self.spoken_by(&turn.model);
        self.push(Arc::new(Message::Assistant(AssistantMessage {
            text: turn.text.clone(),
            reasoning: turn.reasoning.clone(),
            media: turn.media.clone(),
            calls: turn.calls.clone(),
            annotations: turn.annotations.clone(),
        })));
    }

    /// The last reply was in vain, if it has no calls, and so is this note about it: the session goes on without them.
    pub(crate) fn passes(&mut self, note: &Arc<Message>) {
        let reply = self.history.last().cloned();
        let without_calls = |reply: &Arc<Message>| matches!(&**reply, Message::Assistant(message) if message.calls.is_empty());
        let passing = Arc::make_mut(self.passing.get_or_insert_default());
        passing.extend(reply.filter(without_calls));
        passing.push(note.clone());
    }

    /// Messages give way to others, and the places of those that are left move.
    pub(crate) fn replace(&mut self, splices: &[Splice]) {
        self.tracker.follow(splices);
        self.history.edit(splices);
        for splice in splices {
            self.spliced(splice);
        }
    }

    /// Messages give way to others, one for one: every place stays.
    pub(crate) fn exchange(&mut self, splices: &[Splice]) {
        self.history.edit(splices);
    }

    /// Somebody says something, which enters at the next turn.
    pub(crate) fn steer(&mut self, steered: Steered) {
        self.steering.push(steered);
    }

    /// Steering messages wait for a run of their own.
    pub(crate) fn leave_to(&mut self, run: RunId) {
        self.steering.retain(|message| message.run != Some(run));
    }

    /// Steering messages are heard now.
    pub(crate) fn take_steering(&mut self) -> Vec<Steered> {
        std::mem::take(&mut self.steering)
    }

    /// Steering messages that the run before this one has not heard are taken over.
    pub(crate) fn inherit_steering(&mut self, base: &Self) {
        self.steering.clone_from(&base.steering);
    }

    /// No new call has this id.
    pub(crate) fn take_id(&mut self, call: &CallId) {
        self.call_ids.insert_mut(call.clone());
    }

    /// The same call may have its id again.
    pub(crate) fn free_id(&mut self, call: &CallId) {
        self.call_ids.remove_mut(call);
    }

    /// A call of the turn brought a result.
    pub(crate) fn result_came(&mut self) {
        self.outputs += 1;
    }

    /// A payload of it is stored.
    pub(crate) fn store(&mut self, stored: &Ref) {
        self.stored.insert_mut(stored.handle().into(), stored.clone());
    }

    /// A summary stands for a result, which the reading tool gives.
    pub(crate) fn leave_out_result(&mut self, call: &CallId, content: Content) {
        self.left_out.insert_mut(result_handle(call), LeftOut::Result(content));
    }

    /// Keeps the removed messages for the reading tool.
    pub(crate) fn leave_out(&mut self, compacted: &Compacted) {
        let mut shift = 0_i128;
        let mut gone: Vec<Arc<Message>> = Vec::new();
        for splice in &compacted.splices {
            let at = usize::try_from(i128::from(splice.at) - shift).unwrap_or_default();
            gone.extend(self.history().since(at).take(splice.remove as usize).cloned());
            shift += splice.insert.len() as i128 - i128::from(splice.remove);
        }
        if let Some(handle) = &compacted.handle {
            self.left_out.insert_mut(handle.clone(), LeftOut::Messages(Arc::new(gone)));
            return;
        }
        for message in gone {
            if let Message::Tool(result) = &*message {
                let handle = result_handle(&result.call);
                self.left_out.insert_mut(handle, LeftOut::Result(result.content.clone()));
            }
        }
    }

    /// Something happens to the size of requests.
    pub(crate) fn track(&mut self, happens: impl FnOnce(&mut ContextTracker)) {
        happens(&mut self.tracker);
    }

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
    fn spliced(&mut self, splice: &Splice) {
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
    pub(crate) fn as_base(&self) -> Self {
        Self {
            steering: Vec::new(),
            last_text: None,
            outputs: 0,
            tracker: self.tracker.as_base(),
            ..self.clone()
        }
    }
}
