//! Tests that need to see into a state: the exhaustive search.

#[path = "../../tests/it/monitor.rs"]
mod monitor;
#[path = "../../tests/it/world.rs"]
mod world;

mod canon;
mod explore;
mod moves;
mod scenarios;
