//! A tool of the agent that really runs, in no virtual time: the whole call is one step of the executor. So a simulated restart
//! comes before a call or after it, never in its middle, and calls of one turn run one after another.

use std::sync::Arc;
use std::time::Duration;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::tool::Effect;
use windlass_core::{CallOutcome, ToolSpec};
use windlass_tools::{Lease, Tool, ToolContext, ToolError, ToolResult};

use super::{Truth, Working, truth};
use crate::script::Script;
use crate::sim::yield_now;

/// Time for a call to stop that took too long.
const GRACE: Duration = Duration::from_secs(5);

/// A command or a tool for files or hosts that a case lists under `real_tools`.
#[derive(Debug)]
pub(crate) struct RealTool {
    tool: Arc<dyn Tool>,
    script: Script,
    /// The real time of one attempt. A call that takes longer is stopped, and times out in virtual time.
    patience: Duration,
}

impl RealTool {
    pub(crate) fn new(tool: Arc<dyn Tool>, script: Script, patience: Duration) -> Self {
        if tool.spec().effect == Effect::Once {
            let key = script.key(&tool.spec().name);
            let once = &mut script.lock().once;
            if !once.contains(&key) {
                once.push(key);
            }
        }
        Self { tool, script, patience }
    }

    /// The context of a real call. Each pass over a case has idempotency keys of its own: the same run is played many times. The
    /// lease is the simulation's own affair.
    fn context(&self, context: &ToolContext) -> ToolContext {
        ToolContext {
            idempotency_key: format!("{}-{}", context.idempotency_key, self.script.pass).into(),
            cancelled: context.cancelled.child_token(),
            lease: Lease::none(),
            ..context.clone()
        }
    }

    async fn execute(&self, context: ToolContext, args: Value) -> ToolResult {
        let key = self.script.key(&self.tool.spec().name);
        let (mut working, cancelled) = Working::begin(&self.script, &key, &context, args.clone());
        if cancelled {
            yield_now().await;
        }
        self.script.turns.rest().await;
        if context.cancelled.is_cancelled() {
            let stopped = Err(ToolError::in_doubt("stopped"));
            working.end(&stopped);
            return stopped;
        }
        let ended = run_for(self.patience, self.context(&context), |real| self.tool.call(real, args));
        let result = match ended {
            Ok(Some(result)) => result,
            Ok(None) => {
                // The clock goes on to the call's timeout, which stops it as in a run.
                context.cancelled.cancelled().await;
                Err(ToolError::in_doubt("stopped"))
            }
            Err(message) => {
                self.script.problem(message);
                Err(ToolError::new("the tool could not be run"))
            }
        };
        working.end(&result);
        if let Ok(content) = &result {
            let text = content.text().to_string();
            self.script.lock().happened.insert((context.run, context.call), text);
        }
        result
    }
}

impl Tool for RealTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(self.execute(context, args))
    }

    fn check(
        &self,
        context: ToolContext,
        args: Value,
    ) -> BoxFuture<'_, Result<Option<CallOutcome>, ToolError>> {
        Box::pin(async move {
            // Earlier passes left their effects behind.
            if let Truth::Restart(happened) = truth(&self.script, context.clone()) {
                return Ok(happened);
            }
            let ended = run_for(self.patience, self.context(&context), |real| self.tool.check(real, args));
            ended.map_err(ToolError::new)?.unwrap_or_else(|| Err(ToolError::new("the check took too long")))
        })
    }
}

/// Carries out a call in real time, on a thread with a runtime of its own. `None`: it took longer, and was stopped.
fn run_for<'t, T: Send>(
    patience: Duration,
    context: ToolContext,
    call: impl FnOnce(ToolContext) -> BoxFuture<'t, T> + Send,
) -> Result<Option<T>, String> {
    let cancelled = context.cancelled.clone();
    let work = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok::<_, std::io::Error>(runtime.block_on(async {
            let mut call = call(context);
            if let Ok(result) = tokio::time::timeout(patience, &mut call).await {
                return Some(result);
            }
            cancelled.cancel();
            // What does not stop by then is dropped, which kills a command.
            tokio::time::timeout(GRACE, call).await.ok();
            None
        }))
    };
    let ended = std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().name("real tool".to_owned()).spawn_scoped(scope, work)?;
        worker.join().map_err(|_| std::io::Error::other("it panicked"))?
    });
    ended.map_err(|error| format!("a real tool cannot be run: {error}"))
}
