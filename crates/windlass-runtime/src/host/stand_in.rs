//! An agent that only stops: it stands in for the agent of a run that is cancelled, so that this needs no agent file, models
//! or tool servers.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use windlass_core::{RunId, ToolSpec};
use windlass_models::{Deltas, Model, ModelRequest};
use windlass_read::{load, start_of};
use windlass_store::Store;
use windlass_tools::{Tool, ToolContext, ToolError, ToolResult};

use crate::agent::Agent;
use crate::agent::builder::AgentBuilder;
use crate::platform::error::Error;

/// The agent in whose name a run is stopped.
pub(crate) async fn stand_in(log: &Arc<dyn Store>, run: RunId) -> Result<AgentBuilder, Error> {
    let state = load(&**log, run).await?;
    let models = start_of(&**log, run).await?.models;
    let name = state.agent().map_or_else(|| "unknown".into(), |agent| agent.name.clone());
    let builder = Agent::builder(name).log(log.clone());
    let builder =
        models.iter().fold(builder, |builder, model| builder.model((&*model.name, Arc::new(Silence))));
    Ok(state.tools().iter().fold(builder, |builder, tool| builder.tool(Stopped(tool.clone()))))
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
