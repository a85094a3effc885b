//! Testing agents without network, keys or real time: scripted conversations and what they are run with.
//!
//! # The fault kit
//! The faults around an agent, on demand:
//! - [`FaultLog`]: a log that fails at the nth append, fills up ([`FaultLog::room`]), is slow or wholly broken;
//! - [`CrashLog`]: the process dies right after a chosen event;
//! - [`VolatileLog`]: the power goes, and what was not synced is lost;
//! - [`SimEnvironment`]: a clock that jumps forward ([`SimEnvironment::jump`]) and back ([`SimEnvironment::jump_back`]);
//! - [`run_and_kill`]: a real process that is killed at a chosen [`Moment`].

mod code;
mod crash;
mod doubles;
mod fault;
pub mod fixture;
mod fn_model;
mod fn_tool;
mod killer;
mod runner;
mod schedule;
mod script;
mod sim;
mod volatile;

pub use code::code_program;
pub use crash::{CrashLog, Interruption};
pub use doubles::on_request;
pub use fault::{Fault, FaultLog};
pub use fn_model::{FnModel, any_object, called, model_failure, text_reply};
pub use fn_tool::{FnPeople, FnTool};
pub use killer::{Moment, ProcessEnd, run_and_kill};
pub use runner::{
    CaseFailure, CaseReport, RunnerOptions, Visited, appends_of_case, cancel_everywhere, pause_everywhere,
    run_case, steer_everywhere,
};
pub use sim::{BEGINNING, SimEnvironment, yield_now};
pub use volatile::VolatileLog;

#[doc = include_str!("../../../docs/testing.md")]
#[cfg(doctest)]
struct TestingGuide;
