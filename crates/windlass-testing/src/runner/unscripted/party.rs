//! The agents of a case, as far as the names of their tools go.

use windlass_runtime::agent_file::{AgentFile, BuiltinService, DelegateEntry, ToolEntry};
use windlass_tools::builtin::Takes;

use crate::fixture::{AgentSource, Case, ChildScript, Peer, RealTools, ScriptedTool};
use crate::runner::agent::{agent_of, is_called, is_served_by, named_entries};

/// One agent of a case: the case's own, a peer or a branch.
#[derive(Clone)]
pub(super) struct Party<'c> {
    case: &'c Case,
    /// Its name; `None`: the case's own agent.
    pub(super) name: Option<String>,
    file: AgentFile,
    tools: &'c [ScriptedTool],
    real: &'c RealTools,
    peers: &'c [Peer],
}

impl<'c> Party<'c> {
    pub(super) fn root(case: &'c Case) -> Option<Self> {
        let file = read(case, &case.agent)?;
        let (tools, real, peers) = (&*case.tools, &case.real_tools, &*case.peers);
        Some(Self { case, name: None, file, tools, real, peers })
    }

    /// The agent that a task is handed to. `None`: one whose answers are given.
    pub(super) fn child(&self, name: &str) -> Option<Self> {
        let own = self.peers.iter().find(|peer| peer.name() == name);
        if let Some(Peer::Scripted { .. }) = own {
            return None;
        }
        let env = |name: &str| self.case.variable(name);
        let entries = named_entries(&self.file, &env);
        let entry = entries.iter().find(|(entry, _)| entry == name).map(|(_, entry)| *entry);
        let file = match (entry, own) {
            (Some(DelegateEntry::Branch { file, .. }), _) => (**file).clone(),
            (_, Some(Peer::Agent { script, .. })) => read(self.case, &*agent_of(script, entry).ok()?)?,
            _ => self.unregistered(name)?,
        };
        let party = Self { name: Some(name.to_owned()), file, ..self.clone() };
        Some(match own {
            Some(Peer::Agent { script, .. }) => party.scripted(script),
            _ => party,
        })
    }

    fn scripted(self, script: &'c ChildScript) -> Self {
        Self { tools: &script.tools, real: &script.real_tools, peers: &script.peers, ..self }
    }

    /// A branch that only a hook knows.
    fn unregistered(&self, name: &str) -> Option<AgentFile> {
        let mut asked = self.case.hooks.iter().filter_map(|hook| hook.branch.as_ref());
        read(self.case, asked.find(|branch| branch.name == name)?.agent.as_ref()?)
    }

    /// Whether a tool would be this agent's, and the case says nothing of it.
    pub(super) fn lacks(&self, tool: &str) -> bool {
        let scripted = self.tools.iter().any(|scripted| scripted.name == tool);
        !scripted && !self.real.cover(tool) && self.file.tools.iter().any(|entry| owns(entry, tool))
    }

    /// The same of a name that code uses, where characters that Python's names lack are `_`. Tools that are there answer for
    /// themselves.
    pub(super) fn lacks_in_code(&self, tool: &str) -> bool {
        let scripted = |known: &&ScriptedTool| known.name == tool || in_code(&known.name) == tool;
        let served = |entry: &ToolEntry| match entry {
            ToolEntry::Mcp(server) => {
                let prefix = server.config.tool_prefix();
                owns(entry, tool) || !prefix.is_empty() && tool.starts_with(&in_code(&prefix))
            }
            ToolEntry::Service(_) => owns(entry, tool),
            ToolEntry::Command(_) | ToolEntry::Builtin(_) => false,
        };
        !self.tools.iter().any(|known| scripted(&known)) && self.file.tools.iter().any(served)
    }
}

fn read(case: &Case, agent: &AgentSource) -> Option<AgentFile> {
    agent.read(&|name: &str| case.variable(name)).ok()
}

fn in_code(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Whether a tool of that name would be this entry's, and does not run in the case by itself.
fn owns(entry: &ToolEntry, tool: &str) -> bool {
    match entry {
        ToolEntry::Mcp(server) => is_served_by(&server.config, tool),
        ToolEntry::Service(service) => {
            !matches!(service.service, BuiltinService::Memory(_))
                && service.tool_names().iter().any(|name| *name == *tool)
        }
        ToolEntry::Command(command) => is_called(tool, &command.settings.name, &command.overrides),
        ToolEntry::Builtin(builtin) => {
            builtin.tool.takes != Takes::Nothing && is_called(tool, builtin.tool.name, &builtin.overrides)
        }
    }
}
