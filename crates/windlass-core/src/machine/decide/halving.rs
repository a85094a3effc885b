//! Halving: decisions on a conversation that a provider refuses for ever. The item is found by asking the same turn again
//! without some of the suspects, and a placeholder stands in for it from then on (E58).

use crate::machine::decision::Decision;
use crate::protocol::fact::HistoryEdited;
use crate::protocol::fact::refused::{ProbeAnswered, RefusalCandidate, RefusedItems};
use crate::protocol::fact::turns::{TurnFailed, TurnStarted};
use crate::state::candidates::left_out;
use crate::state::halving::Step;
use crate::state::model_calls::ModelCall;
use crate::state::search::Search;
use crate::vocabulary::purpose::Place;
use crate::vocabulary::reply::{FailureKind, ModelFailure, Reply};

impl Decision {
    /// A request was refused as it is: looks for the item to blame, if the request holds one that may be.
    pub(crate) fn halve(&mut self, model_call: &ModelCall, failure: &ModelFailure) -> bool {
        if !is_refusal(failure) || model_call.purpose().place() != Place::Turn {
            return false;
        }
        if model_call.without().is_empty() {
            let candidates = self.state.candidates(model_call);
            let search = Search::after_failure(failure.clone()).over(candidates);
            return self.search_on(model_call, failure, &search);
        }
        let Some(search) = self.state.search_of(model_call).map(|search| search.after(false)) else {
            // The conversation has been edited meanwhile: the turn is asked as it stands now.
            self.ask_again(model_call, failure, Vec::new());
            return true;
        };
        self.search_on(model_call, failure, &search)
    }

    fn search_on(&mut self, model_call: &ModelCall, failure: &ModelFailure, search: &Search) -> bool {
        if search.candidates().is_empty() {
            return false;
        }
        match search.halving().step() {
            Step::Probe(items) => self.ask_again(model_call, failure, search.pick(&items)),
            Step::Found(items) => {
                let items = search.pick(&items);
                let retry_at = Some(self.at);
                self.record(TurnFailed { retry_at, ..TurnFailed::last(model_call, failure.clone()) });
                self.leave_out(model_call, search, items);
                self.begin(TurnStarted { attempt: 1, without: Vec::new(), ..model_call.again() });
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

    fn ask_again(&mut self, model_call: &ModelCall, failure: &ModelFailure, without: Vec<RefusalCandidate>) {
        let retry_at = Some(self.at);
        self.record(TurnFailed { retry_at, ..TurnFailed::last(model_call, failure.clone()) });
        self.begin(TurnStarted { attempt: 1, without, ..model_call.again() });
    }

    /// A request without some suspects was answered. Says whether the search goes on; if not, the reply is the turn's.
    pub(crate) fn probe_answered(&mut self, model_call: &ModelCall, reply: &Reply) -> bool {
        let Some(search) = self.state.search_of(model_call).map(|search| search.after(true)) else {
            return false;
        };
        match search.halving().step() {
            Step::Probe(items) => {
                let without = search.pick(&items);
                self.record(ProbeAnswered {
                    turn: model_call.turn(),
                    purpose: model_call.purpose(),
                    usage: reply.usage,
                    model: reply.model.clone(),
                });
                if self.state.stopping() {
                    self.after_stop();
                } else {
                    self.begin(TurnStarted { attempt: 1, without, ..model_call.again() });
                }
                true
            }
            Step::Found(items) => {
                self.leave_out(model_call, &search, search.pick(&items));
                false
            }
            Step::Blameless => false,
        }
    }

    /// Placeholders stand in for the items from here on.
    fn leave_out(&mut self, model_call: &ModelCall, search: &Search, items: Vec<RefusalCandidate>) {
        let splices = left_out(self.state.conversation.history(), &items);
        let model =
            self.state.setup.models().get(model_call.model() as usize).map(|model| model.name.clone());
        let (model, message) = (model.unwrap_or_default(), search.failure().message.clone());
        let search_exhausted = search.halving().ran_out();
        self.record(HistoryEdited {
            splices,
            refused: Some(RefusedItems { items, model, message, search_exhausted }),
        });
    }
}

/// Whether a provider refuses a request as it is (400, 413 or 422), and not because of a part that its words name.
fn is_refusal(failure: &ModelFailure) -> bool {
    failure.kind == FailureKind::BadRequest && failure.status.is_some() && failure.refuses.is_none()
}
