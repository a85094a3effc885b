//! The command line of Windlass.
//!
//! `cli` owns the texts, `commands` has one file per command, `input` and `attachments` read what a run is given, `session` checks the
//! conversation that it joins, `agents` finds its agent, `drive` drives it in the foreground, `remote` reaches servers, `failure` owns error output and exit
//! codes.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod agents;
mod asking;
mod assistant;
mod attachments;
mod cassettes;
mod cli;
mod commands;
mod consent;
mod drive;
mod face;
mod failure;
mod from_env;
mod home;
mod input;
mod interrupts;
mod limits;
mod out;
mod overrides;
mod remote;
mod session;
mod settings;
mod stdin;
mod telemetry;
mod view;
mod waiting;

use std::process::ExitCode;

use clap::Parser;

/// A run is many small allocations on several threads: this takes a fifth off the cost of a turn.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The same program runs code that a model wrote, in a process of its own.
    windlass_runtime::code_child();
    out::hook_panics();
    let done = match cli::Cli::try_parse() {
        Ok(cli) => commands::run(cli),
        Err(error) => failure::misused(error),
    };
    let exit = match done {
        Ok(exit) => exit,
        Err(failure) => {
            failure.show();
            failure.exit
        }
    };
    match out::close() {
        Err(out::Unwritten::Signal(exit)) => exit.into(),
        Err(out::Unwritten::Broken(error)) if exit == failure::Exit::Good => {
            let failure = failure::Failure::from(error);
            failure.show();
            // What is broken stays so; the error itself is waited for.
            let _closed = out::close();
            failure.exit.into()
        }
        Ok(()) | Err(out::Unwritten::Broken(_)) => exit.into(),
    }
}
