//! Why and how a run is being ended.

use crate::protocol::fact::limits::LimitReached;
use crate::protocol::fact::turns::TurnStarted;
use crate::state::State;
use crate::state::ledger::Beyond;
use crate::vocabulary::annotations::Annotations;
use crate::vocabulary::ids::{Millis, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::Message;
use crate::vocabulary::outcome::Status;

/// Reason for which a run is being ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Ending {
    /// Nothing: the loop continues.
    #[default]
    None,
    /// A limit that was reached.
    Limit(Box<Closing>),
    /// A request to cancel, possibly while a limit was ending the run; a fork continues with the limit.
    Cancel(Option<Box<Closing>>),
}

impl Ending {
    /// The limit that was reached, while what follows from it is going on.
    pub(crate) fn closing(&self) -> Option<&Closing> {
        match self {
            Self::None => None,
            Self::Limit(closing) => Some(closing),
            Self::Cancel(closing) => closing.as_deref(),
        }
    }

    fn closing_mut(&mut self) -> Option<&mut Closing> {
        match self {
            Self::None => None,
            Self::Limit(closing) => Some(closing),
            Self::Cancel(closing) => closing.as_deref_mut(),
        }
    }

    /// The run is ended by a limit; `stopping`: once its work has come to its end.
    pub(crate) fn by_limit(closing: Closing, stopping: bool) -> Self {
        let stage = if stopping { ClosingStage::Stopping } else { ClosingStage::Idle };
        Self::Limit(Box::new(Closing { stage, ..closing }))
    }

    /// A task is told to stop: its end must come first.
    pub(crate) fn stops_task(&mut self) {
        if let Some(closing) = self.closing_mut() {
            closing.stage = ClosingStage::Stopping;
        }
    }

    /// A person is asked about the limit: nothing is going on any more.
    pub(crate) fn put_to_person(&mut self) {
        if let Some(closing) = self.closing_mut() {
            closing.stage = ClosingStage::Idle;
        }
    }

    /// The call beyond the limit begins. Returns the limit's note to the model, which enters the conversation once.
    pub(crate) fn called(&mut self, turn: &TurnStarted) -> Option<Text> {
        let closing = self.closing_mut()?;
        let text = turn.note.is_some() || closing.stage == ClosingStage::TextAsked;
        closing.stage = if text { ClosingStage::TextAsked } else { ClosingStage::Called };
        closing.reached.note.take()
    }

    /// The call beyond the limit may use that.
    pub(crate) fn allow(&mut self, beyond: Beyond) {
        if let Some(closing) = self.closing_mut() {
            closing.beyond = Some(beyond);
        }
    }

    /// The run goes on from another one: its limit was reached now, if it `holds` here, too.
    pub(crate) fn begin_anew(&mut self, at: Millis, seq: u64, holds: impl Fn(LimitKind) -> bool) {
        let closing = |closing: Closing| {
            Some(Closing { seq, at, ..closing }).filter(|closing| holds(closing.reached.limit))
        };
        *self = std::mem::take(self).with_closing(closing);
    }

    /// The same, whatever the number of its event.
    #[cfg(test)]
    pub(crate) fn renumbered(mut self, rename: impl FnOnce(&mut u64)) -> Self {
        if let Some(closing) = self.closing_mut() {
            rename(&mut closing.seq);
        }
        self
    }

    pub(crate) fn is_cancel(&self) -> bool {
        matches!(self, Self::Cancel(_))
    }

    /// Whether nothing new may begin: work that is going on is being stopped.
    pub(crate) fn stops(&self) -> bool {
        match self {
            Self::None => false,
            Self::Limit(closing) => closing.stage == ClosingStage::Stopping,
            Self::Cancel(_) => true,
        }
    }

    /// Records a request to cancel.
    pub(crate) fn cancel(&mut self) {
        *self = match std::mem::take(self) {
            Self::None => Self::Cancel(None),
            Self::Limit(closing) => Self::Cancel(Some(closing)),
            Self::Cancel(closing) => Self::Cancel(closing),
        };
    }

    /// The same with another closing, or none.
    fn with_closing(self, change: impl FnOnce(Closing) -> Option<Closing>) -> Self {
        let change = |closing: Box<Closing>| change(*closing).map(Box::new);
        match self {
            Self::None => Self::None,
            Self::Limit(closing) => change(closing).map_or(Self::None, Self::Limit),
            Self::Cancel(closing) => Self::Cancel(closing.and_then(change)),
        }
    }

    /// The ending for a run that continues this one; a cancellation is not carried over.
    pub(crate) fn carried_on(&self) -> Self {
        self.closing().map_or(Self::None, |closing| Self::Limit(Box::new(closing.clone())))
    }
}

impl State {
    /// Annotations of the reply that the run ended with: hosted steps and sources of its answer. `None`: it has not ended with a reply,
    /// or there are none.
    pub fn answer_annotations(&self) -> Option<&Annotations> {
        self.ended()?;
        match &**self.history().last()? {
            Message::Assistant(reply) if reply.calls.is_empty() => reply.annotations.as_deref(),
            Message::Assistant(_)
            | Message::System { .. }
            | Message::User { .. }
            | Message::TaskDelegation { .. }
            | Message::Tool(_) => None,
        }
    }

    /// The limit that cut the run, with its value and the value reached; `None` for a run that ended otherwise.
    pub fn cut_by(&self) -> Option<&LimitReached> {
        let cut = self.ended().is_none_or(|end| matches!(end.status, Status::Limit(_)));
        self.ending.closing().filter(|_| cut).map(|closing| &closing.reached)
    }
}

/// A limit that was reached, while what follows from it is going on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Closing {
    reached: LimitReached,
    seq: u64,
    at: Millis,
    stage: ClosingStage,
    /// Allowance of the closing call beyond the limit, once it has begun.
    beyond: Option<Beyond>,
}

impl Closing {
    /// A closing that begins: nothing is going on.
    pub(crate) fn after(reached: &LimitReached, at: Millis, seq: u64) -> Self {
        Self { reached: reached.clone(), seq, at, stage: ClosingStage::Idle, beyond: None }
    }

    pub(crate) fn reached(&self) -> &LimitReached {
        &self.reached
    }

    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    pub(crate) fn at(&self) -> Millis {
        self.at
    }

    pub(crate) fn stage(&self) -> ClosingStage {
        self.stage
    }

    /// Allowance of the closing call beyond the limit, once it has begun.
    pub(crate) fn beyond(&self) -> Option<Beyond> {
        self.beyond
    }

    /// Whether the call beyond the limit has begun.
    pub(crate) fn has_called(&self) -> bool {
        matches!(self.stage, ClosingStage::Called | ClosingStage::TextAsked)
    }
}

/// Stage of a run's closing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClosingStage {
    /// Work that was going on must come to its end first.
    Stopping,
    /// Nothing is going on any more.
    Idle,
    /// The call beyond the limit has begun.
    Called,
    /// It asks for the output as text, because a forced call was not to be had.
    TextAsked,
}
