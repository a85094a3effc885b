//! Owns one tool of a server, as the loop sees it.

use std::fmt;
use std::sync::{Arc, Weak};

use futures_core::future::BoxFuture;
use serde_json::Value;
use windlass_core::ToolSpec;

use super::error::McpError;
use crate::binding::Bound;
use crate::tool::{Tool, ToolContext, ToolResult};

/// A server, as its tools need it. It is a trait so that a tool knows nothing of the connection, whose catalog holds the tool.
pub(super) trait Remote: Send + Sync + fmt::Debug {
    /// Identity of the server, as part of its tools' binding.
    fn binding(&self) -> Vec<Bound>;

    /// Calls a tool by the server's own name for it, once at most.
    fn call(self: Arc<Self>, tool: &str, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult>;
}

/// One tool of a server. It does not keep the server alive.
#[derive(Debug)]
pub(super) struct McpTool {
    spec: ToolSpec,
    /// The server's own name for it.
    remote: String,
    server: Weak<dyn Remote>,
}

impl McpTool {
    pub(super) fn new(spec: ToolSpec, remote: String, server: Weak<dyn Remote>) -> Self {
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
        self.server.upgrade().map(|server| server.binding()).unwrap_or_default()
    }

    fn call(&self, context: ToolContext, args: Value) -> BoxFuture<'_, ToolResult> {
        Box::pin(async move {
            let Some(server) = self.server.upgrade() else {
                let server = self.spec.origin.trim_start_matches("mcp ").to_owned();
                return Err(McpError::Closed { server }.into_call_error());
            };
            server.call(&self.remote, context, args).await
        })
    }
}
