//! Forks: the facts of the base run that a fork needs.

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::event::{Decision, Event, Fact};
use crate::ids::{CallId, RunId, Text};
use crate::open_call::{OpenCall, Stage};
use crate::outcome::CallOutcome;
use crate::state::{Phase, State};

/// Facts of the base that a fork needs beside the state at its version: the work that the base had begun by then or began
/// later.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Fork {
    /// The calls of the turn that was going on which the base run has started, at any time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<StartedCall>,
    /// Message to the agent as it continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub say: Option<Text>,
}

/// A call that a fork's base has started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StartedCall {
    /// The call.
    pub call: CallId,
    /// The run in which another agent does it, if it was handed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child: Option<RunId>,
    /// Budget lent to that run.
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub lent: Budget,
    /// Outcome, if the call ended by itself; `None`: unknown whether it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CallOutcome>,
}

impl Fork {
    /// The fork of a run as it stood at a time, with the events that followed there: which of the open calls it has
    /// started, by then or later, and how they ended.
    pub fn of(state: &State, later: &[Event], say: Option<Text>) -> Self {
        let Phase::Acting(open) = &state.phase else { return Self { calls: Vec::new(), say } };
        Self { calls: open.iter().filter_map(|open| started(open, later)).collect(), say }
    }
}

fn started(open: &OpenCall, later: &[Event]) -> Option<StartedCall> {
    if matches!(open.stage, Stage::Done(_)) {
        return None;
    }
    let call = &open.call.id;
    let (mut again, mut edited, mut outcome, mut child) = (false, false, None, None);
    let mut lent = Budget::default();
    for event in later {
        let fact = &event.fact;
        if let Fact::CallStarted(started) = fact {
            again |= started.call == *call;
        } else if let Fact::DelegationStarted(started) = fact {
            if started.call == *call {
                (again, child, lent) = (true, Some(started.run), started.lent);
            }
        } else if let Fact::CallDecided(decided) = fact {
            edited |= decided.call == *call && matches!(decided.decision, Decision::Edited { .. });
        } else if let Some((ended, found)) = fact.call_end()
            && ended == call
            && ran(found)
        {
            outcome = Some(found.clone());
        }
    }
    let before = open.attempt > 0;
    // A try that is known to have failed leaves no doubt, and other arguments make it another call.
    let failed = matches!(open.stage, Stage::Retrying { .. });
    let lost = if failed { again || outcome.is_some() } else { before || again };
    let same = before || !edited;
    (lost && same).then(|| StartedCall { call: call.clone(), child, lent, outcome })
}

/// Whether a call came to an end of its own.
fn ran(outcome: &CallOutcome) -> bool {
    matches!(outcome, CallOutcome::Ok { .. } | CallOutcome::Error { .. } | CallOutcome::TimedOut { .. })
}
