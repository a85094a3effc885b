//! Forks: the facts of the base run that a fork needs.

use crate::protocol::fact::calls::Decision;
use crate::protocol::fact::fork::{Fork, MadeCall, StartedCall};
use crate::protocol::fact::{CallFact, CodeFact, DelegationFact, Event, Fact};
use crate::state::open_call::{OpenCall, Stage};
use crate::state::{Phase, State};
use crate::vocabulary::budget::Budget;
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::message::ToolCall;
use crate::vocabulary::outcome::CallOutcome;

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
        if let Fact::Code(CodeFact::Called(called)) = &event.fact
            && called.call == *id
        {
            calls.extend(&called.calls);
        } else if matches!(&event.fact, Fact::Call(CallFact::Retried(retried)) if retried.call == *id) {
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
    if matches!(open.stage(), Stage::Done(_)) {
        return None;
    }
    let before =
        Before { started: open.attempt() > 0, failed: matches!(open.stage(), Stage::Retrying { .. }) };
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
        if let Fact::Call(CallFact::Started(started)) = fact {
            again |= started.call == *call;
        } else if let Fact::Code(CodeFact::Started(started)) = fact {
            again |= started.call == *call;
        } else if let Fact::Delegation(DelegationFact::Started(started)) = fact {
            if started.call == *call {
                (again, child, lent) = (true, Some(started.run), started.budget);
            }
        } else if let Fact::Call(CallFact::Decided(decided)) = fact {
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
