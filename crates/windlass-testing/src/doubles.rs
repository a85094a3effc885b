//! Scripted models, tools and people: they do what the case says, and remember what they were asked.

mod model;
mod own;
mod peers;
mod people;
mod pieces;
mod real;

pub use model::on_request;
pub(crate) use model::scripted_model;
pub(crate) use own::{AbsentTool, OwnTool, ScriptedNow};
pub(crate) use peers::{AgentPeer, ScriptedPeer};
pub(crate) use people::ScriptedPeople;
pub(crate) use real::RealTool;

use futures_core::future::BoxFuture;
use futures_util::future::{Either, select};
use serde_json::Value;
use windlass_core::{CallId, CallOutcome, RunId, ToolSpec};
use windlass_runtime::Environment;
use windlass_tools::{Tool, ToolContext, ToolError, ToolResult};

use crate::fixture::{During, ScriptedTool, ToolCheck, ToolEnd};
use crate::script::{Execution, Script, Timed};
use crate::sim::{SimEnvironment, yield_now};

/// A scripted tool.
#[derive(Debug)]
pub(crate) struct ScriptedToolDouble {
    pub(crate) spec: ToolSpec,
    pub(crate) tool: ScriptedTool,
    pub(crate) script: Script,
    pub(crate) environment: SimEnvironment,
}

/// While a call is going on: if it is lost in a crash, it did not happen.
struct Working {
    script: Script,
    tool: String,
    place: usize,
    call: (RunId, CallId, u32),
    done: bool,
    /// Whether the tool itself said how the call ended.
    answered: bool,
}

impl Working {
    /// Notes that a tool works on a call. Says also whether the run hears something meanwhile.
    fn begin(script: &Script, key: &str, context: &ToolContext, args: Value) -> (Self, bool) {
        let mut inner = script.lock();
        inner.tool_calls += 1;
        let number = inner.tool_calls;
        let fresh = Execution { run: context.run, call: context.call.clone(), args, lost: false };
        let place = inner.execute(key, fresh);
        let cancelled = inner.cancels(During::Tool, number);
        let (steered, _) = inner.steers(During::Tool, number);
        drop(inner);
        let call = (context.run, context.call.clone(), context.attempt);
        let working =
            Self { script: script.clone(), tool: key.to_owned(), place, call, done: false, answered: false };
        (working, cancelled || steered > 0)
    }

    /// Notes that the call has come to its end.
    fn end(&mut self, result: &ToolResult) {
        self.done = true;
        self.answered = !result.as_ref().is_err_and(|error| error.in_doubt);
    }
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
        } else if !self.answered {
            script.unanswered.insert(self.call.clone());
        }
    }
}

/// The source of the truth about a call that was lost.
enum Truth {
    /// The restart that lost it, of which the case knows nothing: whether it happened.
    Restart(Option<CallOutcome>),
    /// The case's own check.
    Check,
}

fn truth(script: &Script, ToolContext { run, call, attempt, .. }: ToolContext) -> Truth {
    let script = script.lock();
    if !script.oracle || script.unanswered.contains(&(run, call.clone(), attempt)) {
        return Truth::Check;
    }
    let ended = |result: &String| CallOutcome::Ok { content: result.as_str().into() };
    Truth::Restart(script.happened.get(&(run, call)).map(ended))
}

impl ScriptedToolDouble {
    async fn execute(&self, context: ToolContext, args: Value) -> ToolResult {
        let key = self.script.key(&self.tool.name);
        let (mut working, interrupted) = Working::begin(&self.script, &key, &context, args);
        let place = working.place;
        let step = self.tool.step(place).cloned();
        let Some(step) = step else {
            self.script.problem(format!("the scripted tool {key} was called, but `does` is empty"));
            return Err(ToolError::new("the script says nothing"));
        };
        if interrupted {
            yield_now().await;
        }
        let work = async {
            if step.sleep_ms > 0 {
                let work = Timed::Tool(key.clone(), place);
                let due = self.script.lock().due(work, self.environment.now(), step.sleep_ms);
                self.environment.sleep_until(due).await;
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
            Either::Left(_) => Err(ToolError::in_doubt("stopped")),
            Either::Right(_) => Ok(()),
        };
        let result = ended.and_then(|()| match &step.end {
            ToolEnd::Reply(reply) => Ok(reply.text()),
            ToolEnd::Error(message) => Err(ToolError::new(message.as_str())),
            ToolEnd::Lost(message) => Err(ToolError::in_doubt(message.as_str())),
            ToolEnd::Hang => Err(ToolError::in_doubt("stopped")),
        });
        if let Ok(text) = &result {
            self.script.lock().happened.insert((context.run, context.call.clone()), text.clone());
        }
        let result = result.map(Into::into);
        working.end(&result);
        result
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
            if let Truth::Restart(happened) = truth(&self.script, context) {
                return Ok(happened);
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
