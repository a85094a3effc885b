//! The fold of tool calls: of a turn, or of a hook.

use std::sync::Arc;

use crate::policy::values::Hooks;
use crate::protocol::fact::calls::{
    CallDecided, CallFinished, CallHeld, CallStarted, Decision, DelegationDeferred, DelegationStarted,
    TaskOrder,
};
use crate::protocol::fact::verdict::CallVerified;
use crate::state::ending::Ending;
use crate::state::open_call::{OpenCall, Origin, Stage};
use crate::state::results::{branch_message, tool_message, with_printed};
use crate::state::{Phase, State};
use crate::vocabulary::call_args::CallArgs;
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::message::{Message, ToolCall};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::tool::ToolSpec;

impl State {
    pub(crate) fn call_started(&mut self, started: &CallStarted, seq: u64) {
        if started.attempt == 1 {
            self.count_call();
            self.count_consecutive(&started.call);
        }
        let own = self.run;
        if let Some(call) = self.call_mut(&started.call) {
            call.started(own, started.attempt, Stage::Running { seq });
        }
    }

    pub(crate) fn delegation_started(&mut self, started: &DelegationStarted, seq: u64) {
        if started.attempt == 1 && self.open_call(&started.call).is_none_or(|open| open.origin().counts()) {
            self.count_call();
        }
        if let Some(call) = self.call_mut(&started.call) {
            call.delegated(started, seq);
        }
        if started.order == TaskOrder::Stop {
            self.questions.settled(&started.call);
            self.ending.stops_task();
        }
    }

    pub(crate) fn delegation_deferred(&mut self, waits: &DelegationDeferred, seq: u64) {
        if let Some(call) = self.call_mut(&waits.call) {
            call.deferred(waits, seq);
        }
    }

    /// The calls of a turn are open, or the branches that a hook asked for.
    pub(crate) fn acting(&mut self, calls: &[ToolCall], origin: &Origin) {
        let open = calls.iter().map(|call| self.opened(call, origin.clone()));
        let open = open.collect();
        self.phase = Phase::Acting(open);
    }

    /// A call that nothing has been decided on.
    pub(crate) fn opened(&mut self, call: &ToolCall, origin: Origin) -> OpenCall {
        self.conversation.take_id(&call.id);
        let repeat = if origin.is_model() { self.count_repeat(&call.name, &call.args) } else { 0 };
        let reached = self.reach(call, &origin);
        OpenCall::new(call.clone(), origin, repeat, reached, (self.run, self.version.saturating_sub(1)))
    }

    /// Counts consecutive equal calls, this one included.
    pub(crate) fn count_repeat(&mut self, name: &Text, args: &CallArgs) -> u32 {
        let exempt = self.tool(name).is_some_and(|tool| tool.poll);
        self.turn.repeated(name, args, exempt)
    }

    /// A call was let run, or put to a person: that is one more.
    pub(crate) fn count_call(&mut self) {
        self.ledger.tool_called();
        self.count_round();
    }

    /// Something of a turn runs: with the first of it, that is one more round.
    pub(crate) fn count_round(&mut self) {
        if self.turn.ran() {
            self.ledger.round_began();
        }
    }

    pub(crate) fn call_mut(&mut self, id: &CallId) -> Option<&mut OpenCall> {
        let Phase::Acting(calls) = &mut self.phase else { return None };
        calls.iter_mut().find(|call| call.call.id == *id)
    }

    pub(crate) fn stage(&mut self, id: &CallId, stage: Stage) {
        if let Some(call) = self.call_mut(id) {
            call.comes_to(stage);
        }
    }

    pub(crate) fn call_held(&mut self, held: &CallHeld) {
        let Some(gate) = self.open_call(&held.call).map(|open| self.gate(open)) else { return };
        let gate = Arc::new(gate.under(&held.digest));
        if let Some(call) = self.call_mut(&held.call) {
            call.held(gate);
        }
    }

    pub(crate) fn call_decided(&mut self, decided: &CallDecided) {
        let Some(call) = self.call_mut(&decided.call) else { return };
        let edited = match &decided.decision {
            Decision::Approved | Decision::Allowed => None,
            Decision::Edited { args } => Some(args),
            Decision::Denied { .. } | Decision::Forbidden { .. } => return,
        };
        let allowed = call.released(edited);
        // Allowed is what runs with these arguments.
        let allowed = allowed.or_else(|| self.open_call(&decided.call).map(|open| Arc::new(self.gate(open))));
        if let (Some(call), Some(allowed)) = (self.call_mut(&decided.call), allowed) {
            call.allow(allowed);
        }
        if decided.decision == Decision::Allowed {
            // A question that was put before the rule was made needs no answer.
            self.questions.settled(&decided.call);
        }
    }

    pub(crate) fn call_verified(&mut self, verified: &CallVerified) {
        if let Some(call) = self.call_mut(&verified.call) {
            call.judged(verified.args.as_ref());
        }
    }

    pub(crate) fn call_finished(&mut self, finished: &CallFinished) {
        let code = self.open_call(&finished.call).and_then(|open| open.origin().code()).cloned();
        if code.is_none() {
            self.count_outcome(finished);
            self.note_on_blackboard(finished);
        }
        if !self.setup.policy().tools.require.is_empty()
            && let Some(tool) = self.open_call(&finished.call).map(|open| open.target_name().clone())
        {
            self.ledger.prove(self.setup.policy(), &tool, &finished.outcome);
        }
        self.questions.settled(&finished.call);
        let own = self.run;
        let sums_up = self.sums_up(finished);
        let Some(call) = self.call_mut(&finished.call) else { return };
        // What the base ran counts as run.
        let (ran_in_base, repeat) = (call.finished(finished, sums_up, own), call.repeat());
        if let Some(limit) = finished.limit {
            self.turn.cut_by(limit, repeat);
        }
        if ran_in_base {
            self.count_call();
        }
        match code {
            Some(code) => self.code_goes_on(&code),
            None => self.commit_round(),
        }
    }

    /// Counts the outcome of a call of the turn.
    fn count_outcome(&mut self, finished: &CallFinished) {
        let own = self.open_call(&finished.call).is_none_or(|open| open.origin().is_model());
        self.turn.call_ended(&finished.outcome, own);
        if let CallOutcome::Ok { content } = &finished.outcome {
            self.conversation.result_came();
            self.keep_stored(content);
        }
    }

    /// Moves the results of a turn into the conversation once all its calls have ended: in call order, whatever the order in
    /// which they ended.
    pub(crate) fn commit_round(&mut self) {
        let cut = self.ending != Ending::None;
        let Phase::Acting(calls) = &mut self.phase else { return };
        if !calls.iter().all(OpenCall::has_result) {
            return;
        }
        let calls = std::mem::take(calls);
        let seq = self.version;
        // No hook is asked about a step that a limit or a cancel cut short.
        let asked = self.setup.policy().calls.hooks == Hooks::AfterSteps && !cut;
        self.phase = if asked { Phase::Stepping { seq } } else { Phase::Between };
        let mut notes = Vec::new();
        for mut open in calls {
            if let Some(outcome) = open.take_outcome()
                && open.origin().code().is_none()
            {
                let outcome =
                    if open.was_started() && self.tool(&open.call.name).is_some_and(ToolSpec::runs_code) {
                        with_printed(outcome, open.stdout())
                    } else {
                        outcome
                    };
                if *open.origin() == Origin::Plan {
                    self.step_outcome(outcome, open.failed());
                    continue;
                }
                let outcome = open.take_summary().map_or(outcome, |content| CallOutcome::Ok { content });
                let message = if *open.origin() == Origin::Hook {
                    let args = open.call.args.to_text();
                    self.turn.branch_ended(args, outcome.clone());
                    branch_message(self.setup.policy(), &open, outcome)
                } else {
                    tool_message(self.setup.policy(), &open, outcome)
                };
                self.conversation.push(Arc::new(message));
            }
            notes.extend(open.into_note());
        }
        for note in notes {
            self.conversation.push(Arc::new(Message::user(note)));
        }
    }
}
