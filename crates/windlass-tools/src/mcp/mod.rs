//! The MCP client: tools of servers that speak the Model Context Protocol, as child processes or at URLs.
//!
//! [`McpServer::connect`] starts a server and reads its tools; each is a [`Tool`](crate::Tool) like any other. Guarantees,
//! whatever the server does: every call ends with a result or an error that names the cause; a server that has exited is
//! restarted with increasing delays at the next call; no call is sent twice. A child process gets only `PATH`, `HOME` and the
//! variables in its config, and its process group ends with the handle. Changed tool lists are followed.
//!
//! Protocol: MCP up to 2025-11-25 and 2026-07-28, through the crate `rmcp`. Windlass declares no client capability:
//! servers get no sampling, no elicitation and no roots.

mod asking;
mod call;
mod catalog;
mod choice;
mod config;
mod content;
mod doubt;
mod error;
mod handler;
mod handshake;
mod http;
mod link;
mod mask;
mod meta;
mod process;
mod reading;
mod sent;
mod server;
mod stdio;
mod tool;
mod url;
mod wire;

pub use choice::ToolChoice;
pub use config::{Lifecycle, McpConfig, McpTransport, Restart, START_MS};
pub use error::McpError;
pub use http::keyed::IDEMPOTENCY_HEADER;
pub use meta::{META_CALL, META_IDEMPOTENCY_KEY, META_RUN};
pub use server::McpServer;
