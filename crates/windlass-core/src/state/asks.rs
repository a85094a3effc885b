//! Asks: model calls, each for a purpose.
//!
//! A purpose is one file in `asks/`: it says what its calls are to the loop, what is sent, what follows from a reply, and
//! what follows once a call has failed for good. Admission, further tries, fallbacks and the switch of wires are the same
//! for all of them (`decide/admission.rs`, `decide/attempts.rs`). To add a purpose: one file, its `mod` line below, its arm
//! in [`Purpose::rules`], and its line in the table of [`Purpose`].

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
pub(crate) enum Beside {
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
pub(crate) struct Ask {
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
    pub(crate) beside: Beside,
    /// Reservation of the current attempt.
    pub(crate) reserved: Reservation,
    /// Size of the request of a call that writes the conversation.
    pub(crate) sent: Option<Sent>,
    /// The part of the conversation that it sums up.
    pub(crate) covers: Option<Covers>,
    /// What its failures say about its next try.
    pub(crate) remedies: Remedies,
}

impl Ask {
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
    pub(crate) fn read_only(ask: &Ask, reply: Reply) -> Self {
        Self {
            turn: ask.turn,
            purpose: ask.purpose,
            about: ask.about.clone(),
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

impl From<(&TurnStarted, u64)> for Ask {
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
            beside: Beside::Alone,
            reserved: Reservation::default(),
            sent: None,
            covers: None,
            remedies: Remedies::default(),
        }
    }
}

/// The open model calls, in the order in which they began.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Asks(Vec<Ask>);

impl Asks {
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Ask> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Ask> {
        self.0.iter_mut()
    }

    /// The call that this event freed.
    pub(crate) fn freed_by(&self, seq: u64) -> Option<&Ask> {
        self.iter().find(|ask| ask.seq == seq)
    }

    /// The asks with an attempt in progress.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Ask> {
        self.iter().filter(|ask| ask.retry_at.is_none())
    }

    /// Opens a call, or begins its next try.
    pub(crate) fn open(&mut self, ask: Ask) {
        match self.iter_mut().find(|open| open.purpose == ask.purpose && open.about == ask.about) {
            Some(open) => {
                let remedies = std::mem::take(&mut open.remedies).asked(ask.model);
                *open = Ask { covers: ask.covers.or(open.covers), remedies, ..ask };
            }
            None => self.0.push(ask),
        }
    }

    /// Adds an attempt beside one that goes on.
    pub(crate) fn add(&mut self, hedge: Ask) {
        self.0.push(hedge);
    }

    /// Closes the attempt at a call whose model is not that one.
    pub(crate) fn close_other(
        &mut self,
        purpose: Purpose,
        about: Option<&CallId>,
        model: u32,
    ) -> Option<Ask> {
        let same = |ask: &Ask| ask.purpose == purpose && ask.about.as_ref() == about;
        let place = self.iter().position(|ask| same(ask) && ask.model != model)?;
        Some(self.0.remove(place))
    }

    /// Takes out the attempts beside others.
    pub(crate) fn take_hedges(&mut self) -> Vec<Ask> {
        let (hedges, kept) =
            std::mem::take(&mut self.0).into_iter().partition(|ask| ask.beside == Beside::Hedge);
        self.0 = kept;
        self.iter_mut().for_each(|ask| ask.beside = Beside::Alone);
        hedges
    }

    /// The open call of that purpose about that tool call.
    pub(crate) fn get(&self, purpose: Purpose, about: Option<&CallId>) -> Option<&Ask> {
        self.iter().find(|ask| ask.purpose == purpose && ask.about.as_ref() == about)
    }

    pub(crate) fn get_mut(&mut self, purpose: Purpose, about: Option<&CallId>) -> Option<&mut Ask> {
        self.iter_mut().find(|ask| ask.purpose == purpose && ask.about.as_ref() == about)
    }

    /// A call that is going on has reserved that.
    pub(crate) fn reserve(&mut self, seq: u64, reserved: Reservation) {
        if let Some(ask) = self.iter_mut().find(|ask| ask.seq == seq) {
            ask.reserved = reserved;
        }
    }

    pub(crate) fn close(&mut self, purpose: Purpose, about: Option<&CallId>) -> Option<Ask> {
        let place = self.iter().position(|ask| ask.purpose == purpose && ask.about.as_ref() == about)?;
        Some(self.0.remove(place))
    }

    /// Drops the pending retries.
    pub(crate) fn give_up_waiting(&mut self) {
        self.0.retain(|ask| ask.retry_at.is_none());
    }

    /// Drops the calls beside the loop.
    pub(crate) fn drop_asides(&mut self) {
        self.0.retain(|ask| ask.purpose.place() == Place::Turn);
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl State {
    /// The model call that this action is, while a try of it is going on.
    pub(crate) fn asked(&self, action: ActionId) -> Option<&Ask> {
        let ask = self.asks.freed_by(action.seq).filter(|_| action.run == self.run)?;
        ask.retry_at.is_none().then_some(ask)
    }

    /// The model call that the loop waits for.
    pub(crate) fn turns_ask(&self) -> Option<&Ask> {
        self.asks.iter().find(|ask| ask.purpose.place() == Place::Turn)
    }
}
