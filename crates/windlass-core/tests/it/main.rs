//! The core as others use it: random runs against its invariants, what it costs, and what it may depend on.

mod args;
mod dependencies;
mod generate;
mod invariants;
mod machine;
mod narrate;
mod prices;
mod settings;
mod sharing;
mod world;
