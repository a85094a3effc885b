//! The core as others use it: random runs against its invariants, what it costs, and what it may depend on.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "functions that only tests call may fail like tests"
)]

mod approvals;
mod args;
mod asks;
mod compaction;
mod continuing;
mod dependencies;
mod display;
mod environment;
mod family;
mod forks;
mod generate;
mod log_lines;
mod machine;
mod many_calls;
mod money;
mod monitor;
mod moot;
mod pins;
mod prices;
mod purse;
mod refused;
mod replaying;
mod rules;
mod settings;
mod sharing;
mod stored;
mod text_bytes;
mod tree;
mod violations;
