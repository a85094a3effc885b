//! An agent that only stops: it stands in for a run's own agent where nothing is to be begun any more, so that a run can
//! be cancelled without its agent's file, models and tool servers.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use windlass_core::{State, ToolSpec};
use windlass_models::{Deltas, Model, ModelRequest};
use windlass_runtime::Agent;
use windlass_store::EventLog;
use windlass_tools::{Tool, ToolContext, ToolError, ToolResult};

/// The agent in whose name a run is stopped.
pub(super) fn agent(
    state: &State,
    models: &[String],
    log: Arc<dyn EventLog>,
) -> Result<Agent, windlass_runtime::Error> {
    let name = state.agent().map_or_else(|| "unknown".into(), |agent| agent.name.clone());
    let builder = Agent::builder(name).log(log);
    let builder =
        models.iter().fold(builder, |builder, name| builder.model(name.as_str(), Arc::new(Silence)));
    state.tools().iter().fold(builder, |builder, tool| builder.tool(Stopped(tool.clone()))).build()
}

/// A model that never says anything.
#[derive(Debug)]
struct Silence;

impl Model for Silence {
    fn provider(&self) -> &'static str {
        "windlass"
    }

    fn call(&self, _request: ModelRequest) -> Deltas {
        Box::pin(futures_util::stream::pending())
    }
}

/// A tool that does nothing and stops when it is asked to.
#[derive(Debug)]
struct Stopped(ToolSpec);

impl Tool for Stopped {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call(&self, context: ToolContext, _args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            context.cancelled.cancelled().await;
            // The driver sees the wish to stop first, so that the call counts as interrupted, not as failed.
            tokio::task::yield_now().await;
            Err(ToolError::new("stopped"))
        })
    }
}
