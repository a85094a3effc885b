//! Tool calls: a call that is run, and one that is asked about after a crash.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::future::{Either, FutureExt, select};
use futures_util::pin_mut;
use serde_json::Value;
use windlass_core::run::{Found, OpenCall};
use windlass_core::{ActionId, CallOutcome, InputKind};
use windlass_threads::LARGE_BYTES;
use windlass_tools::{Tool, ToolContext, ToolResult};

use crate::platform::environment::Environment;
use crate::platform::off_thread::off_thread;
use crate::platform::panics::panic_message;

/// A tool call.
pub(crate) struct ToolWork {
    pub(crate) action: ActionId,
    pub(crate) tool: Option<Arc<dyn Tool>>,
    pub(crate) context: ToolContext,
    pub(crate) args: Args,
    pub(crate) timeout_ms: u64,
    pub(crate) grace_ms: u64,
    pub(crate) environment: Arc<dyn Environment>,
}

/// The arguments of a call.
pub(crate) enum Args {
    Read(Value),
    /// Large ones are read elsewhere when the call begins.
    Large(Box<OpenCall>),
}

impl Args {
    pub(crate) fn of(open: &OpenCall) -> Self {
        if (open.args().len() as u64) < LARGE_BYTES {
            Self::Read(open.value())
        } else {
            Self::Large(Box::new(open.clone()))
        }
    }

    async fn value(self, environment: &dyn Environment) -> Value {
        match self {
            Self::Read(value) => value,
            Self::Large(open) => {
                let bytes = open.args().len() as u64;
                Box::pin(off_thread(environment, bytes, move || open.value())).await
            }
        }
    }
}

impl ToolWork {
    pub(crate) async fn run(self) -> InputKind {
        let Self { action, tool, context, args, timeout_ms, grace_ms, environment } = self;
        let Some(tool) = tool else {
            return InputKind::CallEnded {
                action,
                outcome: CallOutcome::UnknownTool { nearest: Vec::new() },
            };
        };
        let args = args.value(&*environment).await;
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
        let Self { action, tool, context, args, timeout_ms, grace_ms, environment } = self;
        let found = match tool {
            None => Found::Unsure,
            Some(tool) => {
                let args = args.value(&*environment).await;
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

/// The end of a call by itself: its outcome, or that its answer is lost.
fn ended_as(action: ActionId, ended: Result<ToolResult, Box<dyn Any + Send>>) -> InputKind {
    let (outcome, lost) = match ended {
        Ok(Ok(content)) => (CallOutcome::Ok { content }, false),
        Ok(Err(error)) if error.unknown_tool => (CallOutcome::UnknownTool { nearest: Vec::new() }, false),
        Ok(Err(error)) => (CallOutcome::Error { kind: error.kind, message: error.message }, error.in_doubt),
        Err(panic) => {
            let message = format!("the tool panicked: {}", panic_message(&*panic)).into();
            (CallOutcome::Error { kind: Some("panic".into()), message }, true)
        }
    };
    if lost { InputKind::CallLost { action, outcome } } else { InputKind::CallEnded { action, outcome } }
}
