//! Work: how each action of the core is carried out, and how its end becomes an input.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::future::{Either, FutureExt, select};
use futures_util::{StreamExt, pin_mut};
use tokio_util::sync::CancellationToken;
use windlass_core::{
    ActionId, CallId, CallOutcome, Content, FailureKind, Found, ModelFailure, OpenQuestion, Part, Request, RunId,
    State, Text, Usage, What,
};
use windlass_models::{Assembler, Delta, Model, ModelRequest, PrefixCell, Secret};
use windlass_tools::{Tool, ToolContext, ToolResult};

use crate::people::People;
use crate::updates::{Publisher, Update};
use crate::world::World;

/// Bytes of a token, by rule of thumb, where a provider sent no count.
const BYTES_A_TOKEN: u64 = 4;

/// A model call: from the state's view to a whole reply.
pub(crate) struct ModelWork {
    pub(crate) action: ActionId,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) request: ModelRequest,
    pub(crate) publisher: Publisher,
    pub(crate) world: Arc<dyn World>,
    pub(crate) cancel: CancellationToken,
}

/// Builds the request of a model call from the state; only shared parts are cloned.
pub(crate) fn request(request: &Request<'_>, prefix: &PrefixCell, stream: bool) -> ModelRequest {
    ModelRequest {
        model: request.model.clone(),
        purpose: request.purpose,
        prompt: request.state.prompt().clone(),
        history: request.state.history().clone(),
        tools: request.state.tools().clone(),
        choice: request.choice.clone(),
        response_schema: None,
        stream,
        prefix: prefix.clone(),
    }
}

impl ModelWork {
    pub(crate) async fn run(self) -> What {
        let Self { action, model, request, publisher, world, cancel } = self;
        let name = request.model.name.clone();
        let sent: u64 = request.prompt.iter().map(|message| message.bytes()).sum::<u64>() + request.history.bytes();
        let mut deltas = model.call(request);
        let mut assembler = Assembler::new(name.clone());
        let (mut shown, mut counted) = (false, false);
        let failure = loop {
            let next = {
                let stopped = cancel.cancelled();
                pin_mut!(stopped);
                match select(deltas.next(), stopped).await {
                    Either::Left((next, _)) => next,
                    Either::Right(_) => Some(Err(ModelFailure {
                        kind: FailureKind::Cancelled,
                        status: None,
                        message: "stopped from this side".into(),
                        retry_after_ms: None,
                        usage: Usage::default(),
                        model: name.clone(),
                    })),
                }
            };
            match next {
                Some(Ok(delta)) => {
                    shown |= show(&publisher, action, &delta);
                    counted |= matches!(delta, Delta::Usage(_));
                    if let Err(failure) = assembler.push(&delta) {
                        break failure;
                    }
                }
                Some(Err(failure)) => break failure,
                None => return What::Replied { action, reply: Box::new(assembler.finish()) },
            }
        };
        let failure = ModelFailure { usage: paid(&failure, &assembler, counted, sent), ..failure };
        if shown {
            publisher.send(Update::Void { action });
        }
        What::ModelFailed { action, failure: Box::new(failure), jitter: world.chance() }
    }
}

/// What a broken call cost: the provider's count if it came, else an estimate if a reply had begun (E16, E41).
fn paid(failure: &ModelFailure, assembler: &Assembler, counted: bool, sent: u64) -> Usage {
    let began = !assembler.text().is_empty();
    let count = assembler.usage();
    if counted || failure.usage.total() > 0 || !began {
        return if failure.usage.total() > 0 { failure.usage } else { count };
    }
    let output = assembler.text().len() as u64 / BYTES_A_TOKEN;
    Usage { input: sent / BYTES_A_TOKEN, output, estimated: true, ..Usage::default() }
}

/// Passes a piece on to those who listen. Says whether there was something to see.
fn show(publisher: &Publisher, action: ActionId, delta: &Delta) -> bool {
    if !publisher.heard() {
        return false;
    }
    match delta {
        Delta::Text(text) if !text.is_empty() => {
            publisher.send(Update::Text { action, text: text.as_str().into() })
        }
        Delta::Reasoning(text) if !text.is_empty() => {
            publisher.send(Update::Reasoning { action, text: text.as_str().into() });
        }
        Delta::Call { index, name, args, .. } => publisher.send(Update::Call {
            action,
            index: *index,
            name: name.as_deref().map(Into::into),
            args: args.as_str().into(),
        }),
        Delta::Whole(reply) => match &reply.text {
            Some(text) if !text.is_empty() => publisher.send(Update::Text { action, text: text.clone() }),
            _ => return false,
        },
        _ => return false,
    }
    true
}

/// A tool call.
pub(crate) struct ToolWork {
    pub(crate) action: ActionId,
    pub(crate) tool: Option<Arc<dyn Tool>>,
    pub(crate) context: ToolContext,
    pub(crate) args: serde_json::Value,
    pub(crate) timeout_ms: u64,
    pub(crate) grace_ms: u64,
    pub(crate) world: Arc<dyn World>,
    pub(crate) secrets: Vec<Secret>,
}

/// What a tool is told of the call. The key is the same for every try.
pub(crate) fn context(run: RunId, call: &CallId, attempt: u32, cancelled: CancellationToken) -> ToolContext {
    let idempotency_key = format!("{run}:{call}").into();
    ToolContext { run, call: call.clone(), attempt, idempotency_key, cancelled }
}

impl ToolWork {
    pub(crate) async fn run(self) -> What {
        let Self { action, tool, context, args, timeout_ms, grace_ms, world, secrets } = self;
        let Some(tool) = tool else {
            return What::CallEnded { action, outcome: CallOutcome::UnknownTool { nearest: Vec::new() } };
        };
        let cancelled = context.cancelled.clone();
        let call = AssertUnwindSafe(tool.call(context, args)).catch_unwind();
        pin_mut!(call);
        let deadline = world.sleep_until(world.now().saturating_add(timeout_ms));
        let stopped = cancelled.cancelled();
        pin_mut!(stopped);
        let outcome = match select(&mut call, select(deadline, stopped)).await {
            Either::Left((ended, _)) => outcome(ended),
            Either::Right((Either::Left(_), _)) => {
                // Out of time: it is asked to stop, and has its grace for that; its late result no longer counts.
                cancelled.cancel();
                select(&mut call, world.sleep_until(world.now().saturating_add(grace_ms))).await;
                CallOutcome::TimedOut { after_ms: timeout_ms }
            }
            Either::Right((Either::Right(_), _)) => {
                match select(&mut call, world.sleep_until(world.now().saturating_add(grace_ms))).await {
                    // It came to its end all the same: its result is kept, since it happened.
                    Either::Left((Ok(Ok(content)), _)) => CallOutcome::Ok { content },
                    Either::Left(_) => CallOutcome::Interrupted { abandoned: false },
                    Either::Right(_) => CallOutcome::Interrupted { abandoned: true },
                }
            }
        };
        What::CallEnded { action, outcome: masked(&secrets, outcome) }
    }

    /// Asks the tool whether a call happened before a crash.
    pub(crate) async fn check(self) -> What {
        let Self { action, tool, context, args, timeout_ms, world, .. } = self;
        let found = match tool {
            None => Found::Unsure,
            Some(tool) => {
                let check = AssertUnwindSafe(tool.check(context, args)).catch_unwind();
                pin_mut!(check);
                match select(check, world.sleep_until(world.now().saturating_add(timeout_ms))).await {
                    Either::Left((Ok(Ok(Some(outcome))), _)) => Found::Happened(outcome),
                    Either::Left((Ok(Ok(None)), _)) => Found::NotHappened,
                    Either::Left(_) | Either::Right(_) => Found::Unsure,
                }
            }
        };
        What::Checked { action, found }
    }
}

fn outcome(ended: Result<ToolResult, Box<dyn std::any::Any + Send>>) -> CallOutcome {
    match ended {
        Ok(Ok(content)) => CallOutcome::Ok { content },
        Ok(Err(error)) if error.unknown_tool => CallOutcome::UnknownTool { nearest: Vec::new() },
        Ok(Err(error)) => CallOutcome::Error { kind: error.kind, message: error.message },
        Err(panic) => {
            let words = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let words = words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            CallOutcome::Error {
                kind: Some("panic".into()),
                message: format!("the tool panicked: {words}").into(),
            }
        }
    }
}

/// Secrets never enter the log, whatever a tool says (E53).
fn masked(secrets: &[Secret], outcome: CallOutcome) -> CallOutcome {
    if secrets.is_empty() {
        return outcome;
    }
    let mask = |text: &Text| -> Text {
        let mut masked = text.clone();
        for secret in secrets {
            if let Cow::Owned(changed) = secret.mask(&masked) {
                masked = changed.into();
            }
        }
        masked
    };
    match outcome {
        CallOutcome::Ok { content: Content::Text(text) } => CallOutcome::Ok { content: Content::Text(mask(&text)) },
        CallOutcome::Ok { content: Content::Parts(parts) } => {
            let parts = parts.into_iter().map(|part| match part {
                Part::Text { text } => Part::Text { text: mask(&text) },
                Part::Image(_) | Part::File(_) => part,
            });
            CallOutcome::Ok { content: Content::Parts(parts.collect()) }
        }
        CallOutcome::Error { kind, message } => CallOutcome::Error { kind, message: mask(&message) },
        other => other,
    }
}

/// Puts a question to the person at hand.
pub(crate) async fn ask(people: Arc<dyn People>, state: State, question: OpenQuestion) -> What {
    let id = question.id.clone();
    let answer = people.ask(&state, &question).await;
    What::Answered { question: id, answer }
}
