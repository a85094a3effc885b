//! Forks: the facts of the base run that a fork needs.

use serde::{Deserialize, Serialize};

use crate::budget::Budget;
use crate::event::{Decision, Event, Fact};
use crate::ids::{CallId, RunId, Text};
use crate::message::{Content, ToolCall};
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
    pub message: Option<Text>,
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
    pub budget: Budget,
    /// Outcome, if the call ended by itself; `None`: unknown whether it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<CallOutcome>,
    /// The calls that its code made later and that the base has started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<MadeCall>,
}

/// A call that the code of a fork's base has made and started. The fork's code makes the same call at the same place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MadeCall {
    /// Its place among the calls of the code, from 0.
    pub place: u32,
    /// The tool.
    pub name: Text,
    /// The arguments, as JSON text.
    pub args: Text,
    /// How far it came.
    pub started: StartedCall,
}

impl MadeCall {
    /// The payloads that its result refers to.
    pub(crate) fn content(&self) -> Option<&Content> {
        self.started.outcome.as_ref()?.content()
    }
}

impl Fork {
    /// The fork of a run as it stood at a time, with the events that followed there: which of the open calls it has
    /// started, by then or later, and how they ended.
    pub fn of(state: &State, later: &[Event], message: Option<Text>) -> Self {
        let Phase::Acting(open) = &state.phase else { return Self { calls: Vec::new(), message } };
        let started = open.iter().filter_map(|open| {
            let made = made(state, open, later);
            Some(StartedCall { made, ..started(open, later)? })
        });
        Self { calls: started.collect(), message }
    }
}

/// The calls that code has made later, in the try that was going on.
fn made(state: &State, code: &OpenCall, later: &[Event]) -> Vec<MadeCall> {
    let id = &code.call.id;
    let before = state.code_calls(id).count();
    let mut calls: Vec<&ToolCall> = Vec::new();
    for event in later {
        if let Fact::CodeCalled(called) = &event.fact
            && called.call == *id
        {
            calls.extend(&called.calls);
        } else if matches!(&event.fact, Fact::CallRetried(retried) if retried.call == *id) {
            // The next try makes its calls anew.
            break;
        }
    }
    let made = calls.into_iter().enumerate().filter_map(|(place, call)| {
        let started = later_end(&call.id, Before::default(), later)?;
        let place = u32::try_from(before + place).ok()?;
        Some(MadeCall { place, name: call.name.clone(), args: call.args.to_text(), started })
    });
    made.collect()
}

fn started(open: &OpenCall, later: &[Event]) -> Option<StartedCall> {
    if matches!(open.stage, Stage::Done(_)) {
        return None;
    }
    let before = Before { started: open.attempt > 0, failed: matches!(open.stage, Stage::Retrying { .. }) };
    later_end(&open.call.id, before, later)
}

/// How far a call had come when the fork began.
#[derive(Clone, Copy, Default)]
struct Before {
    started: bool,
    /// Its last try is known to have failed.
    failed: bool,
}

/// How a call went on in the base, if it was started there.
fn later_end(call: &CallId, open: Before, later: &[Event]) -> Option<StartedCall> {
    let (mut again, mut edited, mut outcome, mut child) = (false, false, None, None);
    let mut lent = Budget::default();
    for event in later {
        let fact = &event.fact;
        if let Fact::CallStarted(started) = fact {
            again |= started.call == *call;
        } else if let Fact::CodeStarted(started) = fact {
            again |= started.call == *call;
        } else if let Fact::DelegationStarted(started) = fact {
            if started.call == *call {
                (again, child, lent) = (true, Some(started.run), started.budget);
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
    let Before { started: before, failed } = open;
    // A try that is known to have failed leaves no doubt, and other arguments make it another call.
    let lost = if failed { again || outcome.is_some() } else { before || again };
    let same = before || !edited;
    (lost && same).then(|| StartedCall { call: call.clone(), child, budget: lent, outcome, made: Vec::new() })
}

/// Whether a call came to an end of its own.
fn ran(outcome: &CallOutcome) -> bool {
    matches!(outcome, CallOutcome::Ok { .. } | CallOutcome::Error { .. } | CallOutcome::TimedOut { .. })
}
