//! The fold of compactions and of the size of requests.

use std::sync::Arc;

use crate::protocol::fact::HistoryEdited;
use crate::protocol::fact::context::Compacted;
use crate::protocol::fact::turns::TurnStarted;
use crate::state::context::{LeftOut, Sent, Skip, Summary, Warning, result_handle};
use crate::state::{Phase, State};
use crate::vocabulary::ids::CallId;
use crate::vocabulary::message::Message;
use crate::vocabulary::purpose::{Counts, Purpose};
use crate::vocabulary::reply::Usage;

impl State {
    /// The size of the request that a call sends, or the part of the conversation that it sums up.
    pub(crate) fn request_begun(&mut self, turn: &TurnStarted) {
        let about = turn.about.as_ref();
        if turn.purpose.counts() == Counts::AsModelCall {
            // Of a request without some items only the provider knows the size.
            let sent = Some(self.request_size(turn.purpose, about, turn.model));
            let sent = sent.filter(|_| turn.without.is_empty());
            if let Some(model_call) = self.model_calls.get_mut(turn.purpose, about) {
                model_call.sent = sent;
            }
        } else if turn.purpose == Purpose::Summarise && about.is_none() {
            let covers = self.before_last();
            if matches!(self.phase, Phase::Stepping { .. }) {
                // The hook has been heard: the turn that follows waits for the summary.
                self.phase = Phase::Between;
            }
            let Some(model_call) = self.model_calls.get_mut(turn.purpose, about) else { return };
            if model_call.covers.is_none() {
                model_call.covers = Some(covers);
                self.tried_to_compact();
            }
        }
    }

    /// The size of a request that a model is sent now.
    pub(crate) fn request_size(&self, purpose: Purpose, about: Option<&CallId>, model: u32) -> Sent {
        let policy = self.setup.policy();
        let wire = self.setup.models().get(model as usize).map(|model| policy.wire_of(model));
        let bytes = self.view_bytes(purpose, about, wire.unwrap_or(policy.request.wire));
        Sent { bytes, tokens: self.conversation.tracker.tokens(bytes) }
    }

    /// A provider has counted a request.
    pub(crate) fn request_counted(&mut self, usage: &Usage, sent: Option<Sent>) {
        let Some(sent) = sent.filter(|_| usage.input > 0 && !usage.estimated) else { return };
        self.conversation.tracker.counted = Some(Sent { tokens: usage.input, ..sent });
        self.conversation.tracker.estimated = sent.tokens;
    }

    pub(crate) fn history_edited(&mut self, edited: &HistoryEdited) {
        if let Some(refused) = &edited.refused {
            // One message for one: every place stays.
            self.conversation.history.edit(&edited.splices);
            return self.items_refused(refused);
        }
        self.conversation.tracker.follow(&edited.splices);
        self.conversation.tracker.warning = Warning::None;
        self.edited(&edited.splices);
    }

    pub(crate) fn compaction_skipped(&mut self) {
        self.conversation.tracker.skip = Skip::Recorded;
        self.tried_to_compact();
    }

    pub(crate) fn compacted(&mut self, compacted: &Compacted) {
        let had_more = self.conversation.has_more_to_read();
        self.leave_out(compacted);
        let tracker = &mut self.conversation.tracker;
        tracker.follow(&compacted.splices);
        let inserted = compacted.splices.iter().rev().find(|splice| !splice.insert.is_empty());
        if let (Some(splice), true) = (inserted, compacted.exchanges > 0) {
            let at = splice.at as usize;
            tracker.summary = Some(Summary { at, exchanges: compacted.exchanges });
            tracker.swept = at;
        } else if let Some(splice) = inserted {
            tracker.swept = splice.at as usize + 1;
        }
        (tracker.replies, tracker.warning, tracker.skip) = (0, Warning::None, Skip::None);
        self.edited(&compacted.splices);
        self.tried_to_compact();
        if !had_more && self.conversation.has_more_to_read() {
            self.offer_tools(self.toolbox.own().clone());
        }
    }

    /// Keeps the removed messages for the reading tool.
    fn leave_out(&mut self, compacted: &Compacted) {
        let mut shift = 0_i128;
        let mut gone: Vec<Arc<Message>> = Vec::new();
        for splice in &compacted.splices {
            let at = usize::try_from(i128::from(splice.at) - shift).unwrap_or_default();
            gone.extend(self.conversation.history.since(at).take(splice.remove as usize).cloned());
            shift += splice.insert.len() as i128 - i128::from(splice.remove);
        }
        if let Some(handle) = &compacted.handle {
            self.conversation.left_out.insert_mut(handle.clone(), LeftOut::Messages(Arc::new(gone)));
            return;
        }
        for message in gone {
            if let Message::Tool(result) = &*message {
                let handle = result_handle(&result.call);
                self.conversation.left_out.insert_mut(handle, LeftOut::Result(result.content.clone()));
            }
        }
    }

    /// A compaction was tried with the conversation as it stands.
    pub(crate) fn tried_to_compact(&mut self) {
        self.conversation.tracker.tried = Some(self.before_last());
    }
}
