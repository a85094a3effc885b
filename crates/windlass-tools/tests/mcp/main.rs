//! The MCP client against a real server (`examples/mcp_peer.rs`, and the same in process over HTTP) that misbehaves.

#![expect(clippy::expect_used, clippy::panic, reason = "the helpers of tests fail by panicking")]

mod broken;
mod calls;
mod changes;
mod http;
mod odd_http;
mod peer;
mod processes;
mod support;
