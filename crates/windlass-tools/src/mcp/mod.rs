//! The MCP client: tools of servers that speak the Model Context Protocol, as child processes or at URLs.
//!
//! [`McpServer::connect`] starts a server and reads its tools; each is a [`Tool`](crate::Tool) like any other. Guarantees,
//! whatever the server does: every call ends with a result or an error that names the cause; a server that has exited is
//! restarted with increasing delays at the next call; no call is sent twice. A child process gets only `PATH`, `HOME` and the
//! variables in its config, and its process group ends with the handle. Changed tool lists are followed.
//!
//! Protocol: MCP up to 2025-11-25 and 2026-07-28, through the crate `rmcp`. Windlass declares no client capability:
//! servers get no sampling, no elicitation and no roots.

#[cfg(feature = "mcp")]
mod asking;
#[cfg(feature = "mcp")]
mod call;
#[cfg(feature = "mcp")]
mod catalog;
mod choice;
mod config;
#[cfg(feature = "mcp")]
mod content;
#[cfg(feature = "mcp")]
mod doubt;
#[cfg(feature = "mcp")]
mod error;
#[cfg(feature = "mcp")]
mod handler;
#[cfg(feature = "mcp")]
mod handshake;
#[cfg(feature = "mcp")]
mod http;
#[cfg(feature = "mcp")]
mod link;
#[cfg(feature = "mcp")]
mod mask;
#[cfg(feature = "mcp")]
mod meta;
#[cfg(feature = "mcp")]
mod process;
#[cfg(feature = "mcp")]
mod reading;
#[cfg(feature = "mcp")]
mod sent;
#[cfg(feature = "mcp")]
mod server;
#[cfg(feature = "mcp")]
mod stdio;
#[cfg(feature = "mcp")]
mod tool;
mod url;
#[cfg(feature = "mcp")]
mod wire;

pub use choice::ToolChoice;
pub use config::{Lifecycle, McpConfig, McpTransport, Restart, START_MS};
#[cfg(feature = "mcp")]
pub use error::McpError;
#[cfg(feature = "mcp")]
pub use http::keyed::IDEMPOTENCY_HEADER;
#[cfg(feature = "mcp")]
pub use meta::{META_CALL, META_IDEMPOTENCY_KEY, META_RUN};
#[cfg(feature = "mcp")]
pub use server::McpServer;
