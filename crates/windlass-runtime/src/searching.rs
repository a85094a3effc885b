//! The tool `search_tools`: what of the run's tools fits a query.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::{ToolSpec, found_tools, search_tools};
use windlass_tools::{Tool, ToolContext, ToolResult};

/// Searches among the tools that a run has when the call starts.
#[derive(Debug)]
pub(crate) struct SearchTools {
    pub(crate) tools: Arc<Vec<ToolSpec>>,
}

impl Tool for SearchTools {
    fn spec(&self) -> &ToolSpec {
        search_tools()
    }

    fn call(&self, _: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move { Ok(found_tools(&self.tools, &args).into()) })
    }
}
