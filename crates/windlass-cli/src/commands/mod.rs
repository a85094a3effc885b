//! The commands, one file each.

pub(crate) mod test;

use crate::cli::{Cli, Command};
use crate::failure::{Exit, Failure};

/// Carries out what the command line says.
pub(crate) fn run(cli: Cli) -> Result<Exit, Failure> {
    match cli.command {
        Command::Test(args) => test::run(&args),
    }
}
