//! Tests that need to see into a state: the exhaustive search.

#[path = "../../tests/it/environment.rs"]
mod environment;
#[path = "../../tests/it/monitor.rs"]
mod monitor;

mod at_once;
mod canon;
mod explore;
mod moves;
mod scenarios;
