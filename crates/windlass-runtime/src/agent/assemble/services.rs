//! The services of an agent file.

use std::path::Path;
#[cfg(feature = "sqlite")]
use std::path::PathBuf;
use std::sync::Arc;

use windlass_agent_file::{AgentFile, BuiltinService, ServiceEntry, ToolEntry};
use windlass_models::resolve::Env;
use windlass_tools::sandbox::Sandbox;
use windlass_tools::{SharedService, Tool};

use super::error::AssembleError;

/// A service with those of its tools that an agent takes.
#[derive(Clone, Debug)]
pub struct FileService {
    /// The service: it is to be set up before its tools are called.
    pub service: SharedService,
    /// The tools, named as the agent calls them.
    pub tools: Vec<Arc<dyn Tool>>,
}

/// The services of a file. Nothing is set up yet.
///
/// # Errors
/// A service has no tool of a name, or there is no place for its file.
pub fn services(file: &AgentFile, env: Env<'_>) -> Result<Vec<FileService>, AssembleError> {
    let entries = file
        .tools
        .iter()
        .filter_map(|entry| if let ToolEntry::Service(entry) = entry { Some(entry) } else { None });
    let made = entries.map(|entry| {
        let service = match &entry.service {
            BuiltinService::Memory(path) => memory(file, path.as_deref(), env)?,
            BuiltinService::Sandbox(settings) => SharedService::new(Sandbox::new(settings.clone())),
        };
        with_tools(service, entry)
    });
    made.collect()
}

/// The memory in that file, or in the agent's own one in the data folder.
#[cfg(feature = "sqlite")]
fn memory(file: &AgentFile, path: Option<&Path>, env: Env<'_>) -> Result<SharedService, AssembleError> {
    use windlass_tools::memory::Memory;

    if let Some(path) = path {
        return Ok(SharedService::new(Memory::at(path)));
    }
    let home = home(env).ok_or_else(|| AssembleError::NoHome { file: file.file.clone() })?;
    Ok(SharedService::new(Memory::at(home.join("memory").join(format!("{}.db", plain(&file.name))))))
}

#[cfg(not(feature = "sqlite"))]
fn memory(file: &AgentFile, _path: Option<&Path>, _env: Env<'_>) -> Result<SharedService, AssembleError> {
    Err(AssembleError::NotBuilt { file: file.file.clone(), what: "the memory service", feature: "sqlite" })
}

/// The tools of a service that an entry takes.
///
/// # Errors
/// The service has no tool of a name.
pub fn with_tools(service: SharedService, entry: &ServiceEntry) -> Result<FileService, AssembleError> {
    let tools = if entry.pick.is_empty() {
        service.tools_as(entry.prefix.as_deref())
    } else {
        let failed = |source| AssembleError::Tool { tool: entry.name().to_owned(), source };
        service.pick(entry.pick.iter().map(String::as_str)).map_err(failed)?
    };
    let tools = tools.into_iter().map(|tool| entry.overrides.apply(tool)).collect();
    Ok(FileService { service, tools })
}

/// The folder of all of Windlass's files: `WINDLASS_HOME`, else the user's data folder (XDG Base Directory 0.8).
#[cfg(feature = "sqlite")]
fn home(env: Env<'_>) -> Option<PathBuf> {
    let set = |name| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(home) = set("WINDLASS_HOME") {
        return std::path::absolute(home).ok();
    }
    let data = set("XDG_DATA_HOME").filter(|path| path.is_absolute());
    data.or_else(|| set("HOME").map(|home| home.join(".local/share"))).map(|data| data.join("windlass"))
}

/// A name that can be a file's.
#[cfg(feature = "sqlite")]
fn plain(name: &str) -> String {
    let safe = |char: char| if char.is_alphanumeric() || "-_".contains(char) { char } else { '_' };
    name.chars().map(safe).collect()
}
