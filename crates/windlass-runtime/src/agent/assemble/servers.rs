//! The tool servers of an agent file.

use std::sync::Arc;

use futures_util::future::join_all;
use windlass_agent_file::{AgentFile, McpEntry, McpPeer, McpTools, ToolEntry};
use windlass_error::in_full;
use windlass_tools::mcp::{McpConfig, McpError, McpServer, McpTransport, ToolChoice};

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
        ToolEntry::Mcp(entry) => Some(connect_or_leave(file, entry, gathered.waits.clone())),
        ToolEntry::Builtin(_) | ToolEntry::Command(_) | ToolEntry::Service(_) => None,
    });
    for server in join_all(servers).await {
        let (server, absent, entry) = server?;
        if absent.is_some() {
            gathered.served.unknown.push(entry.tool_prefix());
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
pub async fn connect(file: &AgentFile, entry: &McpEntry, waits: &Waits) -> Result<McpServer, AssembleError> {
    let failed =
        |source: McpError| AssembleError::Server { server: entry.name.clone(), source: Box::new(source) };
    let config = server_config(file, entry);
    let _waiting = waits.begin(&entry.name, config.start_ms);
    McpServer::connect(config).await.map_err(failed)
}

/// Starts a tool server, or leaves one that is optional for later and says so.
async fn connect_or_leave<'f>(
    file: &AgentFile,
    entry: &'f McpEntry,
    waits: Waits,
) -> Result<(McpServer, Option<String>, &'f McpEntry), AssembleError> {
    if !entry.optional {
        return connect(file, entry, &waits).await.map(|server| (server, None, entry));
    }
    let config = server_config(file, entry);
    let _waiting = waits.begin(&entry.name, config.start_ms);
    let (server, absent) = McpServer::connect_or_absent(config).await;
    let absent = absent.map(|error| {
        format!(
            "tools: `{}` is not available, and the agent continues without it: {}",
            entry.name,
            in_full(&error)
        )
    });
    Ok((server, absent, entry))
}

fn server_config(file: &AgentFile, entry: &McpEntry) -> McpConfig {
    let transport = match &entry.peer {
        McpPeer::Stdio { command, env } => McpTransport::Stdio {
            command: command.clone(),
            env: env.iter().cloned().collect(),
            folder: Some(file.folder.clone()),
        },
        McpPeer::Http { url, headers } => {
            McpTransport::Http { url: url.expose().to_owned(), headers: headers.iter().cloned().collect() }
        }
    };
    let mut config = McpConfig::http(entry.name.as_str(), "");
    config.transport = transport;
    config.prefix.clone_from(&entry.prefix);
    config.overrides = entry.overrides.clone();
    config.trust = entry.trust;
    let McpTools { only, without, rename, effects } = entry.tools.clone();
    config.tools = ToolChoice { only, without, rename, effects };
    config.start_ms = entry.start_ms.unwrap_or(config.start_ms);
    config
}
