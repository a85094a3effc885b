//! `windlass run --from-env`: the environment stands in for the agent's file.

use std::path::Path;

/// Replaces the agent file's name in messages and in the notes that `windlass runs resume` reads.
pub(crate) const NAME: &str = "--from-env";

/// Whether the path denotes the environment.
pub(crate) fn is(path: &Path) -> bool {
    path == Path::new(NAME)
}
