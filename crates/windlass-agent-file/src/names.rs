//! Names that the model will call: they must not clash.

use std::collections::HashMap;

use windlass_tools::mcp::McpConfig;

use super::AgentFile;
use super::delegates::DelegateEntry;
use super::error::AgentFileError;
use super::tools::ToolEntry;
use crate::yaml::{Place, Problem, YamlError};

/// A name that the file gives to a tool, a tool server or a delegate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTool {
    /// The name.
    pub name: String,
    /// Kind of the tool: `builtin`, `command`, `service`, `skills`, `hosted`, `mcp`, `agent file`, `a2a` or `branch`.
    pub origin: &'static str,
    /// Position of the entry.
    pub place: Place,
}

impl AgentFile {
    /// The names of built-in tools, commands, tools of services, of skills and of the provider, which are known before any server is
    /// started.
    pub fn tool_names(&self) -> Vec<NamedTool> {
        let hosted = self.hosted.iter().map(|entry| NamedTool {
            name: entry.hosted.tool.name().to_owned(),
            origin: "hosted",
            place: entry.place,
        });
        let of_skills = self.skills.tool_names().iter().map(|name| NamedTool {
            name: (*name).to_owned(),
            origin: "skills",
            place: self.node.locate("skills"),
        });
        self.tools
            .iter()
            .flat_map(|entry| match entry {
                ToolEntry::Builtin(tool) => {
                    vec![(tool.tool.name.to_owned(), tool.overrides.prefix.clone(), "builtin", tool.place)]
                }
                ToolEntry::Command(tool) => {
                    vec![(tool.settings.name.clone(), tool.overrides.prefix.clone(), "command", tool.place)]
                }
                ToolEntry::Service(service) => {
                    let names = service.tool_names().into_iter();
                    names.map(|name| (name, None, "service", service.place)).collect()
                }
                ToolEntry::Mcp(_) => Vec::new(),
            })
            .map(|(name, prefix, origin, place)| NamedTool {
                name: prefix.map_or(name.clone(), |prefix| format!("{prefix}{name}")),
                origin,
                place,
            })
            .chain(of_skills)
            .chain(hosted)
            .collect()
    }

    /// The names of the delegates. When all tools are known, none of them may have such a name.
    pub fn delegate_names(&self) -> Vec<NamedTool> {
        let named = self.agents.iter();
        named
            .map(|entry| NamedTool { name: entry.name(), origin: entry.origin(), place: entry.place() })
            .collect()
    }

    pub(super) fn check_names(&self) -> Result<(), AgentFileError> {
        // The name of a file without one is in that file: it is compared when the file is read.
        let named =
            self.agents.iter().filter(|entry| !matches!(entry, DelegateEntry::File { name: None, .. }));
        let named =
            named.map(|entry| NamedTool { name: entry.name(), origin: entry.origin(), place: entry.place() });
        let callable = self.tool_names().into_iter().chain(named);
        self.check_distinct(callable)?;
        let servers = self.tools.iter().filter_map(|entry| match entry {
            ToolEntry::Mcp(server) => {
                let McpConfig { prefix, name, .. } = &server.config;
                let name = prefix.as_ref().unwrap_or(name).clone();
                // Servers without a prefix share no name; their tools are looked at once they are known.
                (!name.is_empty()).then_some(NamedTool { name, origin: "mcp", place: server.place })
            }
            ToolEntry::Builtin(_) | ToolEntry::Command(_) | ToolEntry::Service(_) => None,
        });
        self.check_distinct(servers)
    }

    fn check_distinct(&self, names: impl Iterator<Item = NamedTool>) -> Result<(), AgentFileError> {
        let mut seen: HashMap<String, NamedTool> = HashMap::new();
        for named in names {
            if let Some(first) = seen.get(&named.name) {
                let message = format!(
                    "Two entries are named `{}`: {} in line {} and {} in line {}",
                    named.name, first.origin, first.place.line, named.origin, named.place.line
                );
                let help = Some("rename one of them, or give it a `prefix`".to_owned());
                let problem = Problem::Other { code: "agent.name_clash", message, help };
                return Err(YamlError::new(named.place, "tools", problem).in_file(&self.file).into());
            }
            seen.insert(named.name.clone(), named);
        }
        Ok(())
    }
}
