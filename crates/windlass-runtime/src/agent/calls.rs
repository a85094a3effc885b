//! Calls of tools: which tool a call runs, and with what context.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use windlass_core::run::OpenCall;
use windlass_core::tool::{BRANCH_ERROR, ToolKind};
use windlass_core::{CallId, State, ToolSpec};
use windlass_tools::{Lease, Tool, ToolContext, ToolError, ToolResult};

use crate::agent::Agent;

/// The tool that a call runs.
pub(crate) fn tool_of(agent: &Agent, state: &State, open: &OpenCall) -> Option<Arc<dyn Tool>> {
    match state.tool(&open.call.name).map(|tool| tool.kind) {
        Some(ToolKind::Branch | ToolKind::Parent) if !open.reaches() => {
            Some(Arc::new(TargetList { spec: ToolSpec::new("", "", json!({})), text: state.listing(open) }))
        }
        Some(ToolKind::Parent) => agent.parent_tool(open.target_name()),
        _ => agent.tool(&open.call.name),
    }
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
    Some(ToolContext {
        run: state.run(),
        call: call.clone(),
        attempt,
        idempotency_key,
        cancelled,
        lease,
        active_skills: Vec::new(),
    })
}

/// Error text for a call to `branch` or `delegate` that names an unknown target.
#[derive(Debug)]
struct TargetList {
    spec: ToolSpec,
    text: Result<String, String>,
}

impl Tool for TargetList {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, _: ToolContext, _: Value) -> BoxFuture<'_, ToolResult> {
        let text = self.text.clone();
        Box::pin(async move {
            text.map(Into::into).map_err(|message| {
                let mut error = ToolError::new(message);
                error.kind = Some(BRANCH_ERROR.into());
                error
            })
        })
    }
}
