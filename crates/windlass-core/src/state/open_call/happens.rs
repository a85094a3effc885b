//! The events in the life of an open call.

use std::sync::Arc;

use crate::protocol::fact::InputRequested;
use crate::protocol::fact::calls::{CallFinished, DelegationDeferred, DelegationStarted, TaskOrder};
use crate::protocol::fact::fork::Fork;
use crate::state::approval::Gate;
use crate::state::open_call::in_base::{InBase, PriorCall, prior_calls};
use crate::state::open_call::{Asked, OpenCall, Origin, Stage, Summing};
use crate::state::reach::Reached;
use crate::vocabulary::budget::Budget;
use crate::vocabulary::ids::{Millis, RunId, Text};
use crate::vocabulary::message::{Content, ToolCall};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::question::QuestionKind;

impl OpenCall {
    /// A call that nothing has been decided on: the `repeat`th equal one in a row.
    pub(crate) fn new(
        call: ToolCall,
        origin: Origin,
        repeat: u32,
        reached: Option<Reached>,
        asked_at: (RunId, u64),
    ) -> Self {
        Self {
            repeat,
            reached,
            call,
            edited: None,
            allowed: None,
            stage: Stage::Queued,
            attempt: 0,
            failed: 0,
            note: None,
            stdout: None,
            key_run: None,
            key_call: None,
            in_base: None,
            lent: Budget::default(),
            asked_at,
            origin,
            rejected: false,
            verified: false,
            summing: Summing::Off,
        }
    }

    /// The call comes to this stage.
    pub(crate) fn comes_to(&mut self, stage: Stage) {
        self.stage = stage;
    }

    /// The run `own` starts the call, whose key is of the run that started it first.
    pub(crate) fn started(&mut self, own: RunId, attempt: u32, stage: Stage) {
        self.key_run = Some(self.keyed_by(own));
        self.attempt = attempt;
        self.stage = stage;
    }

    /// Another agent does the call.
    pub(crate) fn delegated(&mut self, started: &DelegationStarted, seq: u64) {
        self.attempt = started.attempt;
        self.lent = started.budget;
        self.stage = Stage::Delegated { seq, run: started.run, order: started.order.clone() };
    }

    /// The other agent waits for a quota.
    pub(crate) fn deferred(&mut self, waits: &DelegationDeferred, seq: u64) {
        if let Stage::Delegated { run, .. } = self.stage {
            self.stage = Stage::DelegateDeferred { seq, run, model: waits.model.clone(), until: waits.until };
        }
    }

    /// A try has failed; the next one begins then.
    pub(crate) fn try_failed(&mut self, seq: u64, at: Millis) {
        self.failed += 1;
        self.stage = Stage::Retrying { seq, at };
    }

    /// A person is asked about the call, or by it.
    pub(crate) fn put_to_person(&mut self, asked: &InputRequested) {
        if let (Some(question), Stage::Delegated { run, .. }) = (&asked.child_question, &self.stage) {
            self.stage = Stage::DelegateAsks { run: *run, question: question.clone() };
            return;
        }
        if asked.kind == QuestionKind::Clarify {
            self.stage = Stage::Asking;
        } else if let Stage::Doubted { asked: put, .. } = &mut self.stage
            && asked.kind == QuestionKind::Outcome
        {
            *put = Asked::Person;
        }
    }

    /// The call waits for a person's approval, which is bound to this gate.
    pub(crate) fn held(&mut self, gate: Arc<Gate>) {
        self.allowed = None;
        self.stage = Stage::Held { gate };
    }

    /// A person lets the call run, possibly with other arguments. Returns the gate that was approved, unless they are others.
    pub(crate) fn released(&mut self, edited: Option<&Text>) -> Option<Arc<Gate>> {
        if let Some(args) = edited {
            self.edited = Some(args.clone());
        }
        let asked = std::mem::replace(&mut self.stage, Stage::Queued);
        if let (Stage::Held { gate }, None) = (asked, edited) { Some(gate) } else { None }
    }

    /// The call may run while this gate holds.
    pub(crate) fn allow(&mut self, gate: Arc<Gate>) {
        self.allowed = Some(gate);
    }

    /// A model has judged the call, possibly with other arguments.
    pub(crate) fn judged(&mut self, args: Option<&Text>) {
        self.verified = true;
        self.edited = args.cloned().or(self.edited.take());
        self.stage = Stage::Queued;
    }

    /// The call is an output that was found not to fit.
    pub(crate) fn output_rejected(&mut self) {
        self.rejected = true;
    }

    /// The call has its outcome, which waits for its summary if a model `sums_up`. Whether the base ran it, not the run `own`.
    pub(crate) fn finished(&mut self, finished: &CallFinished, sums_up: bool, own: RunId) -> bool {
        self.summing = if sums_up { Summing::Waits } else { Summing::Off };
        let ran_in_base =
            self.ran_in_base(&finished.outcome) && self.known().is_some_and(|known| known.run() != own);
        self.stage = Stage::Done(finished.outcome.clone());
        self.note.clone_from(&finished.note);
        ran_in_base
    }

    /// The summary of its result has this outcome.
    pub(crate) fn settles(&mut self, summing: Summing) {
        self.summing = summing;
    }

    /// Takes out its outcome, if it has one.
    pub(crate) fn take_outcome(&mut self) -> Option<CallOutcome> {
        let stage = std::mem::replace(&mut self.stage, Stage::Queued);
        if let Stage::Done(outcome) = stage { Some(outcome) } else { None }
    }

    /// Takes out the summary of its result, if one was made.
    pub(crate) fn take_summary(&mut self) -> Option<Content> {
        if let Summing::Made(content) = std::mem::take(&mut self.summing) { Some(content) } else { None }
    }

    /// The note that goes with its result.
    pub(crate) fn into_note(self) -> Option<Text> {
        self.note
    }

    /// Its code has printed that.
    pub(crate) fn printed(&mut self, stdout: Option<&Text>) {
        self.stdout = stdout.cloned();
    }

    /// It is a call of code: it belongs to the step that the code belongs to.
    pub(crate) fn belongs_to_step(&mut self, asked_at: (RunId, u64)) {
        self.asked_at = asked_at;
    }

    /// It is a call of code that was made before. It is asked about, and known, with the arguments that it was started with.
    pub(crate) fn takes_over(&mut self, made: &PriorCall) {
        let (run, id) = made.key();
        self.key_call = Some(id.clone()).filter(|id| *id != self.call.id);
        if let Some(known) = made.known() {
            (self.attempt, self.failed) = (made.attempt(), made.failed());
            self.edited = known.edited().cloned();
            self.in_base = Some(Arc::new(known.clone()));
        } else {
            self.key_run = Some(*run);
        }
    }

    /// A later try of its code finds these calls.
    pub(crate) fn remembers(&mut self, made: Vec<PriorCall>, own: RunId) {
        let known = self.known().cloned();
        let mut known =
            known.unwrap_or_else(|| InBase::unknown(self.keyed_by(own), self.edited.clone(), self.lent));
        known.take(made);
        self.in_base = Some(Arc::new(known));
    }

    /// Turns a call begun by another run back into one that waits at the gate: it has no approval in this run, and an answer to a
    /// question of its task there does not count here. The work itself is lost; the call's effect decides what follows.
    pub(crate) fn begun_elsewhere(mut self, own: RunId) -> Self {
        let lost = matches!(self.stage, Stage::Running { .. } | Stage::Delegated { .. }) || self.is_coding();
        let ended = lost && self.known().is_some_and(|known| known.outcome().is_some());
        if ended || matches!(self.stage, Stage::Done(_)) {
            return self;
        }
        if lost {
            let begun = if let Stage::Delegated { run, .. } = self.stage { Some(run) } else { None };
            let child = begun.or_else(|| self.known().and_then(InBase::child));
            let made = self.known().map(|known| known.made().to_vec()).unwrap_or_default();
            let known = InBase::unknown(self.keyed_by(own), self.edited.clone(), self.lent);
            self.in_base = Some(Arc::new(known.with_work(child, made)));
        }
        self.allowed = None;
        self.stage = Stage::Queued;
        self
    }

    /// The call as the fork goes on with it: `Running` if it was lost or ended in the base, `Queued` if all is still open.
    pub(crate) fn taken_over(&self, fork: &Fork, base: RunId, seq: u64) -> Self {
        let mut open = self.clone();
        if matches!(open.stage, Stage::Done(_)) {
            return open;
        }
        let started = open.attempt > 0;
        if !started {
            (open.edited, open.allowed) = (None, None);
        }
        let later = fork.calls.iter().find(|started| started.call == open.call.id);
        if let Some(known) = later {
            let first = open.key_run.or_else(|| open.in_base.as_ref().map(|known| known.run()));
            let older = open.known().map(|known| known.made().to_vec()).unwrap_or_default();
            let in_base = InBase::unknown(first.unwrap_or(base), open.edited.clone(), known.budget)
                .with_outcome(known.outcome.clone())
                .with_work(known.child, prior_calls(older, &known.made, base));
            open.in_base = Some(Arc::new(in_base));
        }
        open.stage = match open.stage {
            // Another agent's task continues in the same run, which repeats its unanswered question.
            Stage::Delegated { run, order, .. } => Stage::Delegated { seq, run, order: order.going_on() },
            Stage::DelegateAsks { run, .. } | Stage::DelegateDeferred { run, .. } => {
                Stage::Delegated { seq, run, order: TaskOrder::Work }
            }
            Stage::Retrying { at, .. } if later.is_none() => Stage::Retrying { seq, at },
            // Its retry had not begun.
            Stage::Queued | Stage::Verifying | Stage::Held { .. } => Stage::Queued,
            Stage::Coding { .. } => Stage::Coding { seq },
            Stage::CodeWaits => Stage::CodeWaits,
            Stage::Asking
            | Stage::Running { .. }
            | Stage::Retrying { .. }
            | Stage::Doubted { .. }
            | Stage::Done(_) => {
                if started {
                    Stage::Running { seq }
                } else {
                    Stage::Queued
                }
            }
        };
        open
    }

    /// The same, whatever the numbers of its events and of the event before its step.
    #[cfg(test)]
    pub(crate) fn renumber(&mut self, rename: impl FnOnce(&mut u64)) {
        self.asked_at.1 = 0;
        if let Stage::Running { seq }
        | Stage::Coding { seq }
        | Stage::Delegated { seq, .. }
        | Stage::Retrying { seq, .. }
        | Stage::Doubted { seq, .. } = &mut self.stage
        {
            rename(seq);
        }
    }
}
