//! The fold of code: its calls are open beside those of the turn, and their results go to it.

use crate::protocol::fact::calls::CallFinished;
use crate::protocol::fact::code::{CodeCalled, CodeFinished, CodeStarted};
use crate::state::ending::Ending;
use crate::state::open_call::in_base::PriorCall;
use crate::state::open_call::{OpenCall, Origin, Stage};
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
            call.started(own, started.attempt, Stage::Coding { seq });
        }
    }

    pub(crate) fn code_called(&mut self, called: &CodeCalled) {
        let Some(code) = self.open_call(&called.call) else { return };
        let in_base = code.known().cloned();
        let asked_at = code.asked_at();
        let first = self.code_calls(&called.call).count();
        let mut fresh: Vec<OpenCall> = Vec::with_capacity(called.calls.len());
        for (place, call) in called.calls.iter().enumerate() {
            let place = u32::try_from(first + place).unwrap_or(u32::MAX);
            let mut open = self.opened(call, Origin::Code { by: called.call.clone(), place });
            open.belongs_to_step(asked_at);
            let made = in_base.as_ref().and_then(|in_base| {
                let before = self.code_calls(&called.call).chain(&fresh);
                in_base.made_before(place, &open, &before.map(|call| call.key(self.run)).collect::<Vec<_>>())
            });
            if let Some(made) = made {
                open.takes_over(made);
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
            call.printed(finished.stdout.as_ref());
        }
        let CodeFinished { call, outcome, note, limit, .. } = finished.clone();
        self.call_finished(&CallFinished { call, outcome, note, limit });
    }

    /// Lets code go on once all its calls have their results.
    pub(crate) fn code_goes_on(&mut self, code: &CallId) {
        let seq = self.version;
        let done = self.code_calls(code).all(|open| matches!(open.stage(), Stage::Done(_)));
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
            once && matches!(open.stage(), Stage::Done(outcome) if outcome.is_ok())
        });
        let detached = |open: &OpenCall| {
            let made = PriorCall::of(open, own)?;
            if spent(open, self) {
                return Some(made);
            }
            // Other arguments make it another call.
            open.edited.is_none().then(|| made.runs_again())
        };
        let made: Vec<PriorCall> = self.code_calls(code).filter_map(detached).collect();
        self.drop_calls_of(code, made, |_| true);
    }

    /// Another agent goes on with code: the calls of it that are open are made again, at the gate of that agent.
    pub(crate) fn reopen_code(&mut self) {
        let codes: Vec<CallId> = self.open_calls().map(|open| open.call.id.clone()).collect();
        let own = self.run;
        for code in codes {
            let open = |open: &OpenCall| !matches!(open.stage(), Stage::Done(_));
            let made: Vec<PriorCall> = self
                .code_calls(&code)
                .filter(|call| open(call))
                .filter_map(|call| PriorCall::of(call, own))
                .collect();
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
    fn drop_calls_of(&mut self, code: &CallId, made: Vec<PriorCall>, gone: impl Fn(&OpenCall) -> bool) {
        if let Phase::Acting(calls) = &mut self.phase {
            calls.retain(|open| open.origin().code() != Some(code) || !gone(open));
        }
        let own = self.run;
        let Some(call) = self.call_mut(code).filter(|_| !made.is_empty()) else { return };
        call.remembers(made, own);
    }
}

fn waits(open: &OpenCall) -> bool {
    matches!(open.stage(), Stage::CodeWaits)
}

/// Whether a call has its outcome from an earlier try of the same code.
pub(crate) fn happened_before(open: &OpenCall, own: RunId) -> Option<&CallOutcome> {
    let known = open.known().filter(|known| known.run() == own && open.origin().code().is_some())?;
    known.outcome()
}
