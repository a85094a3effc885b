//! `windlass run --from-env`: the environment stands in for the agent's file.

use std::path::Path;

/// Replaces the agent file's name in messages, and in what a log keeps of the agent.
pub(crate) const NAME: &str = "--from-env";

/// Whether the path denotes the environment.
pub(crate) fn is(path: &Path) -> bool {
    path.file_name() == Path::new(NAME).file_name()
}
