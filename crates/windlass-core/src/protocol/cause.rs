//! Causes: which input led to the events of an append, as far as the events do not say it themselves.
//!
//! A cause is stored with its append. With it, [`rebuild`](crate::rebuild) makes the input again without a search: every
//! value that the events hold is taken from them, and the cause holds the rest.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_macros::Named;

use crate::protocol::fact::{
    CallFact, CodeFact, ContextFact, DelegationFact, Event, Fact, InputRequested, PeopleFact, RunEnded,
    RunFact,
};
use crate::protocol::input::{Found, HookEnd, HostCall, InputKind, QuotaWait, StepEdits};

/// The input that caused the events of an append.
///
/// An action is named by the number of the event that freed it ([`ActionId::seq`](crate::ActionId::seq)): its run is the append's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, Named)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Cause {
    /// [`InputKind::Start`].
    Start,
    /// [`InputKind::Resumed`].
    Resumed,
    /// [`InputKind::Replied`]. The end of another attempt at the same call stands before the reply. Calls that were read from text have their place there; the others were native.
    Replied {
        /// The model call.
        action: u64,
    },
    /// [`InputKind::ModelFailed`].
    ModelFailed {
        /// The model call.
        action: u64,
        /// The random part of the retry wait, in thousandths.
        jitter: u16,
    },
    /// [`InputKind::CallEnded`], or [`InputKind::CallLost`] where that is what the append begins with.
    CallEnded {
        /// The call.
        action: u64,
    },
    /// [`InputKind::CodeCalls`].
    CodeCalls {
        /// The code.
        action: u64,
        /// The calls, where none of them was opened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unrecorded: Option<Vec<HostCall>>,
    },
    /// [`InputKind::CodeEnded`].
    CodeEnded {
        /// The code.
        action: u64,
    },
    /// [`InputKind::DelegateEnded`].
    DelegateEnded {
        /// The delegation.
        action: u64,
    },
    /// [`InputKind::DelegateAsks`].
    DelegateAsks {
        /// The delegation.
        action: u64,
        /// The question that was dropped because the run is being stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unrecorded: Option<Box<InputRequested>>,
    },
    /// [`InputKind::DelegateDeferred`].
    DelegateDeferred {
        /// The delegation.
        action: u64,
        /// The wait that was not made because the run is being stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unrecorded: Option<Box<QuotaWait>>,
    },
    /// [`InputKind::Checked`].
    Checked {
        /// The check.
        action: u64,
        /// Its result.
        found: CheckResult,
    },
    /// [`InputKind::HookEnded`].
    HookEnded {
        /// The hook.
        action: u64,
        /// How the hook ended the run, if the end's event holds its output or error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<StepEnd>,
        /// The edits that no event holds: splices or branches that were refused, and an output that the run does not have.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unrecorded: Option<Box<StepEdits>>,
    },
    /// [`InputKind::Answered`].
    Answered,
    /// [`InputKind::Steer`].
    Steer,
    /// [`InputKind::Pause`].
    Pause,
    /// [`InputKind::Queue`].
    Queue,
    /// [`InputKind::Cancel`].
    Cancel,
    /// [`InputKind::ToolsChanged`].
    ToolsChanged,
    /// [`InputKind::TimerFired`].
    TimerFired {
        /// The timer.
        action: u64,
    },
}

/// The result of a check, without the outcome: a [`Found`] whose outcome stands in the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckResult {
    /// The call happened.
    Happened,
    /// It did not happen.
    NotHappened,
    /// The tool cannot say.
    Unsure,
}

/// A [`HookEnd`] whose value is stored in the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepEnd {
    /// With an output: the run's output, or its text.
    Finish,
    /// With an error: the run's error.
    Abort,
}

impl StepEnd {
    /// The end with its value.
    pub(crate) fn whole(self, run: &RunEnded) -> Option<HookEnd> {
        match self {
            Self::Finish => {
                let text = || run.text.as_deref().map(Value::from);
                run.output.clone().or_else(text).map(HookEnd::Finish)
            }
            Self::Abort => run.error.clone().map(HookEnd::Abort),
        }
    }
}

impl Cause {
    /// The cause that an input is, with everything that its events may turn out not to hold. It is made before the input is
    /// taken apart; [`without_recorded`](Self::without_recorded) leaves the rest out afterwards.
    pub(crate) fn of(what: &InputKind) -> Self {
        match what {
            InputKind::Start(_) => Self::Start,
            InputKind::Resumed { .. } => Self::Resumed,
            InputKind::Replied { action, .. } => Self::Replied { action: action.seq },
            InputKind::ModelFailed { action, jitter, .. } => {
                Self::ModelFailed { action: action.seq, jitter: *jitter }
            }
            InputKind::CallEnded { action, .. } | InputKind::CallLost { action, .. } => {
                Self::CallEnded { action: action.seq }
            }
            InputKind::CodeCalls { action, calls } => {
                Self::CodeCalls { action: action.seq, unrecorded: Some(calls.clone()) }
            }
            InputKind::CodeEnded { action, .. } => Self::CodeEnded { action: action.seq },
            InputKind::DelegateEnded { action, .. } => Self::DelegateEnded { action: action.seq },
            InputKind::DelegateAsks { action, question, kind, text, suggestions } => {
                let (question, text, suggestions) = (question.clone(), text.clone(), suggestions.clone());
                let asked = InputRequested {
                    question,
                    kind: *kind,
                    call: None,
                    text,
                    suggestions,
                    child_question: None,
                    next: None,
                };
                Self::DelegateAsks { action: action.seq, unrecorded: Some(Box::new(asked)) }
            }
            InputKind::DelegateDeferred { action, model, until } => {
                let wait = QuotaWait { model: model.clone(), until: *until };
                Self::DelegateDeferred { action: action.seq, unrecorded: Some(Box::new(wait)) }
            }
            InputKind::Checked { action, found } => {
                let found = match found {
                    Found::Happened(_) => CheckResult::Happened,
                    Found::NotHappened => CheckResult::NotHappened,
                    Found::Unsure => CheckResult::Unsure,
                };
                Self::Checked { action: action.seq, found }
            }
            InputKind::HookEnded { action, edits } => {
                Self::HookEnded { action: action.seq, end: None, unrecorded: may_be_unrecorded(edits) }
            }
            InputKind::Answered { .. } => Self::Answered,
            InputKind::Steer(_) => Self::Steer,
            InputKind::Pause { .. } => Self::Pause,
            InputKind::Queue { .. } => Self::Queue,
            InputKind::Cancel { .. } => Self::Cancel,
            InputKind::ToolsChanged { .. } => Self::ToolsChanged,
            InputKind::TimerFired { action } => Self::TimerFired { action: action.seq },
        }
    }

    /// The cause without what these events, which follow from it, hold.
    pub(crate) fn without_recorded(mut self, events: &[Event]) -> Self {
        if let Self::DelegateAsks { unrecorded, .. } = &mut self
            && let Some(Fact::People(PeopleFact::InputRequested(_))) = events.first().map(|event| &event.fact)
        {
            *unrecorded = None;
        }
        if let Self::DelegateDeferred { unrecorded, .. } = &mut self
            && let Some(Fact::Delegation(DelegationFact::Deferred(_))) =
                events.first().map(|event| &event.fact)
        {
            *unrecorded = None;
        }
        if let Self::CodeCalls { unrecorded, .. } = &mut self
            && let Some(Fact::Code(CodeFact::Called(_))) = events.first().map(|event| &event.fact)
        {
            *unrecorded = None;
        }
        if let Self::HookEnded { end, unrecorded, .. } = &mut self
            && let Some(edits) = unrecorded.take()
        {
            (*end, *unrecorded) = unrecorded_of(edits, events);
        }
        self
    }
}

/// The edits that an append may not hold. Other edits are ignored when a hook requests branches.
fn may_be_unrecorded(edits: &StepEdits) -> Option<Box<StepEdits>> {
    let unrecorded = if edits.branches.is_empty() {
        StepEdits { splices: edits.splices.clone(), end: edits.end.clone(), ..StepEdits::default() }
    } else {
        StepEdits { branches: edits.branches.clone(), ..StepEdits::default() }
    };
    (unrecorded != StepEdits::default()).then(|| Box::new(unrecorded))
}

/// Splits off the edits that the events already hold, and the hook's end if they hold it.
fn unrecorded_of(mut edits: Box<StepEdits>, events: &[Event]) -> (Option<StepEnd>, Option<Box<StepEdits>>) {
    let mut ended = None;
    for event in events {
        if let Fact::Context(ContextFact::HistoryEdited(_)) = &event.fact {
            edits.splices.clear();
        } else if let Fact::Call(CallFact::StepBranched(_)) = &event.fact {
            edits.branches.clear();
        } else if let Fact::Run(RunFact::Ended(run)) = &event.fact {
            // Splices that were refused are the end: the hook's own plays no part then.
            let end = edits.end.take().filter(|_| edits.splices.is_empty());
            let kind = end.as_ref().map(|end| match end {
                HookEnd::Finish(_) => StepEnd::Finish,
                HookEnd::Abort(_) => StepEnd::Abort,
            });
            if kind.and_then(|kind| kind.whole(run)) == end {
                ended = kind;
            } else {
                edits.end = end;
            }
        }
    }
    (ended, (*edits != StepEdits::default()).then_some(edits))
}
