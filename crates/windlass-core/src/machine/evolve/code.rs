//! The fold of code: its calls are open beside those of the turn, and their results go to it.

use std::sync::Arc;

use crate::protocol::fact::calls::CallFinished;
use crate::protocol::fact::code::{CodeCalled, CodeFinished, CodeStarted};
use crate::state::ending::Ending;
use crate::state::open_call::{InBase, MadeBelow, OpenCall, Origin, Stage};
use crate::state::{Phase, State};
use crate::vocabulary::ids::{CallId, RunId};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::tool::Effect;

impl State {
    pub(crate) fn code_started(&mut self, started: &CodeStarted, seq: u64) {
        if started.attempt == 1 {
            // The calls of the code count as tool calls, it does not.
            self.count_round();
        }
        let own = self.run;
        if let Some(call) = self.call_mut(&started.call) {
            call.key_run = Some(call.keyed_by(own));
            call.attempt = started.attempt;
            call.stage = Stage::Coding { seq };
        }
    }

    pub(crate) fn code_called(&mut self, called: &CodeCalled) {
        let Some(code) = self.open_call(&called.call) else { return };
        let below = code.known().cloned();
        let asked_at = code.asked_at;
        let first = self.code_calls(&called.call).count();
        let mut fresh: Vec<OpenCall> = Vec::with_capacity(called.calls.len());
        for (place, call) in called.calls.iter().enumerate() {
            let place = u32::try_from(first + place).unwrap_or(u32::MAX);
            let mut open = self.opened(call, Origin::Code { by: called.call.clone(), place });
            open.asked_at = asked_at;
            let made = below.as_ref().and_then(|below| {
                let before = self.code_calls(&called.call).chain(&fresh);
                below.made_before(place, &open, &before.map(|call| call.key(self.run)).collect::<Vec<_>>())
            });
            if let Some(made) = made {
                let (run, id) = &made.key;
                open.key_call = Some(id.clone()).filter(|id| *id != open.call.id);
                if let Some(known) = &made.known {
                    (open.attempt, open.failed) = (made.attempt, made.failed);
                    // It is asked about, and known, with the arguments that it was started with.
                    open.edited.clone_from(&known.edited);
                    open.in_base = Some(Arc::new(known.clone()));
                } else {
                    open.key_run = Some(*run);
                }
            }
            fresh.push(open);
        }
        if let Phase::Acting(calls) = &mut self.phase {
            calls.extend(fresh);
        }
        self.stage(&called.call, Stage::CodeWaits);
    }

    pub(crate) fn code_finished(&mut self, finished: &CodeFinished) {
        if let Some(call) = self.call_mut(&finished.call) {
            call.stdout.clone_from(&finished.stdout);
        }
        let CodeFinished { call, outcome, note, limit, .. } = finished.clone();
        self.call_finished(&CallFinished { call, outcome, note, limit });
    }

    /// Lets code go on once all its calls have their results.
    pub(crate) fn code_goes_on(&mut self, code: &CallId) {
        let seq = self.version;
        let done = self.code_calls(code).all(|open| matches!(open.stage, Stage::Done(_)));
        // Code of a run that is being ended does not go on.
        if done && self.ending == Ending::None && self.open_call(code).is_some_and(waits) {
            self.stage(code, Stage::Coding { seq });
        }
    }

    /// A try of code has failed: the next one makes its calls anew, with their keys, but for those with an effect that have
    /// happened.
    pub(crate) fn suspend_code(&mut self, code: &CallId) {
        let (own, spent) = (self.run, |open: &OpenCall, state: &Self| {
            let once = state.target(open).is_none_or(|tool| tool.effect == Effect::Once);
            once && matches!(&open.stage, Stage::Done(outcome) if outcome.is_ok())
        });
        let laid_aside = |open: &OpenCall| {
            let made = made(open, own)?;
            if spent(open, self) {
                return Some(made);
            }
            // Other arguments make it another call.
            open.edited.is_none().then_some(MadeBelow { attempt: 0, failed: 0, known: None, ..made })
        };
        let made: Vec<MadeBelow> = self.code_calls(code).filter_map(laid_aside).collect();
        self.drop_calls_of(code, made, |_| true);
    }

    /// Another agent goes on with code: the calls of it that are open are made again, at the gate of that agent.
    pub(crate) fn reopen_code(&mut self) {
        let codes: Vec<CallId> = self.open_calls().map(|open| open.call.id.clone()).collect();
        let own = self.run;
        for code in codes {
            let open = |open: &OpenCall| !matches!(open.stage, Stage::Done(_));
            let made: Vec<MadeBelow> =
                self.code_calls(&code).filter(|call| open(call)).filter_map(|call| made(call, own)).collect();
            let gone: Vec<CallId> =
                self.code_calls(&code).filter(|call| open(call)).map(|call| call.call.id.clone()).collect();
            // The same call has the same id again.
            for id in &gone {
                self.conversation.free_id(id);
            }
            if !gone.is_empty() {
                self.drop_calls_of(&code, made, open);
            }
        }
    }

    /// Removes calls of code, of which some are known to have been made.
    fn drop_calls_of(&mut self, code: &CallId, made: Vec<MadeBelow>, gone: impl Fn(&OpenCall) -> bool) {
        if let Phase::Acting(calls) = &mut self.phase {
            calls.retain(|open| open.origin.code() != Some(code) || !gone(open));
        }
        let own = self.run;
        let Some(call) = self.call_mut(code).filter(|_| !made.is_empty()) else { return };
        let mut known =
            call.in_base.as_deref().filter(|known| known.edited == call.edited).cloned().unwrap_or(InBase {
                run: call.keyed_by(own),
                edited: call.edited.clone(),
                child: None,
                lent: call.lent,
                outcome: None,
                made: Vec::new(),
            });
        known.take(made);
        call.in_base = Some(Arc::new(known));
    }
}

fn waits(open: &OpenCall) -> bool {
    matches!(open.stage, Stage::CodeWaits)
}

/// A call of code as a later try finds it, if it was started.
fn made(open: &OpenCall, own: RunId) -> Option<MadeBelow> {
    let Origin::Code { place, .. } = open.origin else { return None };
    if open.attempt == 0 && open.in_base.is_none() {
        return None;
    }
    let outcome = if let Stage::Done(outcome) = &open.stage { Some(outcome.clone()) } else { None };
    let known = open.known().filter(|_| outcome.is_none()).cloned().unwrap_or(InBase {
        run: open.keyed_by(own),
        edited: open.edited.clone(),
        child: None,
        lent: open.lent,
        outcome,
        made: Vec::new(),
    });
    let (name, args) = (open.call.name.clone(), open.call.args.to_text());
    let (key, known) = (open.key(own), Some(known));
    Some(MadeBelow { place, name, args, attempt: open.attempt, failed: open.failed, key, known })
}

impl InBase {
    /// The call of code, of those whose keys are not `taken`, that this one is: of the same tool with the same arguments, at
    /// the same place if there is one. A branch that is not taken again, or another order, moves the others.
    fn made_before(&self, place: u32, open: &OpenCall, taken: &[(RunId, CallId)]) -> Option<&MadeBelow> {
        let equal = |made: &&MadeBelow| {
            made.name == open.call.name && *made.args == *open.call.args && !taken.contains(&made.key)
        };
        // Of several, one that has happened: it is not made once more.
        let order = |made: &&MadeBelow| (made.place != place, made.known.is_none(), made.place);
        self.made.iter().filter(equal).min_by_key(order)
    }

    /// Adds calls of code; the same call takes the place of an earlier one.
    pub(crate) fn take(&mut self, made: Vec<MadeBelow>) {
        self.made.retain(|known| !made.iter().any(|fresh| fresh.key == known.key));
        self.made.extend(made);
    }
}

/// Whether a call has its outcome from an earlier try of the same code.
pub(crate) fn happened_before(open: &OpenCall, own: RunId) -> Option<&CallOutcome> {
    let known = open.known().filter(|known| known.run == own && open.origin.code().is_some())?;
    known.outcome.as_ref()
}
