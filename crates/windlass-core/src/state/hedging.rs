//! Hedges: a model that takes too long to reply, and the next one of the list that is asked beside it.
//!
//! Both attempts are model calls of one purpose, each with an action of its own. The first whole reply wins; the other attempt
//! is stopped and paid for. While both go on, each is marked ([`ModelCall::alongside`]).

use crate::protocol::fact::turns::{HedgeSkipped, TurnFailed, TurnHedged, TurnStarted};
use crate::state::State;
use crate::state::model_calls::{Alongside, ModelCall};
use crate::vocabulary::amount::Amount;
use crate::vocabulary::budget::Need;
use crate::vocabulary::ids::{ActionId, Millis};
use crate::vocabulary::reply::{FailureKind, Usage};

impl State {
    /// When another model is to be asked beside the one that this call begins with; `None`: none is.
    pub(crate) fn hedge_at(&self, turn: &TurnStarted) -> Option<Millis> {
        if turn.after_loss {
            // The time that the lost attempt took counts.
            return self.model_calls.get(turn.purpose, turn.about.as_ref())?.hedge_at();
        }
        let after = self.setup.models().get(turn.model as usize)?.hedge_ms?;
        // A closing call goes beyond a limit already, and a search for refused items is about one model.
        let alone = self.ending.closing().is_some() || !turn.without.is_empty();
        let hedged = !alone && self.stands_in_for(turn.model).is_some();
        hedged.then(|| self.clock.now().saturating_add(after))
    }

    /// When the run is to be woken whatever comes before: at its deadline, or for a hedge.
    pub(crate) fn wakes_at(&self) -> Option<Millis> {
        [self.deadline(), self.next_hedge()].into_iter().flatten().min()
    }

    /// When the first hedge of the open calls is due.
    pub(crate) fn next_hedge(&self) -> Option<Millis> {
        if self.ending.closing().is_some() {
            return None;
        }
        self.model_calls
            .in_progress()
            .filter(|model_call| model_call.alongside() == Alongside::Alone)
            .filter_map(ModelCall::hedge_at)
            .min()
    }

    /// The other attempt at the same call, while two go on.
    pub(crate) fn alongside(&self, model_call: &ModelCall) -> Option<&ModelCall> {
        if model_call.alongside() == Alongside::Alone {
            return None;
        }
        let same = |other: &&ModelCall| {
            other.purpose() == model_call.purpose() && other.about() == model_call.about()
        };
        self.model_calls.in_progress().filter(same).find(|other| other.seq() != model_call.seq())
    }

    /// The action of the other attempt at the same model call, while two models are asked for it.
    pub fn concurrent_attempt(&self, action: ActionId) -> Option<ActionId> {
        let other = self.alongside(self.model_call(action)?)?;
        Some(self.action(other.seq()))
    }

    /// Whether a model call is the second attempt, beside one that took too long.
    pub fn is_hedge(&self, action: ActionId) -> bool {
        self.model_call(action).is_some_and(|model_call| model_call.alongside() == Alongside::Hedge)
    }

    /// Another model is asked, too.
    pub(crate) fn turn_hedged(&mut self, hedged: &TurnHedged, seq: u64) {
        let about = hedged.about.as_ref();
        let Some(first) = self.model_calls.get_mut(hedged.purpose, about) else { return };
        let first = first.hedged();
        let model = self.setup.models().get(hedged.model as usize);
        let need = model.map_or_else(Need::unknown, |model| self.need((hedged.purpose, about), model));
        let sent = first.sent().map(|_| self.request_size(hedged.purpose, about, hedged.model));
        let reserved = need.reserve(&self.left(None));
        self.model_calls.add(first.hedge(seq, hedged.model, reserved, sent));
    }

    /// The call goes on with the one model.
    pub(crate) fn hedge_skipped(&mut self, skipped: &HedgeSkipped) {
        if let Some(first) = self.model_calls.get_mut(skipped.purpose, skipped.about.as_ref()) {
            first.not_hedged();
        }
    }

    /// One of two attempts has ended without a reply that counts; the one of the model `goes_on` goes on.
    pub(crate) fn one_failed(&mut self, turn: &TurnFailed, goes_on: u32) {
        let failed = self.model_calls.close_other(turn.purpose, turn.about.as_ref(), goes_on);
        self.asked_for(&turn.failure.usage, failed.as_ref(), None);
        if let Some(stopped) = failed.filter(|_| turn.failure.kind == FailureKind::Cancelled) {
            self.keep_reserved(&stopped, &turn.failure.usage);
        }
        if let Some(left) = self.model_calls.get_mut(turn.purpose, turn.about.as_ref()) {
            left.goes_on_alone();
        }
    }

    /// An attempt was stopped before its provider had told what it used, and may be billed in full: of its reservation, all that
    /// the estimate leaves stays.
    fn keep_reserved(&mut self, stopped: &ModelCall, estimate: &Usage) {
        if estimate.estimated {
            let prices =
                self.setup.models().get(stopped.model() as usize).and_then(|model| model.prices.as_ref());
            let cost = prices.map_or(0, |prices| prices.cost(estimate));
            let counted = Amount { input: estimate.input, output: estimate.output, cost };
            self.ledger.hold(stopped.reserved().sure.minus(counted));
        }
    }

    /// The process is gone, and with it the attempts. Only the first of two is made again: it may be hedged again.
    pub(crate) fn second_attempts_lost(&mut self) {
        for hedge in self.model_calls.take_second_attempts() {
            self.ledger.hold(hedge.reserved().sure);
        }
    }
}
