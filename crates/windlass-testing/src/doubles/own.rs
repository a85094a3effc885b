//! The agent's own tools, where no scripted one stands in for them: some really run, others reach out of the case.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::{CallOutcome, ToolSpec};
use windlass_runtime::Environment as _;
use windlass_tools::builtin::Now;
use windlass_tools::{Tool, ToolContext, ToolError, ToolResult};

use super::Working;
use crate::script::Script;
use crate::sim::{SimEnvironment, yield_now};

/// A tool of the agent that really runs; it counts like a scripted one.
#[derive(Debug)]
pub(crate) struct OwnTool {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) script: Script,
}

impl Tool for OwnTool {
    fn spec(&self) -> &ToolSpec {
        self.tool.spec()
    }

    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let key = self.script.key(&self.spec().name);
            let (mut working, cancelled) = Working::begin(&self.script, &key, &context, args.clone());
            if cancelled {
                yield_now().await;
            }
            let result = self.tool.call(context, args).await;
            working.end(&result);
            result
        })
    }

    fn check(
        &self,
        context: ToolContext,
        args: Value,
    ) -> BoxFuture<'_, Result<Option<CallOutcome>, ToolError>> {
        self.tool.check(context, args)
    }

    fn stop_left_behind(&self, context: ToolContext) -> BoxFuture<'_, ()> {
        self.tool.stop_left_behind(context)
    }
}

/// `now` by the case's clock.
#[derive(Debug)]
pub(crate) struct ScriptedNow {
    pub(crate) now: Now,
    pub(crate) environment: SimEnvironment,
}

impl Tool for ScriptedNow {
    fn spec(&self) -> &ToolSpec {
        self.now.spec()
    }

    fn call(&self, _: ToolContext, _: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async { Ok(Now::says_at(self.environment.now()).into()) })
    }
}

/// A command, or a tool that reaches for files or the network: the model is offered it, and no case runs it.
#[derive(Debug)]
pub(crate) struct AbsentTool {
    pub(crate) spec: ToolSpec,
    pub(crate) script: Script,
}

impl Tool for AbsentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, _: ToolContext, _: Value) -> BoxFuture<'_, ToolResult> {
        let name = &self.spec.name;
        self.script.problem(format!(
            "the tool `{name}` reaches out of the case and is not run: it needs an entry under `tools:` of the case, or its name in \
             `real_tools`"
        ));
        Box::pin(std::future::ready(Err(ToolError::new("no case runs this tool"))))
    }
}
