//! The command line of Windlass.
//!
//! `cli` owns the words, `commands` has one file a command, `drive` brings a run to its end before somebody's eyes,
//! `failure` owns what is said when something goes wrong, and with which exit code.

mod agents;
mod answers;
mod asking;
mod cli;
mod commands;
mod drive;
mod failure;
mod from_env;
mod home;
mod interrupts;
mod notes;
mod out;
mod overrides;
mod stdin;
mod telemetry;
mod view;

use std::process::ExitCode;

use clap::Parser;

/// A run is many small allocations on several threads: this takes a fifth off the cost of a turn.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match commands::run(cli::Cli::parse()) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.show();
            failure.exit.into()
        }
    }
}
