//! The open model calls, each for a purpose (`vocabulary/purpose.rs`). Admission, further tries, fallbacks and the switch of wires are
//! the same for all of them (`machine/decide/admission.rs`, `machine/decide/attempts.rs`).

use crate::protocol::fact::refused::RefusalCandidate;
use crate::protocol::fact::turns::{TurnCompleted, TurnStarted};
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
    pub(crate) seq: u64,
    pub(crate) turn: u32,
    pub(crate) purpose: Purpose,
    /// The tool call that it is about.
    pub(crate) about: Option<CallId>,
    pub(crate) model: u32,
    pub(crate) attempt: u32,
    pub(crate) choice: ToolChoice,
    /// Items of the conversation that its request leaves out.
    pub(crate) without: Vec<RefusalCandidate>,
    /// When its next try begins; `None`: a try is going on.
    pub(crate) retry_at: Option<Millis>,
    /// When the next model of the list is asked beside this one, or was.
    pub(crate) hedge_at: Option<Millis>,
    /// Whether another attempt at the same call goes on beside it.
    pub(crate) alongside: Alongside,
    /// Reservation of the current attempt.
    pub(crate) reserved: Reservation,
    /// Size of the request of a call that writes the conversation.
    pub(crate) sent: Option<Sent>,
    /// The part of the conversation that it sums up.
    pub(crate) covers: Option<Covers>,
    /// What its failures say about its next try.
    pub(crate) remedies: Remedies,
}

impl ModelCall {
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
            media: reply.media,
            calls: Vec::new(),
            stop: reply.stop,
            usage: reply.usage,
            model: reply.model,
            objection: None,
            answer_form: None,
        }
    }
}

impl From<(&TurnStarted, u64)> for ModelCall {
    fn from((started, seq): (&TurnStarted, u64)) -> Self {
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
            hedge_at: None,
            alongside: Alongside::Alone,
            reserved: Reservation::default(),
            sent: None,
            covers: None,
            remedies: Remedies::default(),
        }
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
        match self
            .iter_mut()
            .find(|open| open.purpose == model_call.purpose && open.about == model_call.about)
        {
            Some(open) => {
                let remedies = std::mem::take(&mut open.remedies).asked(model_call.model);
                *open = ModelCall { covers: model_call.covers.or(open.covers), remedies, ..model_call };
            }
            None => self.0.push(model_call),
        }
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
    pub(crate) fn take_hedges(&mut self) -> Vec<ModelCall> {
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
