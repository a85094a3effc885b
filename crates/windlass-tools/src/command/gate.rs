//! The gate of commands with an effect: nothing of theirs runs before the run's lease is confirmed.
//!
//! Between `fork` and `exec` a child has neither the program nor its own environment. If its parent dies there, the child
//! cannot be found: it would continue and have its effect after its call was settled. The gate prevents that: a shell is
//! started with the key in its environment. It waits for one line before it executes the program; if its parent dies first, the
//! pipe closes and the shell exits.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::{left_behind, program};
use crate::lease::Lease;
use crate::tool::ToolError;

/// The waiting script (POSIX). `read` consumes a pipe byte by byte, so the program's stdin begins right after the line. The
/// unset variables are those that shells set on their own.
const WAIT: &str = "IFS= read -r _ && unset PWD OLDPWD SHLVL && exec \"$@\"";

/// Variables that a shell sets, changes or refuses to change, so that they do not reach a program behind one as they were.
const SHELLS_OWN: [&str; 12] = [
    "PWD",
    "OLDPWD",
    "SHLVL",
    "IFS",
    "_",
    "PPID",
    "OPTIND",
    "UID",
    "EUID",
    "SHELLOPTS",
    "BASHOPTS",
    "LINENO",
];

/// The shell.
const SHELL: &str = "/bin/sh";

/// The line that opens the gate.
pub(super) const OPEN: &[u8] = b"\n";

/// Conditions for a command behind a gate to start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gate<'a> {
    /// The key that the waiting shell has in its environment.
    pub(super) key: &'a str,
    /// The right to act for the run.
    pub(super) lease: &'a Lease,
}

impl Gate<'_> {
    /// Ends once the waiting shell can be found by its key, and the lease was confirmed after that.
    ///
    /// # Errors
    /// The lease is lost.
    pub(super) async fn pass(self, pid: Option<u32>) -> Result<(), ToolError> {
        left_behind::until_seen(self.key, pid).await;
        self.lease.confirm().await
    }
}

/// A command that waits, and then becomes that program.
pub(super) fn waiting(program: &Path) -> Command {
    let mut command = Command::new(SHELL);
    command.args(["-c", WAIT, "sh"]).arg(program);
    command
}

/// Whether a variable of that name reaches a program behind the gate unchanged.
pub(super) fn lets_through(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.chars().all(letters)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && !SHELLS_OWN.contains(&name)
}

/// The program as the shell is to be told it: its absence is known before anything starts, with the system's own error.
///
/// # Errors
/// There is no such program, or it may not be run.
pub(super) fn find(program: &Path, path: Option<&OsStr>, folder: &Path) -> io::Result<PathBuf> {
    let found = program::find(program, path, folder)?;
    // Its name stays as it is where the shell finds the same program by it, since programs show their names.
    let by_name = path.is_some() && !program.as_os_str().as_encoded_bytes().starts_with(b"-");
    Ok(if by_name || !program::is_name(program) { program.to_owned() } else { found })
}
