//! Testing agents without network, keys or real time: scripted conversations and what they are run with.

mod crash;
mod doubles;
pub mod fixture;
mod runner;
mod script;
mod sim;

pub use crash::CrashLog;
pub use runner::{CaseFailure, CaseReport, RunnerOptions, run_case};
pub use sim::{BEGINNING, SimWorld, step_aside};
