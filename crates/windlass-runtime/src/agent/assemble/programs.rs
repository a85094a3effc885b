//! The programs that the tools and tool servers of an agent file start, looked for where the file is only checked.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

use windlass_agent_file::yaml::Place;
use windlass_agent_file::{AgentFile, CommandEntry, McpEntry, ToolEntry};
use windlass_core::secret::Secret;
use windlass_tools::command::find_program;
use windlass_tools::mcp::McpTransport;

/// A line for each program that cannot be started as things stand: it may be made later, or be on another machine.
pub(super) fn missing(file: &AgentFile) -> Vec<String> {
    let of_entry = |entry: &ToolEntry| match entry {
        ToolEntry::Command(entry) => of_command(file, entry),
        ToolEntry::Mcp(entry) => of_server(file, entry).into_iter().collect(),
        ToolEntry::Builtin(_) | ToolEntry::Service(_) => Vec::new(),
    };
    file.tools.iter().flat_map(of_entry).collect()
}

fn of_command(file: &AgentFile, entry: &CommandEntry) -> Vec<String> {
    let settings = &entry.settings;
    let path = search_path(entry.env.iter().map(|(name, value)| (name, value)));
    let lines = [
        ("the tool", "run", Some(&settings.run)),
        ("the check of the tool", "check", settings.check.as_ref()),
    ];
    let fault = |(what, key, line): (&str, &'static str, Option<&Vec<String>>)| {
        let program = Program { line: line?, path: path.clone(), folder: &file.folder, key };
        let fault = program.fault()?;
        Some(written(file, entry.run_place, &format!("{what} `{}`", settings.name), &fault))
    };
    lines.into_iter().filter_map(fault).collect()
}

fn of_server(file: &AgentFile, entry: &McpEntry) -> Option<String> {
    let McpTransport::Stdio { command, env, folder } = &entry.config.transport else { return None };
    let folder = folder.as_deref().unwrap_or(Path::new(""));
    let fault = Program { line: command, path: search_path(env), folder, key: "command" }.fault()?;
    Some(written(file, entry.transport_place, &format!("the tool server `{}`", entry.config.name), &fault))
}

fn written(file: &AgentFile, place: Place, whose: &str, fault: &str) -> String {
    format!("{whose} cannot start ({}:{}:{}): {fault}", file.file, place.line, place.column)
}

/// The `PATH` of a child: its own, else this process's.
fn search_path<'v>(variables: impl IntoIterator<Item = (&'v String, &'v Secret)>) -> Option<OsString> {
    let own = variables.into_iter().filter(|(name, _)| *name == "PATH").last();
    own.map(|(_, value)| value.expose().into()).or_else(|| std::env::var_os("PATH"))
}

/// The program of a command line, and where it is looked for.
struct Program<'l> {
    line: &'l [String],
    path: Option<OsString>,
    folder: &'l Path,
    key: &'static str,
}

impl Program<'_> {
    /// The fault in it, and its remedy.
    fn fault(&self) -> Option<String> {
        let (Self { folder, key, .. }, program) = (self, self.line.first()?);
        let error = find_program(Path::new(program), self.path.as_deref(), folder).err()?;
        let (file, is_path) = (folder.join(program), program.contains('/'));
        let place =
            if file == Path::new(program) { String::new() } else { format!(" in {}", folder.display()) };
        Some(match error.kind() {
            _ if is_path && file.is_dir() => format!("`{program}`{place} is a folder; mend `{key}`"),
            ErrorKind::PermissionDenied if is_path => {
                format!("`{program}` may not be run; `chmod +x {program}`{place} allows it")
            }
            ErrorKind::PermissionDenied => format!("`{program}` in PATH may not be run; mend it, or `{key}`"),
            _ if is_path => format!("`{program}` does not exist{place}; make it, or mend `{key}`"),
            _ if file.is_file() => {
                format!("`{program}` is not in PATH; `./{program}` is the file beside the agent file")
            }
            _ => format!("`{program}` is not in PATH; install it, or mend `{key}`"),
        })
    }
}
