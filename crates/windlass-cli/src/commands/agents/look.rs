//! Facts about an agent file that are found without starting anything.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use windlass_error::Diagnostic as _;
use windlass_runtime::agent_file::yaml::YamlError;
use windlass_runtime::agent_file::{AgentFile, AgentFileError, ToolEntry, UnmatchedPattern};
use windlass_runtime::{AssembleError, check, check_delegates, local_tools, services};

use crate::agents::unread;
use crate::failure::Failure;
use crate::home;

/// Stands in for a variable that is not set: long enough to be masked, and a host's name.
const PART: &str = "unset-environment-variable";
/// Stands in for one that holds a whole address.
const ADDRESS: &str = "http://127.0.0.1:9";

/// Facts about a valid file.
pub(in crate::commands) struct Sound {
    pub(super) name: String,
    pub(in crate::commands) models: Vec<String>,
    pub(super) tools: usize,
    pub(super) servers: usize,
    /// The names of its skills.
    pub(super) skills: Vec<String>,
    /// The `AGENTS.md` that is among its instructions.
    pub(super) agents_md: Option<PathBuf>,
    pub(super) delegates: usize,
    /// Estimated tokens of the system message, without the tools of servers.
    pub(super) prompt_tokens: u64,
    /// Reasons why it cannot run in this environment.
    pub(in crate::commands) missing: Vec<String>,
    /// Warnings for its author.
    pub(super) warnings: Vec<String>,
    /// Patterns that match no tool.
    pub(super) unmatched: Vec<UnmatchedPattern>,
}

/// All that can be said of a file, or all that is wrong with it.
pub(in crate::commands) fn looked(path: &Path) -> Result<Sound, Vec<Failure>> {
    // Whether a variable stands for an address or for a part of one is seen from what fits.
    look(path, &Unset::with(PART)).or_else(|wrong| look(path, &Unset::with(ADDRESS)).map_err(|_| wrong))
}

fn look(path: &Path, unset: &Unset) -> Result<Sound, Vec<Failure>> {
    let env = |name: &str| unset.env(name);
    let one = |failure: Failure| vec![failure];
    let file = unset.reading(|| AgentFile::read(path, &env)).map_err(|error| every(path, error, &env))?;
    let of_file = |error: AssembleError| one(error.into());
    let delegates = unset.assembling(|| check_delegates(&file, &env)).map_err(of_file)?;
    let checked = unset.assembling(|| check(&file, &env)).map_err(of_file)?;
    let mut tools = local_tools(&file).map_err(of_file)?;
    tools.extend(services(&file, &env).map_err(of_file)?.into_iter().flat_map(|found| found.tools));
    let models = match file.models.as_slice() {
        [] => vec!["auto".to_owned()],
        models => models.iter().map(|entry| entry.use_.clone()).collect(),
    };
    let missing = unset.names().into_iter().map(|name| format!("the environment variable {name} is not set"));
    Ok(Sound {
        models,
        tools: tools.len(),
        skills: file.skills.iter().map(|skill| skill.name.to_string()).collect(),
        agents_md: file.agents_md.and_then(|agents_md| Some(agents_md.found?.0)),
        servers: file.tools.iter().filter(|entry| matches!(entry, ToolEntry::Mcp(_))).count(),
        delegates,
        prompt_tokens: checked.agent.prompt_tokens().map_err(|error| one(error.into()))?,
        missing: missing.chain(checked.missing).collect(),
        warnings: checked.warnings,
        unmatched: checked.unmatched,
        name: file.name,
    })
}

/// All that is wrong with a file's text, or else what was found first.
fn every(path: &Path, first: AgentFileError, env: windlass_models::resolve::Env<'_>) -> Vec<Failure> {
    let faults: Vec<YamlError> = AgentFile::faults(path, env);
    match faults.len() {
        0 | 1 => vec![unread(first, path)],
        _ => faults.into_iter().map(|fault| Failure::from(AgentFileError::from(fault))).collect(),
    }
}

/// The environment, with stand-ins for variables that a file needs and that are not set.
struct Unset {
    stand_in: &'static str,
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    /// The last variable that was asked for in vain.
    last: Option<String>,
    names: Vec<String>,
}

impl Unset {
    fn with(stand_in: &'static str) -> Self {
        Self { stand_in, found: Mutex::default() }
    }

    fn env(&self, name: &str) -> Option<String> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if found.names.iter().any(|other| other == name) {
            return Some(self.stand_in.to_owned());
        }
        let value = home::env(name);
        if value.is_none() {
            found.last = Some(name.to_owned());
        }
        value
    }

    fn names(&self) -> Vec<String> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).names.clone()
    }

    fn reading<T>(&self, read: impl Fn() -> Result<T, AgentFileError>) -> Result<T, AgentFileError> {
        self.until_all_are_there(read, AgentFileError::code)
    }

    fn assembling<T>(&self, make: impl Fn() -> Result<T, AssembleError>) -> Result<T, AssembleError> {
        self.until_all_are_there(make, AssembleError::code)
    }

    /// Tries again as long as a variable is missing, with a stand-in for it.
    fn until_all_are_there<T, E>(
        &self,
        make: impl Fn() -> Result<T, E>,
        code: impl Fn(&E) -> &'static str,
    ) -> Result<T, E> {
        loop {
            let made = make();
            let lacks = matches!(&made, Err(error) if code(error) == "agent.missing_env");
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            match found.last.take().filter(|_| lacks) {
                // Each name is asked for in vain only once, so there is an end.
                Some(name) => found.names.push(name),
                None => return made,
            }
        }
    }
}
