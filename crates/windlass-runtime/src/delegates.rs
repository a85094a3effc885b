//! Delegates: other agents that a run hands tasks to, each offered as a tool of its name.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_core::budget::{Amount, Budget};
use windlass_core::event::{InputReceived, Millis, ResumedBy, RunInput};
use windlass_core::model::Usage;
use windlass_core::policy::LimitKind;
use windlass_core::run::{OpenQuestion, QuotaWait};
use windlass_core::text::fenced_message;
use windlass_core::tool::{Offer, ToolKind};
use windlass_core::{CallOutcome, InputKind, Message, Owner, RunId, State, Status, Text, ToolSpec};
use windlass_read::{load, start_of};
use windlass_store::{Log, StoreError};
use windlass_tools::Bound;

use crate::account::{SharedAccount, open_below};
use crate::agent::Agent;
use crate::error::Error;
use crate::run::{Another, DriveOptions, Prepared, Run};
use crate::starting::Beginning;

/// Another agent that does tasks.
pub trait Delegate: Send + Sync + std::fmt::Debug {
    /// Its name: the tool's name.
    fn name(&self) -> &str;

    /// Description for the model.
    fn description(&self) -> &str;

    /// Whether it can be reached: others are known to the model as unavailable, and tried again later.
    fn available(&self) -> bool {
        true
    }

    /// A model that it may ask and whose price is unknown: agents with a limit on cost cannot have such a delegate. Default:
    /// none.
    fn unpriced(&self) -> Option<Text> {
        None
    }

    /// Binding of its tasks: part of the digest of agents that have it, and of approvals. It excludes the current address.
    /// Default: empty.
    fn binding(&self) -> Vec<Bound> {
        Vec::new()
    }

    /// Does a task. A take-over and an answered question ask for the same run again.
    fn run(&self, task: Task) -> BoxFuture<'static, TaskEnd>;

    /// It as a tool.
    fn spec(&self) -> ToolSpec {
        let parameters = json!({
            "type": "object",
            "properties": { "task": { "type": "string", "description": "What to do, in words" } },
            "required": ["task"]
        });
        // A repeat continues the same child run, whose calls have their own effects.
        let mut spec = ToolSpec::read_only(self.name(), self.description(), parameters);
        spec.kind = ToolKind::Delegate;
        spec.origin = "agents".into();
        if !self.available() {
            spec.offer = Offer::Unreachable;
        }
        spec
    }
}

/// A task for another agent.
#[derive(Clone, Debug)]
pub struct Task {
    /// The run that does it.
    pub run: RunId,
    /// The owner of the parent run, and of this one.
    pub owner: Owner,
    /// The parent run.
    pub parent: RunId,
    /// The task in words.
    pub task: String,
    /// The last messages of the parent's conversation, where its policy hands them on (KAOS).
    pub context: Vec<Message>,
    /// The answer to the question that the task ended with the last time.
    pub answer: Option<InputReceived>,
    /// Cancelled when the task is no longer wanted. If it is cancelled from the start, the parent is being stopped: cancel the
    /// child run if it was started, and do not work on it.
    pub cancel: CancellationToken,
    /// The authority that resumed the parent run ([`DriveOptions::resumed_by`]).
    pub resumed_by: ResumedBy,
    /// Ends when this process is to end: work is stopped, the run that does the task stays as it is, and the task ends as
    /// [`TaskEnd::Left`].
    pub leave: CancellationToken,
    /// Part of the parent's limits that the child run may use.
    pub budget: Budget,
    /// After how many milliseconds without content, a tool's result or usage the child run is to end; `None`: never.
    pub stall_ms: Option<u64>,
    /// Account for its model calls, where limits are shared.
    pub(crate) account: Option<Arc<SharedAccount>>,
}

/// The end of a task, or its wait for a person.
#[derive(Clone, Debug)]
pub enum TaskEnd {
    /// It is done, or cannot be.
    Done {
        /// The outcome.
        outcome: CallOutcome,
        /// Tokens used.
        usage: Usage,
        /// Cost in pico-dollars; `None`: unknown.
        cost: Option<u64>,
        /// Reservations for model calls lost with their process; they may have been charged.
        reserved: Amount,
    },
    /// The child run was laid down. When the parent run is resumed, the task is delegated again.
    Left,
    /// The log failed under it: the run that handed the task over ends with that error, and can be resumed.
    LogFailed(Arc<StoreError>),
    /// It waits for a person: the question is put to people at the parent.
    Asks(Box<OpenQuestion>),
    /// It waits for the quota of a model, and holds nothing: the parent asks for the same run again then.
    Waits {
        /// The model.
        model: Text,
        /// When its quota opens.
        until: Millis,
    },
}

/// An agent in this process as a delegate. Its runs are in its own log.
#[derive(Debug)]
pub struct AgentDelegate {
    agent: Agent,
}

impl AgentDelegate {
    /// That agent.
    pub fn new(agent: Agent) -> Self {
        Self { agent }
    }
}

impl Delegate for AgentDelegate {
    fn name(&self) -> &str {
        self.agent.name()
    }

    fn description(&self) -> &str {
        self.agent.description()
    }

    fn unpriced(&self) -> Option<Text> {
        self.agent.unpriced()
    }

    fn binding(&self) -> Vec<Bound> {
        self.agent.binding()
    }

    fn run(&self, task: Task) -> BoxFuture<'static, TaskEnd> {
        let agent = self.agent.clone();
        Box::pin(async move {
            let begin = async {
                let mut messages = task.context.clone();
                messages.push(Message::TaskDelegation { content: task.task.as_str().into() });
                agent.begin(Beginning::of_task(&task, messages.into())).await
            };
            match carry_on(&agent, &task, Box::pin(begin)).await {
                Ok(Some(run)) if is_left(&task, &run) => TaskEnd::Left,
                Ok(Some(run)) => end_of(&agent, &run),
                Ok(None) => failed(CallOutcome::Interrupted),
                Err(error) => {
                    let message = crate::error::in_full(&error).into();
                    cannot_go_on(&agent, &task, error, CallOutcome::Error { kind: None, message }).await
                }
            }
        })
    }
}

/// Brings the run of a task as far as it goes: `begin` prepares it if it has not begun. `None`: it had not begun, and is
/// not wanted any more.
pub(crate) async fn carry_on(
    agent: &Agent,
    task: &Task,
    begin: BoxFuture<'_, Result<Prepared, Error>>,
) -> Result<Option<Run>, Error> {
    // No questions are asked here: they are raised at the root, from any depth.
    // A run that is only being ended calls no model.
    let resumed_by = if task.cancel.is_cancelled() { ResumedBy::Person } else { task.resumed_by };
    let options = DriveOptions { resumed_by, ..DriveOptions::default() };
    let known = match agent.log().summary(task.run).await {
        Ok(_) => true,
        Err(StoreError::UnknownRun { .. }) => false,
        Err(error) => return Err(Error::Log(error)),
    };
    let prepared = if known {
        handed_over(&**agent.log(), task).await?;
        let run = Run::load(&**agent.log(), task.run).await?;
        if run.state().is_finished() {
            return Ok(Some(run));
        }
        if let Some(InputReceived { question, answer, by }) = &task.answer {
            let what =
                InputKind::Answered { question: question.clone(), answer: answer.clone(), by: by.clone() };
            // A question that was answered already needs no answer: the process died after it was.
            match agent.post(task.run, what).await {
                Ok(_) | Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        agent.take_over(task.run, None, Another::Allowed, options).await?
    } else if task.cancel.is_cancelled() {
        return Ok(None);
    } else {
        begin.await?
    };
    let prepared = prepared.leaving_with(&task.leave).drawing_on(task);
    let handle = prepared.handle();
    let stop = || InputKind::Cancel { reason: Some("the parent run stopped it".into()) };
    if task.cancel.is_cancelled() {
        // It hears of that before any of its work begins again.
        handle.send_now(stop());
        return prepared.drive().await.map(Some);
    }
    let cancelled = task.cancel.cancelled();
    futures_util::pin_mut!(cancelled);
    let driven = prepared.drive().boxed();
    match select(driven, cancelled).await {
        Either::Left((run, _)) => run.map(Some),
        Either::Right(((), driven)) => {
            handle.send_now(stop());
            driven.await.map(Some)
        }
    }
}

/// Refuses a run that was not handed over by the task's parent, or by the run that this one is a fork of: a forged import
/// must not lead into runs of others.
async fn handed_over(log: &dyn Log, task: &Task) -> Result<(), Error> {
    let child = start_of(log, task.run).await?;
    let mut above = Some(task.parent);
    while let Some(run) = above {
        if child.parent == Some(run) {
            return Ok(());
        }
        let start = start_of(log, run).await?;
        let forks = matches!(start.input, RunInput::Fork(_));
        above = start.base.filter(|_| forks).map(|base| base.run);
    }
    Err(Error::NotHandedOver { run: task.run, parent: task.parent })
}

/// Whether a task was laid down, and did not come to its end just then.
pub(crate) fn is_left(task: &Task, run: &Run) -> bool {
    task.leave.is_cancelled() && !run.state().is_finished()
}

fn end_of(agent: &Agent, run: &Run) -> TaskEnd {
    let state = run.state();
    let Some(end) = state.ended() else {
        return match state.questions().first() {
            Some(question) => TaskEnd::Asks(Box::new(question.clone())),
            None => waits(state).unwrap_or_else(|| spent(CallOutcome::Interrupted, state)),
        };
    };
    if let Some(stalled) = stalled(agent, state) {
        return spent(stalled, state);
    }
    let text = || end.text.as_deref().unwrap_or_default();
    let outcome = match end.status {
        Status::Answered | Status::Concluded | Status::Clarification => CallOutcome::Ok {
            content: match &end.output {
                Some(output) => output.to_string().into(),
                None => text().into(),
            },
        },
        Status::Cancelled => CallOutcome::Interrupted,
        status @ (Status::Limit(_) | Status::Failed(_)) => {
            let why = end.error.as_deref().unwrap_or_else(text);
            let message = format!("Agent {} ended as {status}: {why}", agent.name());
            CallOutcome::Error {
                kind: Some(status.name().into()),
                message: message.trim_end_matches(": ").into(),
            }
        }
    };
    spent(outcome, state)
}

/// The wait of a task whose run is suspended for a quota.
pub(crate) fn waits(state: &State) -> Option<TaskEnd> {
    let QuotaWait { model, until } = state.quota_wait()?;
    Some(TaskEnd::Waits { model, until })
}

/// Outcome of a task whose run brought nothing for too long.
pub(crate) fn stalled(agent: &Agent, state: &State) -> Option<CallOutcome> {
    let stall = LimitKind::StallSeconds;
    let cut = state.cut_by().filter(|cut| cut.limit == stall && state.is_finished())?;
    let message = format!("Agent {} stalled: {}", agent.name(), stall.amount(cut.max));
    Some(CallOutcome::Error { kind: Some("stalled".into()), message: message.into() })
}

/// That end of a task, with what its run used.
pub(crate) fn spent(outcome: CallOutcome, state: &State) -> TaskEnd {
    let (usage, cost) = (*state.usage(), state.cost());
    TaskEnd::Done { outcome, usage, cost, reserved: state.reserved_if_lost() }
}

fn failed(outcome: CallOutcome) -> TaskEnd {
    TaskEnd::Done { outcome, usage: Usage::default(), cost: Some(0), reserved: Amount::default() }
}

/// Outcome of a task whose run cannot begin or continue, with the usage so far.
pub(crate) async fn cannot_go_on(agent: &Agent, task: &Task, error: Error, outcome: CallOutcome) -> TaskEnd {
    let log = &**agent.log();
    if let Error::Log(error) = error {
        return TaskEnd::LogFailed(Arc::new(error));
    }
    // The run belongs to another holder.
    if matches!(error, Error::NotHandedOver { .. }) {
        return failed(outcome);
    }
    let state = load(log, task.run).await.map_err(Error::from);
    let reserved = match &state {
        Ok(state) => open_below(log, state).await,
        Err(_) => Ok(Amount::default()),
    };
    match (state, reserved) {
        (Ok(state), Ok(reserved)) => {
            TaskEnd::Done { outcome, usage: *state.usage(), cost: state.cost(), reserved }
        }
        (Err(Error::Log(StoreError::UnknownRun { .. })), _) => failed(outcome),
        (Err(Error::Log(error)), _) | (_, Err(Error::Log(error))) => TaskEnd::LogFailed(Arc::new(error)),
        _ => failed(outcome),
    }
}

/// The messages that go along with a task: the last ones before the unfinished step, without instructions, as text where
/// the parent's wire is text.
pub(crate) fn context_of(state: &State) -> Vec<Message> {
    let Some(memory) = state.policy().past.memory.bounds() else { return Vec::new() };
    let finished = state.history().len() - 1;
    let results = &state.policy().wording.results;
    let said = |at: usize| state.history().get(at).filter(|said| !said.instructs());
    let places = (0..finished).rev().filter_map(said).take(memory.context_limit as usize);
    let mut messages: Vec<_> = places.map(|message| fenced_message(message, results).into_owned()).collect();
    messages.reverse();
    messages
}
