//! The calls of the current turn, and how far each of them has come.

pub(crate) mod happens;
pub(crate) mod in_base;

use std::sync::Arc;

use serde_json::Value;
use windlass_text::json::{given_args, read};

use crate::protocol::fact::calls::TaskOrder;
use crate::state::approval::Gate;
use crate::state::open_call::in_base::InBase;
use crate::state::reach::Reached;
use crate::state::{Phase, State};
use crate::vocabulary::budget::Budget;
use crate::vocabulary::ids::{ActionId, CallId, Millis, QuestionId, RunId, Text};
use crate::vocabulary::message::{Content, ToolCall};
use crate::vocabulary::outcome::CallOutcome;

/// A call of the current turn that the edge can work on.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// The call as the model made it.
    pub call: ToolCall,
    /// The arguments that a person or a verifier put in place of the model's.
    pub edited: Option<Text>,
    stage: Stage,
    attempt: u32,
    /// Tries that failed: an attempt that was lost with its process is none.
    failed: u32,
    repeat: u32,
    note: Option<Text>,
    /// Text that its code printed.
    stdout: Option<Text>,
    /// The gate that a person approved: the call runs only while it matches.
    allowed: Option<Arc<Gate>>,
    /// The run that first started the call; its id is part of the idempotency key.
    key_run: Option<RunId>,
    /// Its id in an earlier try of the same code, which stands in its key.
    key_call: Option<CallId>,
    /// State of the call in the base of a fork.
    in_base: Option<Arc<InBase>>,
    /// Budget lent to the child run that does the call.
    lent: Budget,
    /// Target and arguments, if the tool reaches others by name.
    reached: Option<Reached>,
    /// The place in a log before the step that it belongs to.
    asked_at: (RunId, u64),
    origin: Origin,
    /// Whether it is an output that was found not to fit.
    rejected: bool,
    /// Whether a model has judged it.
    verified: bool,
    summing: Summing,
}

/// Whether a model sums up the result of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Summing {
    /// The result enters the conversation as it is.
    #[default]
    Off,
    /// It waits for its summary.
    Waits,
    /// This takes its place.
    Made(Content),
}

/// The origin of a call. Gate, budget, ledger and events are the same for all origins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The model, in a turn.
    Model,
    /// The hook after a step, as branches.
    Hook,
    /// The plan, as a step of code.
    Plan,
    /// Code that another call runs.
    Code {
        /// That call.
        by: CallId,
        /// Its place among the calls of the code, from 0.
        place: u32,
    },
}

impl Origin {
    /// Whether its calls are the model's own: they count as repeats, their faults are its faults, and their results are put to
    /// it as such.
    pub(crate) fn is_model(&self) -> bool {
        *self == Self::Model
    }

    /// Whether its calls count as tool calls, and reach only what is offered: all but those of hooks.
    pub(crate) fn counts(&self) -> bool {
        *self != Self::Hook
    }

    /// The call whose code makes it.
    pub(crate) fn code(&self) -> Option<&CallId> {
        if let Self::Code { by, .. } = self { Some(by) } else { None }
    }
}

impl OpenCall {
    pub(crate) fn stage(&self) -> &Stage {
        &self.stage
    }

    /// Tries that failed: an attempt that was lost with its process is none.
    pub(crate) fn failed(&self) -> u32 {
        self.failed
    }

    pub(crate) fn repeat(&self) -> u32 {
        self.repeat
    }

    /// The gate that a person approved: the call runs only while it matches.
    pub(crate) fn allowed(&self) -> Option<&Arc<Gate>> {
        self.allowed.as_ref()
    }

    /// Target and arguments, if the tool reaches others by name.
    pub(crate) fn reached(&self) -> Option<&Reached> {
        self.reached.as_ref()
    }

    /// Whether it is an output that was found not to fit.
    pub(crate) fn rejected(&self) -> bool {
        self.rejected
    }

    /// Whether a model has judged it.
    pub(crate) fn verified(&self) -> bool {
        self.verified
    }

    /// State of the call in the base of a fork.
    pub(crate) fn in_base(&self) -> Option<&InBase> {
        self.in_base.as_deref()
    }

    /// Text that its code printed.
    pub(crate) fn stdout(&self) -> Option<&str> {
        self.stdout.as_deref()
    }

    /// State in the base, if the base has made this very call with these arguments.
    pub(crate) fn known(&self) -> Option<&InBase> {
        self.in_base.as_deref().filter(|known| known.edited() == self.edited.as_ref())
    }

    /// Whether this is its end in the base, and it was never begun here.
    pub(crate) fn ran_in_base(&self, outcome: &CallOutcome) -> bool {
        self.attempt == 0 && self.known().is_some_and(|known| known.outcome() == Some(outcome))
    }

    /// The run whose key it has, if `own` runs it.
    pub(crate) fn keyed_by(&self, own: RunId) -> RunId {
        self.key_run.or_else(|| self.known().map(InBase::run)).unwrap_or(own)
    }

    /// The run and the id in its idempotency key, if `own` runs it.
    pub(crate) fn key(&self, own: RunId) -> (RunId, CallId) {
        (self.keyed_by(own), self.key_id().clone())
    }

    /// Its id in its idempotency key.
    pub(crate) fn key_id(&self) -> &CallId {
        self.key_call.as_ref().unwrap_or(&self.call.id)
    }

    /// The gate that a person is asked about or has approved.
    pub(crate) fn asked_with(&self) -> Option<&Gate> {
        if let Stage::Held { gate } = &self.stage { Some(gate) } else { self.allowed.as_deref() }
    }

    /// Budget lent to the child run that does the call.
    pub fn lent(&self) -> &Budget {
        &self.lent
    }

    /// The child run that does this call and its open question, if it has asked one.
    pub fn asks(&self) -> Option<(RunId, &QuestionId)> {
        let Stage::DelegateAsks { run, question } = &self.stage else { return None };
        Some((*run, question))
    }

    /// Its outcome, once it has one.
    pub fn outcome(&self) -> Option<&CallOutcome> {
        if let Stage::Done(outcome) = &self.stage { Some(outcome) } else { None }
    }

    /// Whether its result may enter the conversation: it has ended, and waits for no summary.
    pub(crate) fn has_result(&self) -> bool {
        matches!(self.stage, Stage::Done(_)) && !self.waits_for_summary()
    }

    /// Whether its result waits for a summary.
    pub(crate) fn waits_for_summary(&self) -> bool {
        self.summing == Summing::Waits
    }

    /// Whether it was started, here or in a run before.
    pub(crate) fn was_started(&self) -> bool {
        self.key_run.is_some()
    }

    /// Whether its code has begun and has not ended.
    pub(crate) fn is_coding(&self) -> bool {
        matches!(self.stage, Stage::Coding { .. } | Stage::CodeWaits)
    }

    /// Whether an action of the edge is going on for it.
    pub(crate) fn in_flight(&self) -> bool {
        match self.stage {
            Stage::Running { .. } | Stage::Coding { .. } | Stage::Delegated { .. } => true,
            Stage::Doubted { asked, .. } => asked == Asked::Tool,
            Stage::Queued
            | Stage::Verifying
            | Stage::Held { .. }
            | Stage::Asking
            | Stage::CodeWaits
            | Stage::DelegateAsks { .. }
            | Stage::DelegateDeferred { .. }
            | Stage::Retrying { .. }
            | Stage::Done(_) => false,
        }
    }

    /// The attempt that is going on or was the last one, from 1; 0: it has not begun.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Position of the conversation before the step that the call belongs to, as a run and its number of events. A branch
    /// started by the call continues from there.
    pub fn asked_at(&self) -> (RunId, u64) {
        self.asked_at
    }

    /// The origin of the call.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The arguments that it runs with, as JSON text: those of what it reaches, where its tool reaches others by name.
    pub fn args(&self) -> &str {
        let own = self.reached.as_ref().map_or(&*self.call.args, |reached| reached.args());
        given_args(self.edited.as_deref().unwrap_or(own))
    }

    /// The arguments that it runs with. This is the one reading of them: what is checked, shown to people and given to
    /// the tool. Of two fields of one name the last one counts.
    pub fn value(&self) -> Value {
        read(self.args()).unwrap_or_default()
    }
}

/// The party that settles whether a call in doubt happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The tool's own check.
    Tool,
    /// A person.
    Person,
}

/// Stage of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stage {
    /// Nothing stands against it: it runs as soon as there is room.
    Queued,
    /// A model judges it.
    Verifying,
    /// It waits for a person's decision.
    Held { gate: Arc<Gate> },
    /// The tool itself is a question to a person.
    Asking,
    /// It runs.
    Running { seq: u64 },
    /// Its code runs.
    Coding { seq: u64 },
    /// Its code waits for the results of its last calls.
    CodeWaits,
    /// Another agent does it.
    Delegated { seq: u64, run: RunId, order: TaskOrder },
    /// The other agent has asked something that people must answer here.
    DelegateAsks { run: RunId, question: QuestionId },
    /// The other agent waits for the quota of that model until then.
    DelegateDeferred { seq: u64, run: RunId, model: Text, until: Millis },
    /// A try failed; the next one begins at that time.
    Retrying { seq: u64, at: Millis },
    /// Its answer was lost, with the process or in the way that `lost` says: its check is asked, else a person.
    Doubted { seq: u64, asked: Asked, lost: Option<Box<CallOutcome>> },
    /// It has its result.
    Done(CallOutcome),
}

impl State {
    /// The call that this action runs.
    pub fn running_call(&self, action: ActionId) -> Option<&OpenCall> {
        let mut calls = self.open_calls();
        calls.find(|call| matches!(call.stage, Stage::Running { seq } if self.action(seq) == action))
    }

    /// The calls that have started and have no result yet: running, or in doubt.
    pub fn started_calls(&self) -> impl Iterator<Item = &OpenCall> {
        self.open_calls().filter(|open| matches!(open.stage, Stage::Running { .. } | Stage::Doubted { .. }))
    }

    /// The runs that other agents do tasks of this one in, and that have not brought their result.
    pub fn delegated_runs(&self) -> impl Iterator<Item = RunId> {
        self.open_calls().filter_map(|open| match &open.stage {
            Stage::Delegated { run, .. }
            | Stage::DelegateAsks { run, .. }
            | Stage::DelegateDeferred { run, .. } => Some(*run),
            Stage::Queued
            | Stage::Verifying
            | Stage::Held { .. }
            | Stage::Asking
            | Stage::Running { .. }
            | Stage::Coding { .. }
            | Stage::CodeWaits
            | Stage::Retrying { .. }
            | Stage::Doubted { .. }
            | Stage::Done(_) => None,
        })
    }

    /// Budgets lent to child runs without a result yet. Child runs that draw on this run's account record each call there
    /// instead.
    pub(crate) fn loans(&self) -> impl Iterator<Item = &Budget> {
        let lent = |open: &&OpenCall| {
            matches!(
                open.stage,
                Stage::Delegated { .. } | Stage::DelegateAsks { .. } | Stage::DelegateDeferred { .. }
            ) && open.lent.account != Some(self.run)
        };
        self.open_calls().filter(lent).map(|open| &open.lent)
    }

    /// The calls of the current turn that have no result yet.
    pub fn open_calls(&self) -> impl Iterator<Item = &OpenCall> {
        let calls = if let Phase::Acting(calls) = &self.phase { calls.as_slice() } else { &[] };
        calls.iter().filter(|call| !matches!(call.stage, Stage::Done(_)))
    }

    /// The calls that the code of this call has made in its current try, in their order, with and without a result.
    pub fn code_calls<'s>(&'s self, code: &'s CallId) -> impl Iterator<Item = &'s OpenCall> {
        let calls = if let Phase::Acting(calls) = &self.phase { calls.as_slice() } else { &[] };
        calls.iter().filter(move |open| open.origin.code() == Some(code))
    }

    /// The call whose code this action runs.
    pub fn running_code(&self, action: ActionId) -> Option<&OpenCall> {
        let mut calls = self.open_calls();
        calls.find(|call| matches!(call.stage, Stage::Coding { seq } if self.action(seq) == action))
    }

    /// Whether a call of the current turn has been started.
    pub fn has_started(&self, id: &CallId) -> bool {
        self.open_call(id).is_some_and(|open| open.attempt > 0)
    }

    /// Whether a fork has this end of a call from its base, without having begun it.
    pub fn has_ended_in_base(&self, id: &CallId, outcome: &CallOutcome) -> bool {
        self.open_call(id).is_some_and(|open| open.ran_in_base(outcome))
    }

    /// The idempotency key of a call, while its turn is going on: the same for every try, in every run that goes on with it.
    pub fn call_key(&self, id: &CallId) -> Option<Text> {
        let open = self.open_call(id)?;
        Some(format!("{}:{}", open.keyed_by(self.run), open.key_id()).into())
    }
}
