//! Why and how a run is being ended.

use crate::protocol::fact::limits::LimitReached;
use crate::state::State;
use crate::state::ledger::Beyond;
use crate::vocabulary::ids::Millis;
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

    pub(crate) fn closing_mut(&mut self) -> Option<&mut Closing> {
        match self {
            Self::None => None,
            Self::Limit(closing) => Some(closing),
            Self::Cancel(closing) => closing.as_deref_mut(),
        }
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
    pub(crate) fn with_closing(self, change: impl FnOnce(Closing) -> Option<Closing>) -> Self {
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
    /// The limit that cut the run, with its value and the value reached; `None` for a run that ended otherwise.
    pub fn cut_by(&self) -> Option<&LimitReached> {
        let cut = self.ended().is_none_or(|end| matches!(end.status, Status::Limit(_)));
        self.ending.closing().filter(|_| cut).map(|closing| &closing.reached)
    }
}

/// A limit that was reached, while what follows from it is going on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Closing {
    pub(crate) reached: LimitReached,
    pub(crate) seq: u64,
    pub(crate) at: Millis,
    pub(crate) stage: ClosingStage,
    /// Allowance of the closing call beyond the limit, once it has begun.
    pub(crate) beyond: Option<Beyond>,
}

impl Closing {
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
