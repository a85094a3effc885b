//! The fold of model calls: their starts, replies and failures.

use std::sync::Arc;

use crate::protocol::fact::turns::{TurnCompleted, TurnFailed, TurnStarted};
use crate::protocol::fact::{ModelFact, OutputRejected};
use crate::state::model_calls::ModelCall;
use crate::state::open_call::{Origin, Stage};
use crate::state::{Phase, State};
use crate::vocabulary::annotations::Annotations;
use crate::vocabulary::message::{Message, SteerKind};
use crate::vocabulary::purpose::{Place, Purpose};
use crate::vocabulary::reply::Usage;

impl State {
    pub(crate) fn model_fact(&mut self, fact: &ModelFact, seq: u64) {
        match fact {
            ModelFact::Started(turn) => self.turn_started(turn, seq),
            ModelFact::Completed(turn) => self.turn_completed(turn),
            ModelFact::Failed(turn) => self.turn_failed(turn, seq),
            ModelFact::ProbeAnswered(probe) => self.probe_answered(probe),
            ModelFact::Hedged(hedged) => self.turn_hedged(hedged, seq),
            ModelFact::HedgeSkipped(skipped) => self.hedge_skipped(skipped),
            ModelFact::OutputRejected(rejected) => self.output_rejected(rejected),
        }
    }

    pub(crate) fn turn_started(&mut self, turn: &TurnStarted, seq: u64) {
        let mut model_call = ModelCall::begun(turn, seq, self.hedge_at(turn));
        if turn.purpose.place() == Place::Turn && turn.turn == self.turn.number() {
            model_call.goes_on_with(self.turn.take_remedies());
        }
        self.model_calls.open(model_call);
        if turn.purpose.place() == Place::Turn {
            self.step_started(turn);
            self.search_begun(turn);
        }
        if let (Purpose::Verify, Some(call)) = (turn.purpose, &turn.about) {
            self.stage(call, Stage::Verifying);
        }
        // Its request is the conversation as it stands now.
        self.request_begun(turn);
        self.model_calls.reserve(seq, self.reserve(turn));
    }

    /// The loop waits for this call.
    pub(crate) fn step_started(&mut self, turn: &TurnStarted) {
        if turn.turn != self.turn.number() {
            self.turn.over();
            if turn.purpose.hears() {
                self.hear();
            }
            if let Some(note) = self.ending.called(turn) {
                self.progress.closing_note_added(self.conversation.history().len());
                self.conversation.push(Arc::new(Message::user(note)));
            }
        }
        if let Some(note) = &turn.note {
            self.conversation.push(Arc::new(Message::user(note.clone())));
        }
        if turn.turn != self.turn.number() {
            let beyond = self.beyond(turn.model);
            self.ending.allow(beyond);
            self.turn.next(turn.turn);
        }
        self.distil();
        self.phase = Phase::Asking;
    }

    /// Moves steering messages into the conversation.
    pub(crate) fn hear(&mut self) {
        for steered in self.conversation.take_steering() {
            self.progress.heard(self.conversation.history().len());
            if steered.kind == SteerKind::Objective {
                self.setup.pursue(&steered);
            }
            let text = self.setup.policy().wording.texts.steering(steered.kind, &steered.text);
            let content = steered.content(text);
            self.keep_stored(&content);
            self.conversation.push(Arc::new(Message::User { content, pinned: steered.pinned }));
        }
    }

    /// A model call has ended, well or not: what it used is counted at the prices of the model that was asked.
    pub(crate) fn asked_for(
        &mut self,
        usage: &Usage,
        model_call: Option<&ModelCall>,
        ran: Option<&Annotations>,
    ) {
        let asked = model_call.map_or(0, |model_call| model_call.model() as usize);
        let prices = self.setup.models().get(asked).and_then(|model| model.prices.as_ref());
        self.ledger.count(usage, prices, ran);
    }

    pub(crate) fn turn_completed(&mut self, turn: &TurnCompleted) {
        let model_call = self.model_calls.close(turn.purpose, turn.about.as_ref());
        self.asked_for(&turn.usage, model_call.as_ref(), turn.annotations.as_deref());
        self.held_to_demand(turn, model_call.as_ref());
        let in_text = model_call.as_ref().is_some_and(|model_call| self.answers_in_text(model_call.model()));
        self.request_counted(&turn.usage, model_call.and_then(|model_call| model_call.sent()));
        let rules = turn.purpose.rules();
        self.ledger.model_called(turn.purpose);
        if turn.purpose.place() == Place::Turn {
            self.phase = Phase::Between;
            self.turn.answered_by(in_text);
        }
        (rules.recorded)(self, turn);
    }

    /// The reply of an acting call enters the conversation, and its calls are open.
    pub(crate) fn acted(&mut self, turn: &TurnCompleted) {
        self.turn.replied(turn.stop);
        self.conversation.replied(turn);
        if !turn.calls.is_empty() {
            self.progress.round_began(self.conversation.history());
            self.turn.calls_came();
            self.acting(&turn.calls, &Origin::Model);
        }
    }

    pub(crate) fn turn_failed(&mut self, turn: &TurnFailed, seq: u64) {
        if let Some(goes_on) = turn.remaining_model {
            return self.one_failed(turn, goes_on);
        }
        let failed = self.model_calls.close(turn.purpose, turn.about.as_ref());
        self.asked_for(&turn.failure.usage, failed.as_ref(), None);
        let Some(mut failed) = failed else { return };
        if turn.retry_at.is_none() && turn.next_model.is_none() {
            self.turn.failed_for_good(turn.failure.clone().with_reply_of(None));
        }
        self.note_failed_model(turn, failed.model());
        if failed.is_refused_choice(&turn.failure) && !self.setup.policy().request.tool_choice.is_auto() {
            self.progress.demands_mut().refused_by(failed.model());
        }
        failed.has_failed(self.remedies_of(&failed, &turn.failure, self.clock.now()), turn.for_quota);
        if turn.purpose.place() == Place::Turn {
            self.search_refused(turn, &failed);
        }
        if turn.retry_at.is_some() {
            self.model_calls.open(failed.tried_again(turn, seq));
        } else if turn.purpose.place() == Place::Turn {
            self.phase = Phase::Between;
        }
        self.summary_failed(turn);
    }

    pub(crate) fn output_rejected(&mut self, rejected: &OutputRejected) {
        use crate::protocol::fact::Rejection::Filtered;
        use crate::protocol::fact::Rejection::Invalid;
        use crate::protocol::fact::Rejection::NoCall;
        use crate::protocol::fact::Rejection::Refused;
        use crate::protocol::fact::Rejection::Truncated;
        use crate::protocol::fact::Rejection::Unproven;
        self.turn.reply_rejected(rejected.reason);
        match rejected.reason {
            Truncated | Refused | Filtered => self.reply_in_vain(),
            NoCall | Invalid => {}
            Unproven => self.ledger.answer_sent_back(),
        }
        if self.plan_rejected(rejected) {
            return;
        }
        if let Some(call) = &rejected.call {
            if let Some(open) = self.call_mut(call) {
                open.output_rejected();
            }
            return;
        }
        let note = Arc::new(Message::user(rejected.note.clone()));
        if rejected.run_only {
            self.conversation.passes(&note);
        }
        self.conversation.push(note);
    }
}
