//! Tasks of other agents in this process: each is a run of its own, which is driven here.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use windlass_core::budget::Amount;
use windlass_core::event::{InputReceived, ResumedBy, RunInput};
use windlass_core::model::Usage;
use windlass_core::policy::LimitKind;
use windlass_core::run::QuotaWait;
use windlass_core::text::fenced_message;
use windlass_core::{CallOutcome, InputKind, Message, State, Status, Text};
use windlass_error::in_full;
use windlass_read::{load, start_of};
use windlass_store::{Log, StoreError};
use windlass_tools::Bound;

use crate::agent::Agent;
use crate::agent::delegates::{AgentDelegate, Delegate, Task, TaskEnd};
use crate::driver::control::post_request;
use crate::driver::options::DriveOptions;
use crate::driver::run::Run;
use crate::driver::starting::{Beginning, begin};
use crate::driver::taking_over::{OtherAgent, take_over};
use crate::platform::account::open_reservations;
use crate::platform::error::Error;
use crate::work::prepared::Prepared;

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
            let prepare = async {
                let mut messages = task.context.clone();
                messages.push(Message::TaskDelegation { content: task.task.as_str().into() });
                begin(&agent, Beginning::of_task(&task, messages.into())).await.map(Prepared::new)
            };
            match carry_on(&agent, &task, Box::pin(prepare)).await {
                Ok(Some(run)) if is_detached(&task, &run) => TaskEnd::Detached,
                Ok(Some(run)) => end_of(&agent, &run),
                Ok(None) => failed(CallOutcome::Interrupted),
                Err(error) => {
                    let message = in_full(&error).into();
                    cannot_go_on(&agent, &task, error, CallOutcome::Error { kind: None, message }).await
                }
            }
        })
    }
}

/// Brings the run of a task as far as it goes: `prepare` prepares it if it has not begun. `None`: it had not begun, and is
/// not wanted any more.
pub(crate) async fn carry_on(
    agent: &Agent,
    task: &Task,
    prepare: BoxFuture<'_, Result<Prepared, Error>>,
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
            match post_request(agent, task.run, what, None).await {
                Ok(_) | Err(Error::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Prepared::new(take_over(agent, task.run, None, OtherAgent::Allowed, options).await?)
    } else if task.cancel.is_cancelled() {
        return Ok(None);
    } else {
        prepare.await?
    };
    let prepared = prepared.detaching_with(&task.detach).drawing_on(task);
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
    let mut parent = Some(task.parent);
    while let Some(run) = parent {
        if child.parent == Some(run) {
            return Ok(());
        }
        let start = start_of(log, run).await?;
        let forks = matches!(start.input, RunInput::Fork(_));
        parent = start.base.filter(|_| forks).map(|base| base.run);
    }
    Err(Error::NotHandedOver { run: task.run, parent: task.parent })
}

/// Whether a task was detached from, and did not come to its end just then.
pub(crate) fn is_detached(task: &Task, run: &Run) -> bool {
    task.detach.is_cancelled() && !run.state().is_finished()
}

fn end_of(agent: &Agent, run: &Run) -> TaskEnd {
    let state = run.state();
    let Some(end) = state.ended() else {
        return match state.questions().first() {
            Some(question) => TaskEnd::Asks(Box::new(question.clone())),
            None => waits(state).unwrap_or_else(|| spent(CallOutcome::Interrupted, state)),
        };
    };
    if let Some(outcome) = inactive(agent, state) {
        return spent(outcome, state);
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
pub(crate) fn inactive(agent: &Agent, state: &State) -> Option<CallOutcome> {
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
        Ok(state) => open_reservations(log, state).await,
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
    let message = |at: usize| state.history().get(at).filter(|message| !message.instructs());
    let places = (0..finished).rev().filter_map(message).take(memory.context_limit as usize);
    let mut messages: Vec<_> = places.map(|message| fenced_message(message, results).into_owned()).collect();
    messages.reverse();
    messages
}
