//! The open model calls, each for a purpose (`vocabulary/purpose.rs`). Admission, further tries, fallbacks and the switch of wires are
//! the same for all of them (`machine/decide/admission.rs`, `machine/decide/attempts.rs`).

use crate::protocol::fact::refused::RefusalCandidate;
use crate::protocol::fact::turns::{TurnCompleted, TurnFailed, TurnStarted};
use crate::state::State;
use crate::state::context::{Covers, Sent};
use crate::state::remedies::Remedies;
use crate::vocabulary::budget::Reservation;
use crate::vocabulary::ids::{ActionId, CallId, Millis};
use crate::vocabulary::purpose::{Place, Purpose, ToolChoice};
use crate::vocabulary::reply::Reply;

/// Place of an attempt at a model call among those that go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Alongside {
    /// It is the only one.
    #[default]
    Alone,
    /// It took too long, and another model is asked beside it.
    First,
    /// It goes on beside one that took too long.
    Hedge,
}

/// An open model call. There is one at most for each purpose and each call that it is about, and a hedge of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelCall {
    /// The event that freed it: its start, or the failure after which it waits.
    seq: u64,
    turn: u32,
    purpose: Purpose,
    /// The tool call that it is about.
    about: Option<CallId>,
    model: u32,
    attempt: u32,
    choice: ToolChoice,
    /// Items of the conversation that its request leaves out.
    without: Vec<RefusalCandidate>,
    /// When its next try begins; `None`: a try is going on.
    retry_at: Option<Millis>,
    /// When the next model of the list is asked beside this one, or was.
    hedge_at: Option<Millis>,
    /// Whether another attempt at the same call goes on beside it.
    alongside: Alongside,
    /// Reservation of the current attempt.
    reserved: Reservation,
    /// Size of the request of a call that writes the conversation.
    sent: Option<Sent>,
    /// The part of the conversation that it sums up.
    covers: Option<Covers>,
    /// The remedies from its failures, for its next try.
    remedies: Remedies,
}

impl ModelCall {
    /// The event that freed it: its start, or the failure after which it waits.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    pub(crate) fn turn(&self) -> u32 {
        self.turn
    }

    pub(crate) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// The tool call that it is about.
    pub(crate) fn about(&self) -> Option<&CallId> {
        self.about.as_ref()
    }

    pub(crate) fn model(&self) -> u32 {
        self.model
    }

    pub(crate) fn attempt(&self) -> u32 {
        self.attempt
    }

    pub(crate) fn choice(&self) -> &ToolChoice {
        &self.choice
    }

    /// Items of the conversation that its request leaves out.
    pub(crate) fn without(&self) -> &[RefusalCandidate] {
        &self.without
    }

    /// When its next try begins; `None`: a try is going on.
    pub(crate) fn retry_at(&self) -> Option<Millis> {
        self.retry_at
    }

    /// When the next model of the list is asked beside this one, or was.
    pub(crate) fn hedge_at(&self) -> Option<Millis> {
        self.hedge_at
    }

    /// Whether another attempt at the same call goes on beside it.
    pub(crate) fn alongside(&self) -> Alongside {
        self.alongside
    }

    /// Reservation of the current attempt.
    pub(crate) fn reserved(&self) -> Reservation {
        self.reserved
    }

    /// Size of the request of a call that writes the conversation.
    pub(crate) fn sent(&self) -> Option<Sent> {
        self.sent
    }

    /// The part of the conversation that it sums up.
    pub(crate) fn covers(&self) -> Option<Covers> {
        self.covers
    }

    /// The remedies from its failures, for its next try.
    pub(crate) fn remedies(&self) -> &Remedies {
        &self.remedies
    }

    /// The current or delayed attempt of this call, as it is begun again.
    pub(crate) fn again(&self) -> TurnStarted {
        TurnStarted {
            turn: self.turn,
            purpose: self.purpose,
            about: self.about.clone(),
            model: self.model,
            attempt: self.attempt,
            after_loss: false,
            tool_choice: self.choice.clone(),
            note: None,
            without: self.without.clone(),
        }
    }
}

impl TurnCompleted {
    /// A reply that is only read: its calls, if it has any, are nobody's.
    pub(crate) fn read_only(model_call: &ModelCall, reply: Reply) -> Self {
        Self {
            turn: model_call.turn,
            purpose: model_call.purpose,
            about: model_call.about.clone(),
            text: reply.text,
            reasoning: reply.reasoning,
            media: reply.media.into(),
            calls: Vec::new(),
            annotations: reply.annotations,
            stop: reply.stop,
            usage: reply.usage,
            model: reply.model,
            objection: None,
            answer_form: None,
        }
    }
}

impl ModelCall {
    /// The call that begins with this event.
    pub(crate) fn begun(started: &TurnStarted, seq: u64, hedge_at: Option<Millis>) -> Self {
        Self {
            seq,
            turn: started.turn,
            purpose: started.purpose,
            about: started.about.clone(),
            model: started.model,
            attempt: started.attempt,
            choice: started.tool_choice.clone(),
            without: started.without.clone(),
            retry_at: None,
            hedge_at,
            alongside: Alongside::Alone,
            reserved: Reservation::default(),
            sent: None,
            covers: None,
            remedies: Remedies::default(),
        }
    }

    /// It goes on with one that was laid aside.
    pub(crate) fn goes_on_with(&mut self, remedies: Remedies) {
        self.remedies = remedies.asked(self.model);
    }

    /// Its request is of this size; `None`: nobody knows.
    pub(crate) fn sends(&mut self, sent: Option<Sent>) {
        self.sent = sent;
    }

    /// It sums this part up, unless it has begun with another one. Whether it is the first.
    pub(crate) fn sums_up(&mut self, covers: Covers) -> bool {
        let first = self.covers.is_none();
        self.covers.get_or_insert(covers);
        first
    }

    /// An attempt has failed.
    pub(crate) fn has_failed(&mut self, remedies: Remedies, for_quota: bool) {
        self.remedies = remedies;
        self.remedies.wait(for_quota);
    }

    /// The same after its failure, with the next try.
    pub(crate) fn tried_again(self, failed: &TurnFailed, seq: u64) -> Self {
        let (model, attempt) = match failed.next_model {
            Some(model) => (model, 1),
            None if failed.for_quota => (self.model, 1),
            None => (self.model, self.attempt + 1),
        };
        let (retry_at, reserved) = (failed.retry_at, Reservation::default());
        Self { seq, model, attempt, retry_at, reserved, ..self }
    }

    /// Another run goes on with it: it begins anew.
    pub(crate) fn begin_anew(&mut self, at: Millis, seq: u64) {
        (self.seq, self.retry_at, self.reserved) = (seq, Some(at), Reservation::default());
        self.remedies = Remedies::default();
        self.without.clear();
    }

    /// Its process is gone. Returns the reservation of the attempt that was going on.
    pub(crate) fn lost(&mut self) -> Reservation {
        std::mem::take(&mut self.reserved)
    }

    /// Another model is asked beside it. Returns a copy, which the hedge is made of.
    pub(crate) fn hedged(&mut self) -> Self {
        self.alongside = Alongside::First;
        self.clone()
    }

    /// The attempt at the same call with another model.
    pub(crate) fn hedge(self, seq: u64, model: u32, reserved: Reservation, sent: Option<Sent>) -> Self {
        let alongside = Alongside::Hedge;
        Self { seq, model, attempt: 1, hedge_at: None, alongside, reserved, sent, ..self }
    }

    /// No other model is asked beside it.
    pub(crate) fn not_hedged(&mut self) {
        self.hedge_at = None;
    }

    /// The other attempt has ended.
    pub(crate) fn goes_on_alone(&mut self) {
        (self.alongside, self.hedge_at) = (Alongside::Alone, None);
    }

    /// The same call for another purpose, as if it had begun with that event.
    #[cfg(test)]
    pub(crate) fn with_purpose(self, purpose: Purpose, seq: u64, reserved: Reservation) -> Self {
        Self { seq, purpose, reserved, ..self }
    }

    /// Gives its event another number.
    #[cfg(test)]
    pub(crate) fn renumber(&mut self, rename: impl FnOnce(&mut u64)) {
        rename(&mut self.seq);
    }
}

/// The open model calls, in the order in which they began.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelCalls(Vec<ModelCall>);

impl ModelCalls {
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, ModelCall> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, ModelCall> {
        self.0.iter_mut()
    }

    /// The call that this event freed.
    pub(crate) fn freed_by(&self, seq: u64) -> Option<&ModelCall> {
        self.iter().find(|model_call| model_call.seq == seq)
    }

    /// The calls with an attempt in progress.
    pub(crate) fn in_progress(&self) -> impl Iterator<Item = &ModelCall> {
        self.iter().filter(|model_call| model_call.retry_at.is_none())
    }

    /// Opens a call, or begins its next try.
    pub(crate) fn open(&mut self, model_call: ModelCall) {
        let is_same =
            |open: &&mut ModelCall| open.purpose == model_call.purpose && open.about == model_call.about;
        if let Some(open) = self.iter_mut().find(is_same) {
            let remedies = std::mem::take(&mut open.remedies).asked(model_call.model);
            *open = ModelCall { covers: model_call.covers.or(open.covers), remedies, ..model_call };
            return;
        }
        if self.0.is_empty() {
            // Most runs have one at a time: room for four, as a list begins with, is 800 bytes more of each run in flight.
            self.0.reserve_exact(1);
        }
        self.0.push(model_call);
    }

    /// Adds an attempt beside one that goes on.
    pub(crate) fn add(&mut self, hedge: ModelCall) {
        self.0.push(hedge);
    }

    /// Closes the attempt at a call whose model is not that one.
    pub(crate) fn close_other(
        &mut self,
        purpose: Purpose,
        about: Option<&CallId>,
        model: u32,
    ) -> Option<ModelCall> {
        let same =
            |model_call: &ModelCall| model_call.purpose == purpose && model_call.about.as_ref() == about;
        let place = self.iter().position(|model_call| same(model_call) && model_call.model != model)?;
        Some(self.0.remove(place))
    }

    /// Takes out the attempts beside others.
    pub(crate) fn take_second_attempts(&mut self) -> Vec<ModelCall> {
        let (hedges, kept) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|model_call| model_call.alongside == Alongside::Hedge);
        self.0 = kept;
        self.iter_mut().for_each(|model_call| model_call.alongside = Alongside::Alone);
        hedges
    }

    /// The open call of that purpose about that tool call.
    pub(crate) fn get(&self, purpose: Purpose, about: Option<&CallId>) -> Option<&ModelCall> {
        self.iter().find(|model_call| model_call.purpose == purpose && model_call.about.as_ref() == about)
    }

    pub(crate) fn get_mut(&mut self, purpose: Purpose, about: Option<&CallId>) -> Option<&mut ModelCall> {
        self.iter_mut().find(|model_call| model_call.purpose == purpose && model_call.about.as_ref() == about)
    }

    /// A call that is going on has reserved that.
    pub(crate) fn reserve(&mut self, seq: u64, reserved: Reservation) {
        if let Some(model_call) = self.iter_mut().find(|model_call| model_call.seq == seq) {
            model_call.reserved = reserved;
        }
    }

    pub(crate) fn close(&mut self, purpose: Purpose, about: Option<&CallId>) -> Option<ModelCall> {
        let place = self
            .iter()
            .position(|model_call| model_call.purpose == purpose && model_call.about.as_ref() == about)?;
        Some(self.0.remove(place))
    }

    /// Drops the pending retries.
    pub(crate) fn give_up_waiting(&mut self) {
        self.0.retain(|model_call| model_call.retry_at.is_none());
    }

    /// Drops the calls beside the loop.
    pub(crate) fn drop_background(&mut self) {
        self.0.retain(|model_call| model_call.purpose.place() == Place::Turn);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl State {
    /// The model call that this action is, while a try of it is going on.
    pub(crate) fn model_call(&self, action: ActionId) -> Option<&ModelCall> {
        let model_call = self.model_calls.freed_by(action.seq).filter(|_| action.run == self.run)?;
        model_call.retry_at.is_none().then_some(model_call)
    }

    /// The model call that the loop waits for.
    pub(crate) fn turns_model_call(&self) -> Option<&ModelCall> {
        self.model_calls.iter().find(|model_call| model_call.purpose.place() == Place::Turn)
    }
}
