//! The folders in which relative paths among a call's arguments begin.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_runtime::agent_file::{AgentFile, ToolEntry};
use windlass_tools::command::CommandSettings;
use windlass_tools::mcp::{McpConfig, McpTransport};

use super::subject::Subject;
use crate::home::quoted;

/// Beginning of the origin of a server's tools.
const SERVER: &str = "mcp ";

/// Where the tools of an agent begin relative paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Roots {
    /// The folder of the agent's file: commands run there. `None`: on another machine.
    folder: Option<PathBuf>,
    /// The folders of its tool servers, as far as they are known. A server has rules of its own: its working folder says nothing.
    servers: BTreeMap<String, Option<PathBuf>>,
    /// The programs that are tools.
    commands: BTreeMap<String, CommandSettings>,
}

impl Roots {
    /// Those of a file's tools.
    pub(crate) fn of(file: &AgentFile) -> Self {
        let folder = std::path::absolute(&file.folder)
            .or_else(|_| std::env::current_dir())
            .unwrap_or_else(|_| file.folder.clone());
        let servers = file.tools.iter().filter_map(|entry| match entry {
            ToolEntry::Mcp(server) => Some((server.config.name.clone(), of_server(&server.config, &folder))),
            ToolEntry::Builtin(_) | ToolEntry::Command(_) | ToolEntry::Service(_) => None,
        });
        let commands = file.tools.iter().filter_map(|entry| match entry {
            ToolEntry::Command(command) => Some((command.settings.name.clone(), command.settings.clone())),
            ToolEntry::Mcp(_) | ToolEntry::Builtin(_) | ToolEntry::Service(_) => None,
        });
        Self { servers: servers.collect(), folder: Some(folder), commands: commands.collect() }
    }

    /// The command line of a call that runs a program. `None`: it runs none, or it is not known.
    pub(super) fn command_of(&self, call: &Subject) -> Option<String> {
        let is_command = !call.delegated && call.spec.as_ref().is_some_and(|spec| &*spec.origin == "command");
        let settings = self.commands.get(&*call.tool).filter(|_| is_command)?;
        let words = settings.line(&call.args)?;
        Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
    }

    /// Where the tool of a call begins a relative path. `None`: that is not known.
    pub(super) fn of_call(&self, call: &Subject) -> Option<&Path> {
        if call.delegated {
            return None;
        }
        let server = call.spec.as_ref().and_then(|spec| spec.origin.strip_prefix(SERVER));
        match server {
            Some(server) => self.servers.get(server)?.as_deref(),
            None => self.folder.as_deref(),
        }
    }
}

/// The folder of a server: the only one among its arguments. Windlass itself gives a server none.
fn of_server(server: &McpConfig, folder: &Path) -> Option<PathBuf> {
    let McpTransport::Stdio { command, .. } = &server.transport else { return None };
    let given = command.iter().skip(1).map(|argument| {
        // `--root=docs` names a folder, too.
        let value =
            argument.strip_prefix("--").and_then(|option| option.split_once('=')).map(|(_, value)| value);
        folder.join(value.unwrap_or(argument))
    });
    let mut folders = given.filter(|path| path.is_dir());
    let first = folders.next()?;
    // Without `.` in its midst, as people write it.
    folders.next().is_none().then(|| first.components().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass_core::ToolSpec;

    use super::*;

    fn roots(folder: &Path, server: &str) -> Roots {
        let path = folder.join("agent.yaml");
        std::fs::write(&path, format!("name: a\ntools: [ {{ mcp: {{ name: files, {server} }} }} ]\n"))
            .unwrap();
        Roots::of(&AgentFile::read(&path, &|_| None).unwrap())
    }

    fn call(origin: &str) -> Subject {
        let mut spec = ToolSpec::read_only("files__write_file", "Writes.", json!({ "type": "object" }));
        spec.origin = origin.into();
        Subject { spec: Some(spec), ..Subject::example("files__write_file", &json!({})) }
    }

    #[test]
    fn a_path_begins_in_the_only_folder_among_a_servers_arguments() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        for name in ["docs", "more"] {
            std::fs::create_dir(folder.join(name)).unwrap();
        }
        let root = |server: &str| {
            roots(&folder, server).of_call(&call("mcp files")).map(Path::as_os_str).map(ToOwned::to_owned)
        };
        let docs = folder.join("docs").into_os_string();
        assert_eq!(root("command: [npx, -y, server, ./docs]"), Some(docs.clone()));
        assert_eq!(root("command: [server, \"--root=docs\"]"), Some(docs.clone()));
        assert_eq!(root(&format!("command: [server, {}]", docs.display())), Some(docs));
        for unknown in
            ["command: [server]", "command: [server, docs, more]", "command: [docs]", "url: \"http://h/mcp\""]
        {
            assert_eq!(root(unknown), None, "{unknown}");
        }
        let roots = roots(&folder, "command: [server, docs]");
        assert_eq!(roots.of_call(&call("command")), Some(&*folder));
        assert_eq!(roots.of_call(&call("mcp other")), None);
        assert_eq!(roots.of_call(&Subject { delegated: true, ..call("command") }), None);
    }
}
