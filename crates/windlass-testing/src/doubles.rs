//! Scripted models, tools and people: they do what the case says, and remember what they were asked.

mod peers;
mod people;

pub(crate) use peers::{AgentPeer, ScriptedPeer};
pub(crate) use people::ScriptedPeople;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::future::BoxFuture;
use futures_util::future::{Either, select};
use futures_util::{StreamExt, stream};
use serde_json::Value;
use windlass_core::{CallOutcome, FailureKind, ModelFailure, ToolChoice, ToolSpec};
use windlass_models::{Delta, Deltas, Model, ModelRequest};
use windlass_runtime::World;
use windlass_tools::{Tool, ToolContext, ToolError, ToolResult};

use crate::fixture::{During, FailWith, ModelEntry, ScriptedTool, SentRequest, ToolCheck, ToolEnd};
use crate::fn_model::model_failure;
use crate::script::{Execution, Script, Timed};
use crate::sim::{SimWorld, step_aside};

/// A model that gives the script's entries, one a call, whatever its purpose.
#[derive(Debug)]
pub(crate) struct ScriptedModel {
    pub(crate) script: Script,
    pub(crate) world: SimWorld,
}

/// While a call is going on: if it is lost in a crash, its entry is given again.
struct InFlight {
    script: Script,
    done: bool,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut script = self.script.lock();
        if !self.done && script.crashing {
            script.scene(self.script.path()).lost_requests += 1;
        }
    }
}

impl Model for ScriptedModel {
    fn provider(&self) -> &'static str {
        "scripted"
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let (script, world) = (self.script.clone(), self.world.clone());
        Box::pin(stream::once(answer(script, world, request)).flatten())
    }
}

type Pieces = Vec<Result<Delta, ModelFailure>>;

async fn answer(script: Script, world: SimWorld, request: ModelRequest) -> Deltas {
    let mut flight = InFlight { script: script.clone(), done: false };
    let (entry, number) = {
        let mut inner = script.lock();
        let scene = inner.scene(script.path());
        for _ in 0..std::mem::take(&mut scene.lost_requests) {
            scene.next_entry = scene.next_entry.saturating_sub(1);
            scene.requests.pop();
        }
        let place = scene.next_entry;
        scene.next_entry += 1;
        scene.requests.push(SentRequest::from(&request));
        (scene.model.get(place).cloned(), place as u32 + 1)
    };
    let Some(entry) = entry else {
        if let Some(mocked) = script.lock().scene(script.path()).mocked {
            flight.done = true;
            let words = windlass_models::mock::used_up(mocked);
            let failed = model_failure(&request, FailureKind::BadRequest, &words);
            return Box::pin(stream::iter([Err(failed)]));
        }
        script.problem(format!("model call {number} is beyond the script, which has {} entries", number - 1));
        flight.done = true;
        let failed =
            model_failure(&request, FailureKind::BadRequest, "the script has no entry for this call");
        return Box::pin(stream::iter([Err(failed)]));
    };
    if entry.tool_choice_unsupported && matches!(request.choice, ToolChoice::Required | ToolChoice::Named(_))
    {
        // The entry answers the repeat.
        script.lock().scene(script.path()).next_entry -= 1;
        flight.done = true;
        let mut failed = model_failure(&request, FailureKind::Unsupported, "tool_choice is not supported");
        failed.status = Some(400);
        return Box::pin(stream::iter([Err(failed)]));
    }
    check_entry(&script, &entry, &request, number);
    let (cancelled, steered) = {
        let mut inner = script.lock();
        let root = script.is_root();
        (root && inner.cancels(During::Model, number), root && inner.steers(number))
    };
    if cancelled {
        // The call is going on when the request to stop comes, and goes on until it is stopped. What the script says
        // it costs is paid.
        let usage = entry.usage.unwrap_or_default();
        return Box::pin(stream::iter([Ok(Delta::Usage(usage))]).chain(Hanging(flight)));
    }
    if steered {
        step_aside().await;
    }
    if entry.takes_ms > 0 {
        let due = script.lock().due(
            Timed::Model(script.path().to_owned(), number as usize),
            world.now(),
            entry.takes_ms,
        );
        world.sleep_until(due).await;
    }
    script.turns.rest().await;
    flight.done = true;
    Box::pin(stream::iter(pieces(&entry, &request)))
}

/// The rest of a call that goes on until it is stopped.
struct Hanging(#[expect(dead_code, reason = "it ends with the stream")] InFlight);

impl futures_core::Stream for Hanging {
    type Item = Result<Delta, ModelFailure>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Pending
    }
}

fn check_entry(script: &Script, entry: &ModelEntry, request: &ModelRequest, number: u32) {
    if let Some(purpose) = entry.purpose.filter(|purpose| *purpose != request.purpose) {
        script.problem(format!(
            "model call {number} is for {:?}, the script's entry for {purpose:?}",
            request.purpose
        ));
    }
    if let Some(by) = entry.by.as_ref().filter(|by| **by != *request.model.name) {
        script.problem(format!(
            "model call {number} went to {}, the script's entry is by {by}",
            request.model.name
        ));
    }
}

fn pieces(entry: &ModelEntry, request: &ModelRequest) -> Pieces {
    let mut pieces: Pieces = Vec::new();
    if let Some(failed) = &entry.fail {
        let message = failed.message.as_deref();
        let usage = entry.usage.unwrap_or_default();
        let (kind, status, retry_after_ms, words) = match failed.with {
            FailWith::Status { status, retry_after_ms } => {
                (kind_of(status), Some(status), retry_after_ms, "refused")
            }
            FailWith::Connect => (FailureKind::Connect, None, None, "no connection"),
            FailWith::Timeout => (FailureKind::Timeout, None, None, "no reply in time"),
            FailWith::CutAfter(bytes) => {
                let text = entry.text.as_deref().unwrap_or_default();
                let cut = text.floor_char_boundary(bytes.min(text.len()));
                pieces.extend(
                    cut_up(text.get(..cut).unwrap_or_default(), entry.pieces)
                        .map(|text| Ok(Delta::Text(text))),
                );
                (FailureKind::Cut, None, None, "the stream broke")
            }
        };
        // The usage comes first, so that a broken call is not estimated beside it.
        pieces.insert(0, Ok(Delta::Usage(usage)));
        let failed = model_failure(request, kind, message.unwrap_or(words));
        pieces.push(Err(ModelFailure { status, retry_after_ms, usage, ..failed }));
        return pieces;
    }
    let only_deltas = entry.text.is_none() && entry.reasoning.is_none() && entry.calls.is_empty();
    match &entry.deltas {
        // Where nothing else is given, the pieces are the reply, streamed or not.
        Some(deltas) if request.stream || only_deltas => {
            pieces.extend(deltas.iter().map(|delta| Ok(delta.delta())));
        }
        _ => whole(entry, request.stream, &mut pieces),
    }
    pieces.push(Ok(Delta::Usage(entry.usage.unwrap_or_default())));
    pieces.push(Ok(Delta::Stop(entry.stop)));
    pieces
}

fn whole(entry: &ModelEntry, stream: bool, pieces: &mut Pieces) {
    let size = entry.pieces.filter(|_| stream);
    if let Some(text) = &entry.reasoning {
        pieces.extend(cut_up(text, size).map(|text| Ok(Delta::Reasoning(text))));
    }
    if let Some(text) = &entry.text {
        pieces.extend(cut_up(text, size).map(|text| Ok(Delta::Text(text))));
    }
    for (place, call) in entry.calls.iter().enumerate() {
        let index = Some(place as u32);
        let name = Some(call.name.clone());
        if size.is_none() {
            pieces.push(Ok(Delta::Call { index, id: call.id.clone(), name, args: call.args.clone() }));
            continue;
        }
        pieces.push(Ok(Delta::Call { index, id: call.id.clone(), name, args: String::new() }));
        pieces.extend(
            cut_up(&call.args, size).map(|args| Ok(Delta::Call { index, id: None, name: None, args })),
        );
    }
}

/// Pieces of so many bytes, never within a character.
fn cut_up(text: &str, size: Option<usize>) -> impl Iterator<Item = String> {
    let size = size.unwrap_or(usize::MAX).max(1);
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.floor_char_boundary(size.min(rest.len()));
        if end == 0 {
            end = rest.chars().next().map_or(rest.len(), char::len_utf8);
        }
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece.to_owned())
    })
    .collect::<Vec<_>>()
    .into_iter()
}

fn kind_of(status: u16) -> FailureKind {
    match status {
        401 | 403 => FailureKind::Auth,
        404 => FailureKind::NotFound,
        408 => FailureKind::Timeout,
        429 => FailureKind::RateLimited,
        503 | 529 => FailureKind::Overloaded,
        500..=599 => FailureKind::Server,
        _ => FailureKind::BadRequest,
    }
}

/// A scripted tool.
#[derive(Debug)]
pub(crate) struct ScriptedToolDouble {
    pub(crate) spec: ToolSpec,
    pub(crate) tool: ScriptedTool,
    pub(crate) script: Script,
    pub(crate) world: SimWorld,
}

/// While a call is going on: if it is lost in a crash, it did not happen.
struct Working {
    script: Script,
    tool: String,
    place: usize,
    done: bool,
}

impl Drop for Working {
    fn drop(&mut self) {
        let mut script = self.script.lock();
        if !self.done && script.crashing {
            script.tool_calls = script.tool_calls.saturating_sub(1);
            if let Some(execution) =
                script.executed.get_mut(&self.tool).and_then(|executed| executed.get_mut(self.place))
            {
                execution.lost = true;
            }
        }
    }
}

impl ScriptedToolDouble {
    async fn execute(&self, context: ToolContext, args: Value) -> ToolResult {
        let key = self.script.key(&self.tool.name);
        let (place, step, cancelled) = {
            let mut inner = self.script.lock();
            inner.tool_calls += 1;
            let number = inner.tool_calls;
            let fresh = Execution { run: context.run, call: context.call.clone(), args, lost: false };
            let place = inner.execute(&key, fresh);
            (place, self.tool.step(place).cloned(), inner.cancels(During::Tool, number))
        };
        let mut working = Working { script: self.script.clone(), tool: key.clone(), place, done: false };
        let Some(step) = step else {
            self.script.problem(format!("the scripted tool {key} was called, but `does` is empty"));
            return Err(ToolError::new("the script says nothing"));
        };
        if cancelled {
            step_aside().await;
        }
        let work = async {
            if step.sleep_ms > 0 {
                let work = Timed::Tool(key.clone(), place);
                let due = self.script.lock().due(work, self.world.now(), step.sleep_ms);
                self.world.sleep_until(due).await;
            }
            if step.end == ToolEnd::Hang {
                std::future::pending::<()>().await;
            }
            self.script.turns.rest().await;
        };
        let stopped = async {
            if self.tool.ignores_cancel {
                std::future::pending::<()>().await;
            }
            context.cancelled.cancelled().await;
        };
        let (work, stopped) = (std::pin::pin!(work), std::pin::pin!(stopped));
        // A call that was asked to stop stops, even if it could have ended at once.
        let ended = match select(stopped, work).await {
            Either::Left(_) => Err(ToolError::new("stopped")),
            Either::Right(_) => Ok(()),
        };
        working.done = true;
        ended?;
        let result = match &step.end {
            ToolEnd::Reply(reply) => Ok(reply.text()),
            ToolEnd::Error(message) => Err(ToolError::new(message.as_str())),
            ToolEnd::Hang => Err(ToolError::new("stopped")),
        };
        if let Ok(text) = &result {
            self.script.lock().happened.insert((context.run, context.call.clone()), text.clone());
        }
        result.map(Into::into)
    }
}

impl Tool for ScriptedToolDouble {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(self.execute(context, args))
    }

    fn check(&self, context: ToolContext, _: Value) -> BoxFuture<'_, Result<Option<CallOutcome>, ToolError>> {
        Box::pin(async move {
            let script = self.script.lock();
            if script.oracle {
                // The case knows nothing of this crash: the check tells what really happened.
                let happened = script.happened.get(&(context.run, context.call.clone()));
                return Ok(happened.map(|result| CallOutcome::Ok { content: result.as_str().into() }));
            }
            match &self.tool.check {
                Some(ToolCheck::Happened { result }) => {
                    Ok(Some(CallOutcome::Ok { content: result.as_str().into() }))
                }
                Some(ToolCheck::NotHappened) => Ok(None),
                None => Err(ToolError::new("no check is scripted")),
            }
        })
    }
}

/// A model that is shared under several names.
pub(crate) fn shared_model(script: &Script, world: &SimWorld) -> Arc<dyn Model> {
    Arc::new(ScriptedModel { script: script.clone(), world: world.clone() })
}
