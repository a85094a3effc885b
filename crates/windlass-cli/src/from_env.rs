//! `windlass run --from-env`: the environment stands in for the agent's file.

use std::path::{Path, PathBuf};

use crate::home;

/// Replaces the agent file's name in messages and in the notes that `windlass runs resume` reads.
pub(crate) const NAME: &str = "--from-env";

/// Whether the path denotes the environment.
pub(crate) fn is(path: &Path) -> bool {
    path == Path::new(NAME)
}

/// The path to remember an agent by.
pub(crate) fn path_of(path: &Path) -> PathBuf {
    if is(path) { path.to_owned() } else { home::absolute(path) }
}
