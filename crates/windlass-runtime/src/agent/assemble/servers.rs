//! The tool servers of an agent file.

use std::sync::Arc;

use futures_util::future::join_all;
use windlass_agent_file::{AgentFile, McpEntry, ToolEntry};
use windlass_error::in_full;
use windlass_tools::mcp::{McpError, McpServer};

use super::Gathered;
use super::error::AssembleError;
use super::waits::Waits;
use crate::agent::builder::AgentBuilder;

/// Starts all tool servers of a file at once, and gives their tools to the agent.
pub(super) async fn with_servers(
    mut builder: AgentBuilder,
    file: &AgentFile,
    gathered: &mut Gathered,
) -> Result<AgentBuilder, AssembleError> {
    let servers = file.tools.iter().filter_map(|entry| match entry {
        ToolEntry::Mcp(entry) => Some(connect_or_leave(entry, gathered.waits.clone())),
        ToolEntry::Builtin(_) | ToolEntry::Command(_) | ToolEntry::Service(_) => None,
    });
    for server in join_all(servers).await {
        let (server, absent, entry) = server?;
        if absent.is_some() {
            gathered.served.unknown.push(entry.config.tool_prefix());
        }
        gathered.served.names.extend(server.tools().iter().map(|tool| tool.spec().name.to_string()));
        gathered.warnings.extend(server.warnings());
        gathered.chosen.extend(absent);
        builder = builder.source(Arc::new(server));
    }
    Ok(builder)
}

/// Starts a tool server of a file. `waits` names it meanwhile.
///
/// # Errors
/// It cannot be started or does not speak MCP.
pub async fn connect(entry: &McpEntry, waits: &Waits) -> Result<McpServer, AssembleError> {
    let config = entry.config.clone();
    let server = config.name.clone();
    let failed = |source: McpError| AssembleError::Server { server, source: Box::new(source) };
    let _waiting = waits.begin(&config.name, config.start_ms);
    McpServer::connect(config).await.map_err(failed)
}

/// Starts a tool server, or leaves one that is optional for later and says so.
async fn connect_or_leave(
    entry: &McpEntry,
    waits: Waits,
) -> Result<(McpServer, Option<String>, &McpEntry), AssembleError> {
    if !entry.optional {
        return connect(entry, &waits).await.map(|server| (server, None, entry));
    }
    let config = entry.config.clone();
    let _waiting = waits.begin(&config.name, config.start_ms);
    let (server, absent) = McpServer::connect_or_absent(config).await;
    let absent = absent.map(|error| {
        format!(
            "tools: `{}` is not available, and the agent continues without it: {}",
            entry.config.name,
            in_full(&error)
        )
    });
    Ok((server, absent, entry))
}
