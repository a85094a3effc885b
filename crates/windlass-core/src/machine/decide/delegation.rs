//! Delegation: tasks that other agents do, and their questions to people.

use sha2::{Digest, Sha256};

use crate::machine::decision::{Decided, Decision};
use crate::policy::share::Share;
use crate::protocol::fact::calls::{DelegationDeferred, DelegationFinished, DelegationStarted, TaskOrder};
use crate::protocol::fact::{InputReceived, InputRequested};
use crate::state::open_call::{OpenCall, Stage};
use crate::vocabulary::amount::Amount;
use crate::vocabulary::budget::Budget;
use crate::vocabulary::ids::{ActionId, CallId, Millis, RunId, Text};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::question::Answer;
use crate::vocabulary::reply::Usage;
use crate::vocabulary::tool::ToolKind;

/// The soonest that a task which waits is asked again, in milliseconds.
const SOONEST_MS: Millis = 1_000;

impl Decision {
    /// Hands a task to another agent. A take-over goes on with the same run, and with the same answer to it.
    pub(crate) fn delegate(&mut self, open: &OpenCall) {
        // A task that the base of a fork has delegated continues in the same run: no work is repeated.
        let known = open.known().and_then(|known| Some((known.child()?, known.lent())));
        if let Stage::Delegated { run, order, .. } = open.stage() {
            return self.hand_over(open, *run, order.clone().going_on(), *open.lent());
        }
        let (run, lent) = known.unwrap_or_else(|| (self.child_run(&open.call.id), self.lend()));
        self.hand_over(open, run, TaskOrder::Work, lent);
    }

    fn hand_over(&mut self, open: &OpenCall, run: RunId, order: TaskOrder, lent: Budget) {
        let (call, agent) = (open.call.id.clone(), open.target_name().clone());
        self.record(DelegationStarted { call, agent, run, attempt: open.attempt() + 1, order, budget: lent });
    }

    /// Budget for the next child run from the remaining limits on tokens and cost. Where only a limit of an ancestor applies,
    /// the child draws on the ancestor's account.
    fn lend(&self) -> Budget {
        let state = &self.state;
        let share = state.setup.policy().bounds.share;
        let waits = |open: &&OpenCall| {
            open.attempt() == 0
                && !matches!(open.stage(), Stage::Done(_))
                && state.target(open).is_some_and(|tool| tool.kind == ToolKind::Delegate)
        };
        let waiting = self.open_calls().iter().filter(waits).count() as u64;
        let left = state.left(None);
        let account = match share {
            Share::Shared => Some(state.run),
            Share::Equal | Share::Fixed(_) => state.budget().account,
        };
        let lent = Budget::of(account, |kind| Some(share.part(left.get(kind)?, waiting)));
        if lent.is_unlimited() { Budget::default() } else { lent }
    }

    /// Ends an idle child run because this run is being stopped.
    pub(crate) fn stop_delegate(&mut self, open: &OpenCall) {
        let (Stage::Delegated { run, .. }
        | Stage::DelegateAsks { run, .. }
        | Stage::DelegateDeferred { run, .. }) = open.stage()
        else {
            return;
        };
        self.hand_over(open, *run, TaskOrder::Stop, *open.lent());
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

    pub(crate) fn delegated(&self, action: ActionId) -> Option<OpenCall> {
        let open = self.open_calls().iter().find(
            |open| matches!(open.stage(), Stage::Delegated { seq, .. } if self.state.action(*seq) == action),
        );
        open.cloned()
    }

    /// Raises another agent's question here; the task continues with the answer.
    pub(crate) fn delegate_asks(&mut self, action: ActionId, asked: InputRequested) -> Decided {
        let Some(open) = self.delegated(action) else { return Err(self.unknown(action)) };
        if self.state.stopping() {
            if !matches!(open.stage(), Stage::Delegated { order: TaskOrder::Stop, .. }) {
                // It came to rest before it heard of the stop.
                self.stop_delegate(&open);
                return Ok(());
            }
            let outcome = CallOutcome::Interrupted;
            return self.delegation_ended(action, Done::unpaid(outcome));
        }
        let (question, child) = (self.next_question(), Some(asked.question));
        self.record(InputRequested { question, child_question: child, call: Some(open.call.id), ..asked });
        self.go_on();
        Ok(())
    }

    /// Another agent waits for a quota: it is asked again then. Where that lies beyond the time of this run, it is ended.
    pub(crate) fn delegate_deferred(&mut self, action: ActionId, model: Text, until: Millis) -> Decided {
        let Some(open) = self.delegated(action) else { return Err(self.unknown(action)) };
        let stops = matches!(open.stage(), Stage::Delegated { order: TaskOrder::Stop, .. });
        if stops {
            return self.delegation_ended(action, Done::unpaid(CallOutcome::Interrupted));
        }
        // Its clock may lie behind this one.
        let until = if until > self.at { until } else { self.at.saturating_add(SOONEST_MS) };
        let in_vain = self.state.deadline().is_some_and(|deadline| until >= deadline);
        if self.state.stopping() || in_vain {
            self.stop_delegate(&open);
            return Ok(());
        }
        self.record(DelegationDeferred { call: open.call.id, model, until });
        self.go_on();
        Ok(())
    }

    /// The task whose wait this timer ends, and when.
    pub(crate) fn delegate_that_waits(&self, action: ActionId) -> Option<(OpenCall, Millis)> {
        self.open_calls().iter().find_map(|open| {
            let Stage::DelegateDeferred { seq, until, .. } = open.stage() else { return None };
            (*seq == action.seq).then(|| (open.clone(), *until))
        })
    }

    /// Another agent's task goes on after its wait.
    pub(crate) fn delegate_after_wait(&mut self, open: &OpenCall) {
        if let Stage::DelegateDeferred { run, .. } = open.stage() {
            self.hand_over(open, *run, TaskOrder::Work, *open.lent());
        }
    }

    /// Continues another agent's task after its question was answered.
    pub(crate) fn delegate_again(&mut self, open: &OpenCall, answer: Answer) {
        let Stage::DelegateAsks { run, question } = open.stage().clone() else { return };
        let order = TaskOrder::Answer(Box::new(InputReceived { question, answer, by: self.by.clone() }));
        self.hand_over(open, run, order, *open.lent());
    }

    pub(crate) fn delegation_ended(&mut self, action: ActionId, done: Done) -> Decided {
        let Some(open) = self.delegated(action) else { return Err(self.unknown(action)) };
        let Done { outcome, usage, cost, reserved } = done;
        // What a delegate says when it is made to stop is no failure of its own (E19).
        let interrupted = self.state.stopping() && outcome.may_retry();
        let outcome = if interrupted { CallOutcome::Interrupted } else { outcome };
        self.record(DelegationFinished { call: open.call.id, outcome, usage, cost, reserved });
        self.go_on();
        Ok(())
    }
}

/// Outcome and usage of a task.
pub(crate) struct Done {
    pub(crate) outcome: CallOutcome,
    pub(crate) usage: Usage,
    pub(crate) cost: Option<u64>,
    pub(crate) reserved: Amount,
}

impl Done {
    /// It used nothing.
    pub(crate) fn unpaid(outcome: CallOutcome) -> Self {
        Self { outcome, usage: Usage::default(), cost: Some(0), reserved: Amount::default() }
    }
}
