//! The fold of compactions and of the size of requests.

use crate::protocol::fact::HistoryEdited;
use crate::protocol::fact::context::Compacted;
use crate::protocol::fact::turns::TurnStarted;
use crate::state::context::{ContextTracker, Sent};
use crate::state::{Phase, State};
use crate::vocabulary::ids::CallId;
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
                model_call.sends(sent);
            }
        } else if turn.purpose == Purpose::Summarise && about.is_none() {
            let covers = self.before_last();
            if matches!(self.phase, Phase::Stepping { .. }) {
                // The hook has been heard: the turn that follows waits for the summary.
                self.phase = Phase::Between;
            }
            let Some(model_call) = self.model_calls.get_mut(turn.purpose, about) else { return };
            if model_call.sums_up(covers) {
                self.tried_to_compact();
            }
        }
    }

    /// The size of a request that a model is sent now.
    pub(crate) fn request_size(&self, purpose: Purpose, about: Option<&CallId>, model: u32) -> Sent {
        let policy = self.setup.policy();
        let wire = self.setup.models().get(model as usize).map(|model| policy.wire_of(model));
        let bytes = self.view_bytes(purpose, about, wire.unwrap_or(policy.request.wire));
        self.conversation.tracker().sized(bytes)
    }

    /// A provider has counted a request.
    pub(crate) fn request_counted(&mut self, usage: &Usage, sent: Option<Sent>) {
        let Some(sent) = sent.filter(|_| usage.input > 0 && !usage.estimated) else { return };
        self.conversation.track(|tracker| tracker.counted_as(sent, usage.input));
    }

    pub(crate) fn history_edited(&mut self, edited: &HistoryEdited) {
        if let Some(refused) = &edited.refused {
            // One message for one: every place stays.
            self.conversation.exchange(&edited.splices);
            return self.items_refused(refused);
        }
        self.edited(&edited.splices);
        self.conversation.track(ContextTracker::may_warn_again);
    }

    pub(crate) fn compaction_skipped(&mut self) {
        self.conversation.track(ContextTracker::skipped);
        self.tried_to_compact();
    }

    pub(crate) fn compacted(&mut self, compacted: &Compacted) {
        let had_more = self.conversation.has_more_to_read();
        self.conversation.leave_out(compacted);
        self.edited(&compacted.splices);
        self.conversation.track(|tracker| tracker.compacted(compacted));
        self.tried_to_compact();
        if !had_more && self.conversation.has_more_to_read() {
            self.offer_tools(self.toolbox.own().clone());
        }
    }

    /// A compaction was tried with the conversation as it stands.
    pub(crate) fn tried_to_compact(&mut self) {
        let covers = self.before_last();
        self.conversation.track(|tracker| tracker.tried_with(covers));
    }
}
