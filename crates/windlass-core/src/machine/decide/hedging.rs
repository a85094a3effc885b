//! Hedges: the next model is asked beside one that takes too long, and the first whole reply wins.

use crate::machine::decision::Decision;
use crate::protocol::fact::turns::{HedgeSkipped, TurnFailed, TurnHedged, TurnStarted};
use crate::state::model_calls::{Alongside, ModelCall};
use crate::vocabulary::reply::{FailureKind, ModelFailure, Usage};

/// Why the slower of two attempts ends.
const OUTRUN: &str = "another model was asked beside it and replied first";

impl Decision {
    /// Asks the next model beside each call whose hedge is due, if it is admitted. `false`: none is due.
    pub(crate) fn hedges_due(&mut self) -> bool {
        if self.state.next_hedge().is_none_or(|at| at > self.at) {
            return false;
        }
        let due = |model_call: &&ModelCall| {
            model_call.alongside() == Alongside::Alone
                && model_call.hedge_at().is_some_and(|at| at <= self.at)
        };
        let late: Vec<ModelCall> = self.state.model_calls.in_progress().filter(due).cloned().collect();
        for model_call in late {
            self.hedge(&model_call);
        }
        true
    }

    fn hedge(&mut self, model_call: &ModelCall) {
        // Another one stands in for it as long as the run's models are the same.
        let model = self.state.stands_in_for(model_call.model()).unwrap_or(model_call.model());
        let (turn, purpose, about) = (model_call.turn(), model_call.purpose(), model_call.about().cloned());
        let next = TurnStarted { model, attempt: 1, ..model_call.again() };
        // The first attempt goes on, and may use what it has reserved.
        let mut ledger = self.state.ledger.clone();
        ledger.hold(model_call.reserved().total());
        match self.admits(&ledger, &next) {
            Ok(()) if model != model_call.model() => self.record(TurnHedged { turn, purpose, about, model }),
            Ok(()) => self.record(HedgeSkipped { turn, purpose, about, model, limit: None }),
            Err(refusal) => {
                let limit = refusal.limit();
                self.record(HedgeSkipped { turn, purpose, about, model, limit });
            }
        }
    }

    /// The end of a call that is not tried again, or of one of two attempts at it.
    pub(crate) fn ended(&self, model_call: &ModelCall, failure: ModelFailure) -> TurnFailed {
        let remaining_model = self.state.alongside(model_call).map(ModelCall::model);
        TurnFailed { remaining_model, ..TurnFailed::last(model_call, failure) }
    }

    /// One of two attempts has failed: the other one goes on. `false`: there is no other one.
    pub(crate) fn other_goes_on(&mut self, model_call: &ModelCall, failure: &ModelFailure) -> bool {
        if self.state.alongside(model_call).is_none() {
            return false;
        }
        self.record(self.ended(model_call, failure.clone()));
        if self.state.stopping() {
            self.after_stop();
        }
        true
    }

    /// The call has its reply: the other attempt at it is paid for. What a provider has not said of it is estimated.
    pub(crate) fn outrun(&mut self, winner: &ModelCall, lost: Option<ModelFailure>) {
        let Some(other) = self.state.alongside(winner).cloned() else { return };
        let choice = self.state.setup.models().get(other.model() as usize);
        let name = choice.map(|model| model.name.clone()).unwrap_or_default();
        let mut failure = lost.unwrap_or_else(|| ModelFailure::new(FailureKind::Cancelled, OUTRUN, name));
        if failure.usage.total() == 0 {
            let wire = choice.map_or(self.state.setup.policy().request.wire, |model| {
                self.state.setup.policy().wire_of(model)
            });
            let input = self.state.estimated_input((other.purpose(), other.about()), wire);
            failure.usage = Usage { input, estimated: true, ..Usage::default() };
        }
        self.record(self.ended(&other, failure));
    }
}
