//! The fold of model calls: their starts, replies and failures.

use std::sync::Arc;

use crate::protocol::fact::OutputRejected;
use crate::protocol::fact::turns::{TurnCompleted, TurnFailed, TurnStarted};
use crate::state::model_calls::ModelCall;
use crate::state::open_call::{Origin, Stage};
use crate::state::{Phase, State};
use crate::vocabulary::budget::Reservation;
use crate::vocabulary::message::{Content, Message, SteerKind};
use crate::vocabulary::purpose::{Counts, Place, Purpose};
use crate::vocabulary::reply::{StopReason, Usage};

impl State {
    pub(crate) fn turn_started(&mut self, turn: &TurnStarted, seq: u64) {
        let mut model_call = ModelCall { hedge_at: self.hedge_at(turn), ..ModelCall::from((turn, seq)) };
        if turn.purpose.place() == Place::Turn && turn.turn == self.turn.number {
            model_call.remedies = std::mem::take(&mut self.turn.remedies).asked(turn.model);
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
        if turn.turn != self.turn.number {
            if self.turn.malformed == 0 && self.turn.counted > 0 {
                self.turn.consecutive.malformed = 0;
            }
            if turn.purpose.hears() {
                self.hear();
            }
            if let Some(note) = self.ending.called(turn) {
                self.progress.closing_told(self.conversation.history().len());
                self.conversation.push(Arc::new(Message::user(note)));
            }
        }
        if let Some(note) = &turn.note {
            self.conversation.push(Arc::new(Message::user(note.clone())));
        }
        if turn.turn != self.turn.number {
            let beyond = self.beyond(turn.model);
            self.ending.allow(beyond);
            self.turn.next(turn.turn);
        }
        self.distil();
        self.phase = Phase::Asking;
    }

    /// Moves steering messages into the conversation.
    pub(crate) fn hear(&mut self) {
        for said in self.conversation.take_steering() {
            self.progress.heard(self.conversation.history().len());
            if said.kind == SteerKind::Objective {
                self.setup.pursue(&said);
            }
            let text = self.setup.policy().wording.texts.steering(said.kind, &said.text);
            let heard = Message::User { content: Content::Text(text), pinned: said.pinned };
            self.conversation.push(Arc::new(heard));
        }
    }

    /// A model call has ended, well or not: what it used is counted at the prices of the model that was asked.
    pub(crate) fn asked_for(&mut self, usage: &Usage, model_call: Option<&ModelCall>) {
        let asked = model_call.map_or(0, |model_call| model_call.model as usize);
        let prices = self.setup.models().get(asked).and_then(|model| model.prices);
        self.ledger.count(usage, prices);
    }

    pub(crate) fn turn_completed(&mut self, turn: &TurnCompleted) {
        let model_call = self.model_calls.close(turn.purpose, turn.about.as_ref());
        self.asked_for(&turn.usage, model_call.as_ref());
        self.request_counted(&turn.usage, model_call.and_then(|model_call| model_call.sent));
        let rules = turn.purpose.rules();
        self.ledger.counters.model_calls += u64::from(turn.purpose.counts() == Counts::AsModelCall);
        if turn.purpose.place() == Place::Turn {
            self.phase = Phase::Between;
        }
        (rules.said)(self, turn);
    }

    /// The reply of an acting call enters the conversation, and its calls are open.
    pub(crate) fn acted(&mut self, turn: &TurnCompleted) {
        self.turn.stop = turn.stop;
        self.conversation.replied(turn);
        if !matches!(turn.stop, StopReason::Length | StopReason::Refused | StopReason::Filtered) {
            self.turn.consecutive.cut = 0;
        }
        if !turn.calls.is_empty() {
            self.progress.round_began(self.conversation.history());
            self.turn.consecutive.prompts = 0;
            self.acting(&turn.calls, &Origin::Model);
        }
    }

    pub(crate) fn turn_failed(&mut self, turn: &TurnFailed, seq: u64) {
        if let Some(goes_on) = turn.remaining_model {
            return self.one_failed(turn, goes_on);
        }
        let failed = self.model_calls.close(turn.purpose, turn.about.as_ref());
        self.asked_for(&turn.failure.usage, failed.as_ref());
        let Some(mut failed) = failed else { return };
        if turn.retry_at.is_none() && turn.next_model.is_none() {
            self.turn.failure = Some(Box::new(turn.failure.clone().with_reply_of(None)));
        }
        self.note_failed_model(turn, failed.model);
        failed.remedies = self.remedies_of(&failed, &turn.failure, self.clock.now());
        failed.remedies.wait(turn.for_quota);
        if turn.purpose.place() == Place::Turn {
            self.search_refused(turn, &failed);
        }
        let (model, attempt) = match turn.next_model {
            Some(model) => (model, 1),
            None if turn.for_quota => (failed.model, 1),
            None => (failed.model, failed.attempt + 1),
        };
        if turn.retry_at.is_some() {
            let (retry_at, reserved) = (turn.retry_at, Reservation::default());
            self.model_calls.open(ModelCall { seq, model, attempt, retry_at, reserved, ..failed });
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
        match rejected.reason {
            Truncated | Refused | Filtered => {
                self.turn.consecutive.cut += 1;
                self.reply_in_vain();
            }
            NoCall => self.turn.consecutive.prompts += 1,
            Invalid => self.turn.consecutive.rejected += 1,
            Unproven => self.ledger.proof.answer_sent_back(),
        }
        if self.plan_rejected(rejected) {
            return;
        }
        if let Some(call) = &rejected.call {
            if let Some(open) = self.call_mut(call) {
                open.rejected = true;
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
