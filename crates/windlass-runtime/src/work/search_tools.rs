//! The tool `search_tools`: what of the run's tools fits a query.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::ToolSpec;
use windlass_core::tool::{found_tools, search_tools};
use windlass_tools::{Tool, ToolContext, ToolResult};

use crate::platform::environment::Environment;
use crate::platform::off_thread::off_thread;

/// Weight of each searched tool, in bytes.
const TOOL_BYTES: u64 = 2_048;

/// Searches among the tools that a run has when the call starts.
#[derive(Debug)]
pub(crate) struct SearchTools {
    pub(crate) tools: Arc<Vec<ToolSpec>>,
    pub(crate) environment: Arc<dyn Environment>,
}

impl Tool for SearchTools {
    fn spec(&self) -> &ToolSpec {
        search_tools()
    }

    fn call(&self, _: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let (tools, bytes) = (self.tools.clone(), self.tools.len() as u64 * TOOL_BYTES);
            Ok(off_thread(&*self.environment, bytes, move || found_tools(&tools, &args)).await.into())
        })
    }
}
