//! Decisions on a conversation that a provider refuses for ever. The item is found by asking the same turn again without some of the
//! candidates, and a placeholder stands in for it from then on (E58).

use crate::machine::decision::Decision;
use crate::protocol::fact::HistoryEdited;
use crate::protocol::fact::refused::{ProbeAnswered, RefusalCandidate, RefusedItems};
use crate::protocol::fact::turns::TurnStarted;
use crate::state::candidates::left_out;
use crate::state::model_calls::ModelCall;
use crate::state::search::{Search, Step};
use crate::vocabulary::purpose::Place;
use crate::vocabulary::reply::{FailureKind, ModelFailure, Reply};

impl Decision {
    /// A request was refused as it is: looks for the item to blame, if the request holds one that may be.
    pub(crate) fn search_on(&mut self, model_call: &ModelCall, failure: &ModelFailure) -> bool {
        if !is_refusal(failure) || model_call.purpose().place() != Place::Turn {
            return false;
        }
        let Some(search) = self.state.search_of(model_call).map(|search| search.after(false)) else {
            let is_whole = model_call.without().is_empty();
            let candidates = if is_whole { self.state.candidates(model_call) } else { Vec::new() };
            // If the conversation has been edited meanwhile, the turn is asked as it stands now.
            let goes_on = !is_whole || !candidates.is_empty();
            if goes_on {
                self.record_retried(model_call, failure);
                self.ask_without(model_call, candidates);
            }
            return goes_on;
        };
        match search.step() {
            Step::Probe(items) => {
                self.record_retried(model_call, failure);
                self.ask_without(model_call, items);
            }
            Step::Found(items) => {
                self.record_retried(model_call, failure);
                self.leave_out(model_call, &search, items);
                self.ask_without(model_call, Vec::new());
            }
            // The history is not to blame: it stays as it was, and the first failure is the turn's.
            Step::Blameless => {
                let first = search.failure().clone().with_reply_of(Some(failure));
                let first = ModelFailure { usage: failure.usage, ..first };
                (model_call.purpose().rules().failed)(self, model_call, first);
            }
        }
        true
    }

    fn ask_without(&mut self, model_call: &ModelCall, without: Vec<RefusalCandidate>) {
        self.begin(TurnStarted { attempt: 1, without, ..model_call.again() });
    }

    /// A request without some candidates was answered. Says whether the search goes on; if not, the reply is the turn's.
    pub(crate) fn probe_answered(&mut self, model_call: &ModelCall, reply: &Reply) -> bool {
        let Some(search) = self.state.search_of(model_call).map(|search| search.after(true)) else {
            return false;
        };
        match search.step() {
            Step::Probe(items) => {
                self.record(ProbeAnswered {
                    turn: model_call.turn(),
                    purpose: model_call.purpose(),
                    usage: reply.usage,
                    model: reply.model.clone(),
                });
                if self.state.stopping() {
                    self.after_stop();
                } else {
                    self.ask_without(model_call, items);
                }
                true
            }
            Step::Found(items) => {
                self.leave_out(model_call, &search, items);
                false
            }
            Step::Blameless => false,
        }
    }

    /// Placeholders stand in for the items from here on.
    fn leave_out(&mut self, model_call: &ModelCall, search: &Search, items: Vec<RefusalCandidate>) {
        let splices = left_out(self.state.conversation.history(), &items);
        let (model, message) = (self.state.model_name(model_call.model()), search.failure().message.clone());
        let refused = Some(RefusedItems { items, model, message, search_exhausted: search.ran_out() });
        self.record(HistoryEdited { splices, refused });
    }
}

/// Whether a provider refuses a request as it is (400, 413 or 422), and not because of a part that its words name.
fn is_refusal(failure: &ModelFailure) -> bool {
    failure.kind == FailureKind::BadRequest && failure.status.is_some() && failure.refuses.is_none()
}
