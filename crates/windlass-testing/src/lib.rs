//! Testing agents without network, keys or real time: scripted conversations and what they are run with.

mod crash;
mod doubles;
mod fault;
pub mod fixture;
mod fn_model;
mod fn_tool;
mod runner;
mod schedule;
mod script;
mod sim;

pub use crash::{CrashLog, Interruption};
pub use fault::{Fault, FaultLog};
pub use fn_model::{FnModel, any_object, called, model_failure, said};
pub use fn_tool::{FnPeople, FnTool};
pub use runner::{CaseFailure, CaseReport, RunnerOptions, cancel_everywhere, run_case};
pub use sim::{BEGINNING, SimWorld, step_aside};
