//! The fold of a search for the item that a provider refuses.

use crate::protocol::fact::refused::{CandidateItem, ProbeAnswered, RefusedItems};
use crate::protocol::fact::turns::{TurnFailed, TurnStarted};
use crate::state::model_calls::ModelCall;
use crate::state::search::Search;
use crate::state::{Phase, State};
use crate::vocabulary::reply::FailureKind;

impl State {
    /// A call that the loop waits for begins: a request without some suspects, or a whole one.
    pub(crate) fn search_begun(&mut self, turn: &TurnStarted) {
        let Some(search) = self.turn.take_search() else { return };
        if turn.without.is_empty() {
            return;
        }
        if !search.candidates().is_empty() {
            self.turn.search_with(Some(search));
            return;
        }
        // The first one leaves all of them out.
        let (edits, behind) = (self.conversation.history().edits(), self.sealed_behind(&turn.without));
        self.turn.search_with(Some(Box::new(search.begun(turn.without.clone(), behind, edits))));
    }

    /// A call that the loop waits for has failed. Each request of a search that the provider refuses counts as a model call.
    pub(crate) fn search_refused(&mut self, turn: &TurnFailed, failed: &ModelCall) {
        if turn.failure.kind != FailureKind::BadRequest {
            return;
        }
        if failed.without().is_empty() {
            let first = || Box::new(Search::after_failure(turn.failure.clone().with_reply_of(None)));
            self.turn.search_with(turn.retry_at.map(|_| first()));
            return;
        }
        self.count_probe(failed);
        self.turn.search_answered(false);
    }

    pub(crate) fn probe_answered(&mut self, probe: &ProbeAnswered) {
        let model_call = self.model_calls.close(probe.purpose, None);
        self.asked_for(&probe.usage, model_call.as_ref());
        self.phase = Phase::Between;
        if let Some(model_call) = &model_call {
            self.count_probe(model_call);
        }
        self.turn.search_answered(true);
    }

    fn count_probe(&mut self, model_call: &ModelCall) {
        self.ledger.model_called(model_call.purpose());
    }

    /// The ids that stand in for others are taken.
    pub(crate) fn items_refused(&mut self, refused: &RefusedItems) {
        for item in &refused.items {
            if let CandidateItem::CallId { replacement, .. } = &item.what {
                self.conversation.take_id(replacement);
            }
        }
    }
}
