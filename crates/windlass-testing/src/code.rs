//! The program that runs code in scripted conversations.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Names the program that runs the code of scripted conversations in this process, for programs whose main does not call
/// [`code_child`](windlass_runtime::code_child) first: test binaries. The first call counts.
pub fn code_program(path: impl Into<PathBuf>) {
    PROGRAM.get_or_init(|| path.into());
}

pub(crate) fn program() -> Option<&'static Path> {
    PROGRAM.get().map(PathBuf::as_path)
}
