//! The tools of a sandbox.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::ToolSpec;
use windlass_core::tool::Effect;

use super::sessions::Sessions;
use super::{MAX_CODE, SandboxSettings};
use crate::binding::Bound;
use crate::function::{Args, Properties};
use crate::tool::{Tool, ToolContext, ToolError, ToolResult};

/// A tool of a sandbox.
#[derive(Debug)]
pub(super) struct SandboxTool {
    spec: ToolSpec,
    executes: bool,
    sessions: Arc<Sessions>,
}

impl SandboxTool {
    pub(super) fn execute(settings: &SandboxSettings, sessions: Arc<Sessions>) -> Self {
        let mut properties = Properties::new();
        properties.required::<String>("code", "Python code to execute");
        let about =
            "Execute Python code in the sandbox and return the result. Variables are kept between calls.";
        let imports = match settings.modules.as_slice() {
            [] => " Nothing can be imported.".to_owned(),
            modules => format!(" It may import {}.", modules.join(", ")),
        };
        let mut spec = ToolSpec::new("execute", format!("{about}{imports}"), properties.finish());
        let harmless = settings.modules.is_empty() && settings.builtins.is_empty();
        spec.effect = if harmless { Effect::ReadOnly } else { Effect::Once };
        // The same code may well be run again: it works on variables.
        spec.poll = true;
        Self { spec, executes: true, sessions }
    }

    pub(super) fn reset(sessions: Arc<Sessions>) -> Self {
        let about = "Reset the sandbox, clearing all variables and state.";
        let mut spec = ToolSpec::new("reset", about, Properties::new().finish());
        spec.effect = Effect::Idempotent;
        Self { spec, executes: false, sessions }
    }

    async fn run(&self, context: ToolContext, args: Value) -> ToolResult {
        if !self.executes {
            return self.sessions.reset(context.run).await.map(Into::into);
        }
        let code: String = Args::new(args)?.required("code")?;
        if code.len() > MAX_CODE {
            let what = format!("`code` has {} bytes, expected at most {MAX_CODE}", code.len());
            return Err(ToolError::new(what));
        }
        let outcome = self.sessions.execute(context.run, &code, self.spec.effect, &context.cancelled).await?;
        Ok(outcome.rendered().into())
    }
}

impl Tool for SandboxTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn binding(&self) -> Vec<Bound> {
        self.sessions.settings().binding()
    }

    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(self.run(context, args))
    }
}
