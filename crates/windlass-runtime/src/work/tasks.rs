//! Tasks: a call that another agent, or a branch, does.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::FutureExt;
use windlass_core::budget::Amount;
use windlass_core::model::Usage;
use windlass_core::{ActionId, CallId, CallOutcome, InputKind, State};
use windlass_store::StoreError;

use crate::agent::Agent;
use crate::agent::delegates::{Task, TaskEnd};
use crate::platform::off_thread::off_thread;
use crate::platform::panics::panic_message;
use crate::work::branches::BranchWork;
use crate::work::delegates::context_of;

/// Lets another agent, or a branch, do the task that a call means. `None`: there is none of that name any more.
pub(crate) async fn hand_over(
    agent: Agent,
    state: Arc<State>,
    call: CallId,
    mut task: Task,
) -> Option<TaskEnd> {
    let environment = agent.environment().clone();
    let args = state.open_call(&call)?.args().len() as u64;
    let bytes = state.history().bytes().saturating_add(args);
    let end = off_thread(&*environment, bytes, move || {
        let open = state.open_call(&call)?;
        if open.reaches() {
            return BranchWork::of(&agent, &state, open, task).map(|branch| branch.run().boxed());
        }
        let delegate = agent.delegate(&open.call.name)?;
        let args = open.value();
        args.get("task").and_then(|task| task.as_str()).unwrap_or_default().clone_into(&mut task.task);
        task.context = context_of(&state);
        Some(delegate.run(task))
    });
    Some(end.await?.await)
}

/// Lets another agent do a task: `end` gives nothing where there is no such agent. `None`: it was detached from.
///
/// # Errors
/// The log failed under it.
pub(crate) async fn ended_task(
    action: ActionId,
    end: BoxFuture<'static, Option<TaskEnd>>,
) -> Result<Option<InputKind>, Arc<StoreError>> {
    let failed = |message: String| TaskEnd::Done {
        outcome: CallOutcome::Error { kind: None, message: message.into() },
        usage: Usage::default(),
        cost: Some(0),
        reserved: Amount::default(),
    };
    let end = match AssertUnwindSafe(end).catch_unwind().await {
        Ok(Some(end)) => end,
        Ok(None) => failed("the agent no longer has this delegate".to_owned()),
        Err(panic) => failed(format!("the delegate panicked: {}", panic_message(&*panic))),
    };
    Ok(Some(match end {
        TaskEnd::LogFailed(error) => return Err(error),
        TaskEnd::Detached => return Ok(None),
        TaskEnd::Done { outcome, usage, cost, reserved } => {
            InputKind::DelegateEnded { action, outcome, usage, cost, reserved }
        }
        TaskEnd::Waits { model, until } => InputKind::DelegateDeferred { action, model, until },
        TaskEnd::Asks(asked) => InputKind::DelegateAsks {
            action,
            question: asked.id,
            kind: asked.kind,
            text: asked.text,
            suggestions: asked.suggestions,
        },
    }))
}
