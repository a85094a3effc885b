//! Owns one tool of a server, as the loop sees it.

use std::sync::{Arc, Weak};

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::ToolSpec;

use super::error::McpError;
use super::server::Shared;
use crate::binding::Bound;
use crate::tool::{Tool, ToolContext, ToolResult};

/// One tool of a server. It does not keep the server alive.
#[derive(Debug)]
pub(super) struct McpTool {
    spec: ToolSpec,
    /// The server's own name for it.
    remote: String,
    server: Weak<Shared>,
}

impl McpTool {
    pub(super) fn new(spec: ToolSpec, remote: String, server: Weak<Shared>) -> Self {
        Self { spec, remote, server }
    }

    pub(super) fn remote(&self) -> &str {
        &self.remote
    }

    /// Whether this is a tool of that name and description.
    pub(super) fn is(&self, remote: &str, spec: &ToolSpec) -> bool {
        self.remote == remote && self.spec == *spec
    }

    #[cfg(test)]
    pub(super) fn spec_ref(&self) -> &ToolSpec {
        &self.spec
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn binding(&self) -> Vec<Bound> {
        self.server.upgrade().map(|server| server.config.server_binding()).unwrap_or_default()
    }

    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let Some(server) = self.server.upgrade() else {
                let server = self.spec.origin.trim_start_matches("mcp ").to_owned();
                return Err(McpError::Closed { server }.into_call_error());
            };
            Arc::clone(&server).call(&self.remote, context, args).await
        })
    }
}
