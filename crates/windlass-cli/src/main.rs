//! The command line of Windlass.
//!
//! `cli` owns the words, `commands` has one file a command, `drive` brings a run to its end before somebody's eyes,
//! `failure` owns what is said when something goes wrong, and with which exit code.

mod cli;
mod commands;
mod failure;
mod out;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match commands::run(cli::Cli::parse()) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.show();
            failure.exit.into()
        }
    }
}
