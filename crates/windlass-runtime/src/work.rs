//! Work: how each action of the core is carried out, and how its end becomes an input. Model calls have a room of their own.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::future::{Either, FutureExt, select};
use futures_util::pin_mut;
use tokio_util::sync::CancellationToken;
use windlass_core::budget::Amount;
use windlass_core::model::{Prices, Usage};
use windlass_core::run::{Found, OpenCall, OpenQuestion};
use windlass_core::{ActionId, CallId, CallOutcome, InputKind, State, Text};
use windlass_store::StoreError;
use windlass_threads::LARGE_BYTES;
use windlass_tools::{Lease, Tool, ToolContext, ToolResult};

use crate::delegates::TaskEnd;
use crate::environment::Environment;
use crate::hooks::{self, Step, StepHook};
use crate::off_thread::off_thread;
use crate::people::People;

/// The message of a panic.
pub(crate) fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}

/// A tool call.
pub(crate) struct ToolWork {
    pub(crate) action: ActionId,
    pub(crate) tool: Option<Arc<dyn Tool>>,
    pub(crate) context: ToolContext,
    /// The call, whose arguments are read when it begins.
    pub(crate) open: Box<OpenCall>,
    pub(crate) timeout_ms: u64,
    pub(crate) grace_ms: u64,
    pub(crate) environment: Arc<dyn Environment>,
}

/// The context of a tool call. The idempotency key is the same for every attempt, also in a fork.
pub(crate) fn context(
    state: &State,
    call: &CallId,
    attempt: u32,
    cancelled: CancellationToken,
) -> Option<ToolContext> {
    let idempotency_key = state.call_key(call)?;
    let lease = Lease::none();
    Some(ToolContext { run: state.run(), call: call.clone(), attempt, idempotency_key, cancelled, lease })
}

impl ToolWork {
    pub(crate) async fn run(self) -> InputKind {
        let Self { action, tool, context, open, timeout_ms, grace_ms, environment } = self;
        let Some(tool) = tool else {
            return InputKind::CallEnded {
                action,
                outcome: CallOutcome::UnknownTool { nearest: Vec::new() },
            };
        };
        let args = value(&*environment, open).await;
        let cancelled = context.cancelled.clone();
        if cancelled.is_cancelled() {
            // It was stopped before it began: nothing of it is done.
            return InputKind::CallEnded { action, outcome: CallOutcome::Interrupted };
        }
        let call = AssertUnwindSafe(async {
            // The process may have been stopped since the start was made durable, and the run taken over.
            context.lease.confirm().await?;
            tool.call(context, args).await
        });
        let call = call.catch_unwind();
        pin_mut!(call);
        let deadline = environment.sleep_until(environment.now().saturating_add(timeout_ms));
        let stopped = cancelled.cancelled();
        pin_mut!(stopped);
        match select(&mut call, select(deadline, stopped)).await {
            Either::Left((ended, _)) => ended_as(action, ended),
            Either::Right((Either::Left(_), _)) => {
                // Out of time: it is asked to stop, and has its grace for that; its late result no longer counts.
                cancelled.cancel();
                let grace = environment.sleep_until(environment.now().saturating_add(grace_ms));
                if let Either::Left((Ok(Err(error)), _)) = select(&mut call, grace).await
                    && error.unsent
                {
                    // It never began, so nothing is lost.
                    return ended_as(action, Ok(Err(error)));
                }
                InputKind::CallLost { action, outcome: CallOutcome::TimedOut { after_ms: timeout_ms } }
            }
            Either::Right((Either::Right(_), _)) => {
                match select(&mut call, environment.sleep_until(environment.now().saturating_add(grace_ms)))
                    .await
                {
                    // It ended nevertheless: its result is kept, because it happened.
                    Either::Left((Ok(Ok(content)), _)) => {
                        InputKind::CallEnded { action, outcome: CallOutcome::Ok { content } }
                    }
                    // Its own word that it did not happen.
                    Either::Left((Ok(Err(error)), _)) if !error.in_doubt => {
                        InputKind::CallEnded { action, outcome: CallOutcome::Interrupted }
                    }
                    Either::Left(_) => InputKind::CallLost { action, outcome: CallOutcome::Interrupted },
                    Either::Right(_) => InputKind::CallLost { action, outcome: CallOutcome::Abandoned },
                }
            }
        }
    }

    /// Asks the tool whether a call happened before a crash.
    pub(crate) async fn check(self) -> InputKind {
        let Self { action, tool, context, open, timeout_ms, grace_ms, environment } = self;
        let found = match tool {
            None => Found::Unsure,
            Some(tool) => {
                let args = value(&*environment, open).await;
                let cancelled = context.cancelled.clone();
                let check = AssertUnwindSafe(async { tool.check(context, args).await }).catch_unwind();
                pin_mut!(check);
                let deadline = environment.sleep_until(environment.now().saturating_add(timeout_ms));
                let overdue = async {
                    cancelled.cancelled().await;
                    environment.sleep_until(environment.now().saturating_add(grace_ms)).await;
                };
                pin_mut!(overdue);
                match select(check, select(deadline, overdue)).await {
                    Either::Left((Ok(Ok(Some(outcome))), _)) => Found::Happened(outcome),
                    Either::Left((Ok(Ok(None)), _)) => Found::NotHappened,
                    Either::Left(_) | Either::Right(_) => Found::Unsure,
                }
            }
        };
        InputKind::Checked { action, found }
    }
}

/// The arguments of a call.
async fn value(environment: &dyn Environment, open: Box<OpenCall>) -> serde_json::Value {
    let bytes = open.args().len() as u64;
    if bytes < LARGE_BYTES {
        open.value()
    } else {
        Box::pin(off_thread(environment, bytes, move || open.value())).await
    }
}

/// The end of a call by itself: its outcome, or that its answer is lost.
fn ended_as(action: ActionId, ended: Result<ToolResult, Box<dyn Any + Send>>) -> InputKind {
    let (outcome, lost) = match ended {
        Ok(Ok(content)) => (CallOutcome::Ok { content }, false),
        Ok(Err(error)) if error.unknown_tool => (CallOutcome::UnknownTool { nearest: Vec::new() }, false),
        Ok(Err(error)) => (CallOutcome::Error { kind: error.kind, message: error.message }, error.in_doubt),
        Err(panic) => {
            let message = format!("the tool panicked: {}", words(&*panic)).into();
            (CallOutcome::Error { kind: Some("panic".into()), message }, true)
        }
    };
    if lost { InputKind::CallLost { action, outcome } } else { InputKind::CallEnded { action, outcome } }
}

/// Asks the interactive user a question. `None`: the user left or the code panicked; the question stays open.
pub(crate) async fn ask(people: Arc<dyn People>, state: State, question: OpenQuestion) -> Option<InputKind> {
    let id = question.id.clone();
    let answer = AssertUnwindSafe(async {
        let answer = people.ask_or_leave(&state, &question).await?;
        Some((answer, people.by()))
    })
    .catch_unwind()
    .await;
    match answer {
        Ok(answer) => answer.map(|(answer, by)| InputKind::Answered { question: id, answer, by }),
        Err(panic) => {
            tracing::error!(run = %state.run(), "the code that answers questions panicked: {}", words(&*panic));
            None
        }
    }
}

/// Whether the interactive user would answer that question; a panic counts as no.
pub(crate) fn answers(people: &dyn People, state: &State, question: &OpenQuestion) -> bool {
    catch_unwind(AssertUnwindSafe(|| people.answers(state, question))).unwrap_or(false)
}

/// Asks the agent's hook about a step.
pub(crate) async fn ask_hook(
    action: ActionId,
    hook: Option<Arc<dyn StepHook>>,
    state: State,
    prices: Arc<BTreeMap<Text, Prices>>,
) -> InputKind {
    let answer = match hook {
        Some(hook) => {
            let asked = AssertUnwindSafe(async { hook.on_step(Step::of(&state)).await }).catch_unwind().await;
            asked.unwrap_or_else(|panic| Err(format!("the hook panicked: {}", words(&*panic))))
        }
        // A run that is resumed by an agent without a hook continues without one.
        None => Ok(Step::of(&state)),
    };
    InputKind::HookEnded { action, edits: Box::new(hooks::edits(&state, &prices, answer)) }
}

/// Lets another agent do a task: `end` gives nothing where there is no such agent. `None`: it was laid down.
///
/// # Errors
/// The log failed under it.
pub(crate) async fn delegate(
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
        Err(panic) => failed(format!("the delegate panicked: {}", words(&*panic))),
    };
    Ok(Some(match end {
        TaskEnd::LogFailed(error) => return Err(error),
        TaskEnd::Left => return Ok(None),
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
