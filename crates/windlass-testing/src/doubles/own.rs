//! The agent's own tools, where no scripted one stands in for them: some really run, others reach out of the case.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::{CallOutcome, ToolSpec};
use windlass_tools::{Tool, ToolContext, ToolError, ToolResult};

use super::Working;
use crate::script::Script;
use crate::sim::step_aside;

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
                step_aside().await;
            }
            let result = self.tool.call(context, args).await;
            working.done = true;
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

/// A command, or a tool that reads files, clocks or the network: the model is offered it, and no case runs it.
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
            "the tool `{name}` reaches out of the case and is not run: it needs an entry under `tools:` of the case"
        ));
        Box::pin(std::future::ready(Err(ToolError::new("no case runs this tool"))))
    }
}
