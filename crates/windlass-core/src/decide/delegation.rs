//! Delegation: tasks that other agents do, and their questions to people.

use sha2::{Digest, Sha256};

use super::{Decided, Decision};
use crate::event::{DelegationFinished, DelegationStarted, InputReceived, InputRequested};
use crate::ids::{ActionId, CallId, RunId};
use crate::open_call::{OpenCall, Stage};
use crate::outcome::CallOutcome;
use crate::question::Answer;
use crate::reply::Usage;

impl Decision {
    /// Hands a task to another agent. A take-over goes on with the same run, and with the same answer to it.
    pub(super) fn delegate(&mut self, open: &OpenCall) {
        if let Stage::Delegated { run, answer, .. } = &open.stage {
            return self.hand_over(open, *run, answer.clone(), false);
        }
        // What the base of a fork has handed over goes on there, too: nothing of it is done twice.
        let begun = open.known().and_then(|known| known.child);
        self.hand_over(open, begun.unwrap_or_else(|| self.child_run(&open.call.id)), None, false);
    }

    fn hand_over(&mut self, open: &OpenCall, run: RunId, answer: Option<InputReceived>, stop: bool) {
        let (call, agent) = (open.call.id.clone(), open.target_name().clone());
        self.record(DelegationStarted { call, agent, run, attempt: open.attempt + 1, answer, stop });
    }

    /// Has the run of a task brought to its end that nobody works on: this run is being stopped.
    pub(super) fn stop_delegate(&mut self, open: &OpenCall) {
        let (Stage::Delegated { run, .. } | Stage::DelegateAsks { run, .. }) = open.stage else { return };
        self.hand_over(open, run, None, true);
    }

    /// The id of the run that does a task: a UUIDv7 whose random part follows from the run and the call.
    fn child_run(&self, call: &CallId) -> RunId {
        let mut hash = Sha256::new();
        hash.update(self.state.run.0.as_bytes());
        hash.update(call.as_str().as_bytes());
        let mut random = [0_u8; 10];
        random.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
        RunId(uuid::Builder::from_unix_timestamp_millis(self.at, &random).into_uuid())
    }

    pub(super) fn delegated(&self, action: ActionId) -> Option<OpenCall> {
        let open = self.open_calls().iter().find(
            |open| matches!(open.stage, Stage::Delegated { seq, .. } if self.state.action(seq) == action),
        );
        open.cloned()
    }

    /// A question of another agent is put to people here; its task goes on with their answer.
    pub(super) fn delegate_asks(&mut self, action: ActionId, asked: InputRequested) -> Decided {
        let Some(open) = self.delegated(action) else { return Err(self.unknown(action)) };
        if self.state.stopping() {
            if matches!(open.stage, Stage::Delegated { stop: false, .. }) {
                // It came to rest before it heard of the stop.
                self.stop_delegate(&open);
                return Ok(());
            }
            let outcome = CallOutcome::Interrupted;
            return self.delegation_ended(action, outcome, Usage::default(), Some(0));
        }
        let (question, child) = (self.next_question(), Some(asked.question));
        self.record(InputRequested { question, child, call: Some(open.call.id), ..asked });
        self.go_on();
        Ok(())
    }

    /// Goes on with another agent's task, whose question was answered.
    pub(super) fn delegate_again(&mut self, open: &OpenCall, answer: Answer) {
        let Stage::DelegateAsks { run, question } = open.stage.clone() else { return };
        self.hand_over(open, run, Some(InputReceived { question, answer }), false);
    }

    pub(super) fn delegation_ended(
        &mut self,
        action: ActionId,
        outcome: CallOutcome,
        usage: Usage,
        cost: Option<u64>,
    ) -> Decided {
        let Some(open) = self.delegated(action) else { return Err(self.unknown(action)) };
        // What a delegate says when it is made to stop is no failure of its own (E19).
        let interrupted = self.state.stopping() && outcome.may_retry();
        let outcome = if interrupted { CallOutcome::Interrupted } else { outcome };
        self.record(DelegationFinished { call: open.call.id, outcome, usage, cost });
        self.go_on();
        Ok(())
    }
}
