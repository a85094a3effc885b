//! `windlass run --from-env`: the environment stands in for the agent's file.

use std::path::{Path, PathBuf};

use crate::home;

/// What stands where an agent's file would, in messages and in the notes that `windlass runs resume` reads.
pub(crate) const NAME: &str = "--from-env";

/// Whether that stands for the environment.
pub(crate) fn is(path: &Path) -> bool {
    path == Path::new(NAME)
}

/// The path to remember an agent by.
pub(crate) fn path_of(path: &Path) -> PathBuf {
    if is(path) { path.to_owned() } else { home::absolute(path) }
}
