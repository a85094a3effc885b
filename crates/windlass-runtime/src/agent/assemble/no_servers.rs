//! Without the feature `mcp` an agent file with tool servers is refused.

use windlass_agent_file::{AgentFile, ToolEntry};

use super::Gathered;
use super::error::AssembleError;
use crate::agent::builder::AgentBuilder;

/// Refuses a file with tool servers.
#[expect(clippy::unused_async, reason = "it stands in for the function that starts servers")]
pub(super) async fn with_servers(
    builder: AgentBuilder,
    file: &AgentFile,
    _gathered: &mut Gathered,
) -> Result<AgentBuilder, AssembleError> {
    match file.tools.iter().find(|entry| matches!(entry, ToolEntry::Mcp(_))) {
        Some(_) => {
            Err(AssembleError::NotBuilt { file: file.file.clone(), what: "tool servers", feature: "mcp" })
        }
        None => Ok(builder),
    }
}
