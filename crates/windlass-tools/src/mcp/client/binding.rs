//! The binding of a tool to its server: another server, or other settings, are another tool.

use serde_json::json;
use windlass_core::secret::Secret;

use crate::binding::Bound;
use crate::mcp::choice::ToolChoice;
use crate::mcp::config::{McpConfig, McpTransport};

impl McpConfig {
    /// Identity of the server, as part of its tools' binding.
    pub(super) fn server_binding(&self) -> Vec<Bound> {
        match &self.transport {
            McpTransport::Stdio { command, env, folder } => {
                let mut all = vec![Bound::open("command", json!(command))];
                all.extend(folder.as_deref().map(Bound::folder));
                let variable =
                    |(name, value): (_, &Secret)| Bound::hidden(format!("variable {name}"), value.expose());
                all.extend(env.iter().map(variable));
                all
            }
            McpTransport::Http { url, headers } => {
                let header =
                    |(name, value): (_, &Secret)| Bound::hidden(format!("header {name}"), value.expose());
                std::iter::once(Bound::hidden("URL", url.as_str()))
                    .chain(headers.iter().map(header))
                    .collect()
            }
        }
    }

    /// The same with the settings for its tools.
    pub(super) fn binding(&self) -> Vec<Bound> {
        let mut all = self.server_binding();
        let tools = (self.tools != ToolChoice::default()).then_some(&self.tools);
        let settings = json!([self.prefix, tools, self.overrides, self.trust]);
        all.push(Bound::open("settings", settings));
        all
    }
}
