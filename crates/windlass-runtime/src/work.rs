//! Work: how each action of the core is carried out, and how its end becomes an input.

use std::any::Any;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::future::BoxFuture;
use futures_util::future::{Either, FutureExt, select};
use futures_util::pin_mut;
use tokio_util::sync::CancellationToken;
use windlass_core::{
    ActionId, CallId, CallOutcome, FailureKind, Found, InputKind, ModelFailure, OpenQuestion, Prices,
    Request, State, Stop, Text, ToolChoice, ToolSpec, Usage, View, Wire, fenced_prompt, plain_schema,
    transcript,
};
use windlass_models::{Assembler, Delta, Deltas, Model, ModelRequest, PrefixCell};
use windlass_store::StoreError;
use windlass_tools::{Lease, Tool, ToolContext, ToolResult};

use crate::delegates::TaskEnd;
use crate::environment::Environment;
use crate::hooks::{self, Step, StepHook};
use crate::masking::masked;
use crate::partial::Partial;
use crate::people::People;
use crate::updates::{Publisher, Update};

/// Bytes of a token, by rule of thumb, where a provider sent no count.
const BYTES_A_TOKEN: u64 = 4;
/// How many pieces of a reply are taken before others have their turn: a model that never waits must not keep a request
/// to stop from being heard.
const PIECES_AT_ONCE: usize = 64;

/// The name of a reply's format, where a reply in text must be an output.
const OUTPUT_NAME: &str = "output";

/// A model call: from the state's view to a whole reply.
pub(crate) struct ModelWork {
    pub(crate) action: ActionId,
    /// `None`: the agent has no model of that name (any more).
    pub(crate) model: Option<Arc<dyn Model>>,
    pub(crate) request: ModelRequest,
    pub(crate) publisher: Publisher,
    /// `None`: nobody listens, or the run has no output.
    pub(crate) partial: Option<Partial>,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) cancel: CancellationToken,
}

/// Builds the request of a model call from the state; only shared parts are cloned.
pub(crate) fn request(request: &Request<'_>, prefix: &PrefixCell, stream: bool) -> ModelRequest {
    let (state, policy) = (request.state, request.state.policy());
    let mut model = request.model.clone();
    model.temperature = model.temperature.or(policy.request.temperature);
    let fenced =
        (policy.wire_of(request.model) == Wire::Fenced).then(|| Arc::new(policy.wording.results.clone()));
    let (prompt, tools, choice) = match &fenced {
        // The tools stand in the prompt, and no provider is told of them.
        Some(results) => {
            let offered: &[ToolSpec] =
                if *request.choice == ToolChoice::None { &[] } else { state.shown_tools() };
            let prompt = fenced_prompt(state.prompt(), offered, results);
            (Arc::new(prompt), Arc::default(), ToolChoice::None)
        }
        None => (state.prompt().clone(), state.shown_tools().clone(), request.choice.clone()),
    };
    let response_schema = match state.output_schema() {
        Some(schema) if policy.replies.stop == Stop::Text => {
            Some((OUTPUT_NAME.into(), Arc::new(plain_schema(schema))))
        }
        _ => None,
    };
    let (history, prefix) = match policy.request.view {
        // One text that is made anew each time: there is no prefix to add to.
        View::Transcript => {
            (std::iter::once(Arc::new(transcript(state.history()))).collect(), PrefixCell::default())
        }
        _ => (state.history().clone(), prefix.clone()),
    };
    ModelRequest {
        model,
        purpose: request.purpose,
        prompt,
        history,
        tools,
        choice,
        response_schema,
        cache: policy.request.cache.0.clone(),
        fenced,
        stream,
        prefix,
    }
}

impl ModelWork {
    pub(crate) async fn run(self) -> InputKind {
        let Self { action, model, request, publisher, mut partial, environment, cancel } = self;
        let name = request.model.name.clone();
        let fail = |kind, message: &str| failure(&name, kind, message);
        let mut spent = Spent { sent: sent(&request), received: 0, counted: false };
        let mut assembler = Assembler::new(name.clone()).bounded(request.model.max_reply_bytes());
        let mut shown = false;
        let mut pieces = if cancel.is_cancelled() {
            // It was stopped before it was polled: nothing is sent.
            Pieces::failed(fail(FailureKind::Cancelled, STOPPED))
        } else {
            Pieces::begin(model, request, &name)
        };
        let stopped = cancel.cancelled();
        pin_mut!(stopped);
        let mut taken = 0_usize;
        let failure = loop {
            let next = poll_fn(|context| match pieces.poll(context) {
                Poll::Ready(next) => Poll::Ready(next),
                Poll::Pending => {
                    stopped.as_mut().poll(context).map(|()| Some(Err(fail(FailureKind::Cancelled, STOPPED))))
                }
            });
            match next.await {
                Some(Ok(delta)) => {
                    taken += 1;
                    shown |= show(&publisher, action, &delta);
                    spent.note(&delta);
                    if let Err(failure) = assembler.push(&delta) {
                        break failure;
                    }
                    let output = partial.as_mut().and_then(|partial| partial.next(&assembler));
                    if let Some(output) = output {
                        publisher.send(Update::Partial { action, output: Arc::new(output) });
                    }
                    if taken.is_multiple_of(PIECES_AT_ONCE) {
                        step_aside().await;
                        if cancel.is_cancelled() {
                            break fail(FailureKind::Cancelled, STOPPED);
                        }
                    }
                }
                Some(Err(failure)) => break failure,
                None if taken == 0 => break fail(FailureKind::Cut, "the stream ended before anything came"),
                None => return InputKind::Replied { action, reply: Box::new(assembler.finish()) },
            }
        };
        let failure = ModelFailure { usage: spent.paid(&failure, &assembler), ..failure };
        if shown {
            publisher.send(Update::Void { action });
        }
        InputKind::ModelFailed { action, failure: Box::new(failure), jitter: environment.chance() }
    }
}

/// The words for a call that was stopped from this side.
const STOPPED: &str = "stopped from this side";

fn failure(model: &Text, kind: FailureKind, message: &str) -> ModelFailure {
    ModelFailure {
        kind,
        status: None,
        message: message.into(),
        retry_after_ms: None,
        usage: Usage::default(),
        model: model.clone(),
    }
}

fn sent(request: &ModelRequest) -> u64 {
    request.prompt.iter().map(|message| message.bytes()).sum::<u64>() + request.history.bytes()
}

/// Lets others have their turn once.
async fn step_aside() {
    let mut aside = false;
    poll_fn(|context| {
        if std::mem::replace(&mut aside, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The pieces of a reply; a model that panics has failed.
struct Pieces {
    deltas: Option<Deltas>,
    failed: Option<ModelFailure>,
    name: Text,
}

impl Pieces {
    fn failed(failure: ModelFailure) -> Self {
        let name = failure.model.clone();
        Self { deltas: None, failed: Some(failure), name }
    }

    fn begin(model: Option<Arc<dyn Model>>, request: ModelRequest, name: &Text) -> Self {
        let mut pieces = Self { deltas: None, failed: None, name: name.clone() };
        match model {
            None => pieces.failed = Some(failure(name, FailureKind::NotFound, "the agent has no such model")),
            Some(model) => match catch_unwind(AssertUnwindSafe(|| model.call(request))) {
                Ok(deltas) => pieces.deltas = Some(masked(deltas)),
                Err(panic) => pieces.failed = Some(pieces.panicked(&*panic)),
            },
        }
        pieces
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Delta, ModelFailure>>> {
        let Some(deltas) = &mut self.deltas else { return Poll::Ready(self.failed.take().map(Err)) };
        match catch_unwind(AssertUnwindSafe(|| deltas.as_mut().poll_next(context))) {
            Ok(next) => next,
            Err(panic) => {
                // Nothing is asked of it any more.
                self.deltas = None;
                Poll::Ready(Some(Err(self.panicked(&*panic))))
            }
        }
    }

    fn panicked(&self, panic: &(dyn Any + Send)) -> ModelFailure {
        failure(&self.name, FailureKind::Protocol, &format!("the model panicked: {}", words(panic)))
    }
}

/// What a call sent and what came of it, for an estimate where the provider sends no count.
struct Spent {
    /// Bytes of the request.
    sent: u64,
    /// Bytes of the reply so far.
    received: u64,
    /// Whether the provider has counted.
    counted: bool,
}

impl Spent {
    fn note(&mut self, delta: &Delta) {
        let bytes = match delta {
            Delta::Text(text) | Delta::Reasoning(text) => text.len(),
            Delta::Sealed(sealed) => sealed.data.len(),
            Delta::Call { name, args, .. } => args.len() + name.as_ref().map_or(0, String::len),
            Delta::Usage(_) => {
                self.counted = true;
                0
            }
            Delta::Stop(_) | Delta::Whole(_) => 0,
        };
        self.received = self.received.saturating_add(bytes as u64);
    }

    /// What a broken call cost: the provider's count if it came, else an estimate if a reply had begun (E16, E41).
    fn paid(&self, failure: &ModelFailure, assembler: &Assembler) -> Usage {
        if failure.usage.total() > 0 {
            return failure.usage;
        }
        if self.counted || self.received == 0 {
            return assembler.usage();
        }
        let output = self.received / BYTES_A_TOKEN;
        Usage { input: self.sent / BYTES_A_TOKEN, output, estimated: true, ..Usage::default() }
    }
}

/// What a panic says.
pub(crate) fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

/// Passes a piece on to those who listen. Says whether there was something to see.
fn show(publisher: &Publisher, action: ActionId, delta: &Delta) -> bool {
    if !publisher.heard() {
        return false;
    }
    match delta {
        Delta::Text(text) if !text.is_empty() => {
            publisher.send(Update::Text { action, text: text.as_str().into() });
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
    pub(crate) environment: Arc<dyn Environment>,
}

/// What a tool is told of the call. The key is the same for every try, also in a fork.
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
        let Self { action, tool, context, args, timeout_ms, grace_ms, environment } = self;
        let Some(tool) = tool else {
            return InputKind::CallEnded {
                action,
                outcome: CallOutcome::UnknownTool { nearest: Vec::new() },
            };
        };
        let cancelled = context.cancelled.clone();
        if cancelled.is_cancelled() {
            // It was stopped before it began: nothing of it is done.
            return InputKind::CallEnded { action, outcome: CallOutcome::Interrupted { abandoned: false } };
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
        let outcome = match select(&mut call, select(deadline, stopped)).await {
            Either::Left((ended, _)) => outcome(ended),
            Either::Right((Either::Left(_), _)) => {
                // Out of time: it is asked to stop, and has its grace for that; its late result no longer counts.
                cancelled.cancel();
                select(&mut call, environment.sleep_until(environment.now().saturating_add(grace_ms))).await;
                CallOutcome::TimedOut { after_ms: timeout_ms }
            }
            Either::Right((Either::Right(_), _)) => {
                match select(&mut call, environment.sleep_until(environment.now().saturating_add(grace_ms)))
                    .await
                {
                    // It came to its end all the same: its result is kept, since it happened.
                    Either::Left((Ok(Ok(content)), _)) => CallOutcome::Ok { content },
                    Either::Left(_) => CallOutcome::Interrupted { abandoned: false },
                    Either::Right(_) => CallOutcome::Interrupted { abandoned: true },
                }
            }
        };
        InputKind::CallEnded { action, outcome }
    }

    /// Asks the tool whether a call happened before a crash.
    pub(crate) async fn check(self) -> InputKind {
        let Self { action, tool, context, args, timeout_ms, grace_ms, environment } = self;
        let found = match tool {
            None => Found::Unsure,
            Some(tool) => {
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

fn outcome(ended: Result<ToolResult, Box<dyn Any + Send>>) -> CallOutcome {
    match ended {
        Ok(Ok(content)) => CallOutcome::Ok { content },
        Ok(Err(error)) if error.unknown_tool => CallOutcome::UnknownTool { nearest: Vec::new() },
        Ok(Err(error)) => CallOutcome::Error { kind: error.kind, message: error.message },
        Err(panic) => CallOutcome::Error {
            kind: Some("panic".into()),
            message: format!("the tool panicked: {}", words(&*panic)).into(),
        },
    }
}

/// Puts a question to the person at hand. `None`: that person left or panicked, and the question stays open.
pub(crate) async fn ask(people: Arc<dyn People>, state: State, question: OpenQuestion) -> Option<InputKind> {
    let id = question.id.clone();
    let answer =
        AssertUnwindSafe(async { people.ask_or_leave(&state, &question).await }).catch_unwind().await;
    match answer {
        Ok(answer) => answer.map(|answer| InputKind::Answered { question: id, answer }),
        Err(panic) => {
            tracing::error!(run = %state.run(), "whoever was asked panicked: {}", words(&*panic));
            None
        }
    }
}

/// Whether the person at hand would answer that; one that panics would not.
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
        // Whoever resumes a run with an agent that has no hook goes on without one.
        None => Ok(Step::of(&state)),
    };
    InputKind::Stepped { action, edits: Box::new(hooks::edits(&state, &prices, answer)) }
}

/// Lets another agent do a task. `None`: it was laid down.
///
/// # Errors
/// The log failed under it.
pub(crate) async fn delegate(
    action: ActionId,
    end: Option<BoxFuture<'static, TaskEnd>>,
) -> Result<Option<InputKind>, Arc<StoreError>> {
    let failed = |message: String| TaskEnd::Done {
        outcome: CallOutcome::Error { kind: None, message: message.into() },
        usage: Usage::default(),
        cost: Some(0),
    };
    let end = match end {
        Some(end) => {
            let run = AssertUnwindSafe(end).catch_unwind().await;
            run.unwrap_or_else(|panic| failed(format!("the delegate panicked: {}", words(&*panic))))
        }
        None => failed("the agent has no such delegate any more".to_owned()),
    };
    Ok(Some(match end {
        TaskEnd::LogFailed(error) => return Err(error),
        TaskEnd::Left => return Ok(None),
        TaskEnd::Done { outcome, usage, cost } => InputKind::Delegated { action, outcome, usage, cost },
        TaskEnd::Asks(asked) => InputKind::DelegateAsks {
            action,
            question: asked.id,
            kind: asked.kind,
            text: asked.text,
            suggestions: asked.suggestions,
        },
    }))
}
