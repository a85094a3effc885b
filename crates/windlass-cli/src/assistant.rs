//! The agent that answers a question without an agent file: the one that the user has set, else a built-in one.

use std::path::{Path, PathBuf};

use windlass_runtime::agent_file::{AgentFile, AgentFileError};

use crate::failure::Failure;
use crate::home;
use crate::settings;

/// The built-in agent.
const ASSISTANT: &str = include_str!("assistant/assistant.yaml");
/// Replaces the built-in agent's file in messages, and in what a log keeps of the agent.
const NAME: &str = "(built-in assistant)";

/// The file of the agent that answers.
pub(crate) fn path() -> Result<PathBuf, Failure> {
    Ok(settings::default_agent()?.unwrap_or_else(|| PathBuf::from(NAME)))
}

/// Whether the path denotes the built-in agent.
pub(crate) fn is(path: &Path) -> bool {
    path.file_name() == Path::new(NAME).file_name()
}

/// Reads the built-in agent.
pub(crate) fn read() -> Result<AgentFile, AgentFileError> {
    AgentFile::parse(ASSISTANT, Path::new(NAME), &home::env)
}
