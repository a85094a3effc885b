//! The MCP client: tools of servers that speak the Model Context Protocol, as child processes or at URLs.
//!
//! [`McpServer::connect`] starts a server and reads its tools; each is a [`Tool`](crate::Tool) like any other. Guarantees,
//! whatever the server does: every call ends with a result or an error that names the cause; a server that has exited is
//! restarted with increasing delays at the next call; no call is sent twice. A child process gets only `PATH`, `HOME` and the
//! variables in its config, and its process group ends with the handle. Changed tool lists are followed.
//!
//! Protocol: MCP up to 2025-11-25 and 2026-07-28, through the crate `rmcp`. Windlass declares no client capability:
//! servers get no sampling, no elicitation and no roots.

mod choice;
#[cfg(feature = "mcp")]
mod client;
mod config;
mod url;

pub use choice::ToolChoice;
#[cfg(feature = "mcp")]
pub use client::{IDEMPOTENCY_HEADER, META_CALL, META_IDEMPOTENCY_KEY, META_RUN, McpError, McpServer};
pub use config::{Lifecycle, McpConfig, McpTransport, Restart, START_MS};
