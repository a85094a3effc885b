//! `windlass completions`.

use clap::Args;
use clap_complete::Shell;

use crate::failure::{Exit, Failure};
use crate::out;

const HELP: &str = "\
Examples:
  windlass completions bash > ~/.local/share/bash-completion/completions/windlass
  windlass completions zsh > ~/.zfunc/_windlass
  windlass completions fish > ~/.config/fish/completions/windlass.fish";

/// The arguments of `windlass completions`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints what the shell needs to complete the commands of `grammar`, the whole command line.
pub(crate) fn run(args: &CompletionsArgs, mut grammar: clap::Command) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut grammar, "windlass", &mut script);
    out::answer(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Good)
}
