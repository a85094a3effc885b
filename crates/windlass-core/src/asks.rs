//! Asks: model calls, each for a purpose.
//!
//! A purpose is one file in `asks/`: it says what its calls are to the loop, what is sent, what follows from a reply, and
//! what follows once a call has failed for good. Admission, further tries, fallbacks and the switch of wires are the same
//! for all of them (`decide/admission.rs`, `decide/attempts.rs`). To add a purpose: one file, its `mod` line below, its arm
//! in [`Purpose::rules`], and its line in the table of [`Purpose`].

mod act;
mod merge;

use crate::budget::Reservation;
use crate::decide::Decision;
use crate::event::{Purpose, ToolChoice, TurnStarted};
use crate::ids::{ActionId, CallId, Millis};
use crate::reply::{ModelFailure, Reply};
use crate::state::State;
use crate::view::Maker;

/// The functions that differ between purposes.
pub(crate) struct Rules {
    /// Whether the loop waits for it.
    pub(crate) place: Place,
    /// The view that makes the request.
    pub(crate) view: fn(&State) -> &'static Maker,
    /// Decides on a reply.
    pub(crate) replied: fn(&mut Decision, &Ask, Reply),
    /// Decides on a failure that is not retried.
    pub(crate) failed: fn(&mut Decision, &Ask, ModelFailure),
}

/// Role of a call in the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A step of it: nothing else is decided until it has ended, and a new one begins a turn.
    Turn,
    /// It runs concurrently with the loop's other work.
    Aside,
}

impl Purpose {
    pub(crate) fn rules(self) -> &'static Rules {
        match self {
            Self::Act => &act::RULES,
            Self::Merge => &merge::RULES,
        }
    }
}

/// An open model call. There is one at most for each purpose and each call that it is about.
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
    /// When its next try begins; `None`: a try is going on.
    pub(crate) retry_at: Option<Millis>,
    /// Reservation of the current attempt.
    pub(crate) reserved: Reservation,
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
            again: false,
            choice: self.choice.clone(),
            note: None,
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
            choice: started.choice.clone(),
            retry_at: None,
            reserved: Reservation::default(),
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
            Some(open) => *open = ask,
            None => self.0.push(ask),
        }
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
        self.asks.iter().find(|ask| ask.purpose.rules().place == Place::Turn)
    }
}
