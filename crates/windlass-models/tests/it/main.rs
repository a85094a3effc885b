//! Tests of the adapters against servers on 127.0.0.1.

#![expect(
    unreachable_pub,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test's shared parts stand outside of `#[test]` functions"
)]

mod conforming;
mod connections;
mod corpus;
mod failures;
mod gemini;
mod ollama;
mod peer;
mod resolving;
mod server;
mod timeouts;
mod tls;
mod wires;
