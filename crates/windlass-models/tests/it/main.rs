//! Tests of the adapters against servers on 127.0.0.1.

#![expect(
    unreachable_pub,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test's shared parts stand outside of `#[test]` functions"
)]

mod anthropic;
mod conforming;
mod connections;
mod corpus;
mod crossing;
mod each_wire;
mod failures;
mod gemini;
mod hosted;
mod instructed;
mod odd;
mod ollama;
mod outputs;
mod page;
mod peer;
mod pieces;
mod probing;
mod probing_wires;
mod resolving;
mod responses;
mod server;
mod settings;
mod timeouts;
mod tls;
mod turns;
mod wires;
