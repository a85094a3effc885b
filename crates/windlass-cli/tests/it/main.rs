//! The real binary, as people and scripts use it.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "what is shared by tests fails them as they would fail themselves"
)]

mod agents;
mod chat;
mod crash;
mod delegates;
#[cfg(test)]
mod durable;
mod effects;
mod errors;
mod exchange;
mod forks;
mod from_env;
mod holding;
mod json;
mod kit;
mod people;
mod reach;
mod run;
mod scripted;
mod server;
mod sessions;
mod signals;
mod streaming;
mod telemetry;
mod terminal;
mod tool_server;
mod tools;
mod upkeep;
mod wires;
