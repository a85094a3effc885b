//! The client itself. What it is told stands beside this folder, because agent files are read without it, too.

mod asking;
mod binding;
mod call;
mod catalog;
mod choosing;
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
mod wire;

pub use error::McpError;
pub use http::keyed::IDEMPOTENCY_HEADER;
pub use meta::{META_CALL, META_IDEMPOTENCY_KEY, META_RUN};
pub use server::McpServer;
