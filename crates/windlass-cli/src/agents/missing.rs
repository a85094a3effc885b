//! An agent's file that is unknown, gone or changed: what happened, and the command that goes on with the file.

use std::path::{Path, PathBuf};

use windlass_core::State;
use windlass_core::policy::LimitKind;
use windlass_runtime::agent_file::{AgentFile, AgentFileError};
use windlass_runtime::{AssembleError, Error};

use super::Found;
use crate::failure::{Exit, Failure};
use crate::home::{self, quoted};
use crate::notes;
use crate::overrides::Overrides;

/// Maximum number of files in the current folder that are looked at.
const MOST_FILES: usize = 100;
/// Maximum number of files that are suggested.
const MOST_SUGGESTED: usize = 2;

/// A command that is given again, with the agent's file.
#[derive(Clone, Debug)]
pub(crate) struct Again {
    before: String,
    after: String,
}

impl Again {
    /// The file is named after these words.
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self { before: words.into(), after: String::new() }
    }

    /// These arguments follow after the file.
    pub(crate) fn then<'w>(mut self, arguments: impl IntoIterator<Item = &'w str>) -> Self {
        for argument in arguments {
            self.after.push(' ');
            self.after.push_str(&quoted(argument));
        }
        self
    }

    /// The limits that the command raises.
    pub(crate) fn then_limits(mut self, limits: &[(LimitKind, f64)]) -> Self {
        for (limit, number) in limits {
            self.after.push_str(&format!(" --limit {limit}={number}"));
        }
        self
    }

    /// The command with a file.
    fn with(&self, file: &Path) -> String {
        format!("`{} --with {}{}`", self.before, quoted(&file.display().to_string()), self.after)
    }

    /// The command with the files that are probably meant, else with a word that stands for one.
    fn hints(&self, state: &State, failure: Failure) -> Failure {
        let found = candidates(state);
        if found.is_empty() {
            let hint = format!("`{} --with FILE{}` goes on with the agent in FILE", self.before, self.after);
            return failure.hint(hint);
        }
        let hint = |file: &PathBuf| format!("{} goes on with the agent in that file", self.with(file));
        found.iter().map(hint).fold(failure, Failure::hint)
    }
}

fn name(state: &State) -> String {
    state.agent().map_or_else(|| "?".to_owned(), |agent| agent.name.to_string())
}

/// The failure that nobody knows where the agent came from.
pub(super) fn unknown(state: &State, again: &Again) -> Failure {
    let failure = Failure::new(Exit::BadFile, format!("the file of agent `{}` is unknown", name(state)));
    again.hints(state, failure)
}

/// The failure that the agent's file has moved or was deleted.
pub(super) fn gone(state: &State, path: &Path, again: &Again) -> Failure {
    let failure = Failure::new(
        Exit::BadFile,
        format!("the file of agent `{}` is gone: {}", name(state), path.display()),
    );
    again.hints(state, failure)
}

/// The failure of an agent whose file is there and cannot be used: that of a delegate, say, is gone.
pub(super) fn unusable(error: AssembleError, path: &Path, overrides: &Overrides, again: &Again) -> Failure {
    let AssembleError::File(AgentFileError::Read { path: missing, .. }) = &error else { return error.into() };
    let failure = Failure::of(Exit::BadFile, &error);
    if let Some((name, _)) = overrides.agents.iter().find(|(_, file)| file == missing) {
        return failure.hint(format!(
            "put the file back; or `{} --agent {}=FILE{}` goes on with its new place",
            again.before,
            quoted(name),
            again.after
        ));
    }
    let shown = path.display();
    failure.hint(format!(
        "put the file back; or name its new place in {shown}, and {} goes on",
        again.with(path)
    ))
}

/// The failure of going on with the agent that was found, with the command that goes on with it as it is now.
pub(crate) fn changed(error: Error, found: &Found, again: &Again) -> Failure {
    if !matches!(error, Error::AgentChanged { .. }) {
        return error.into();
    }
    Failure::of(Exit::BadFile, &error).hint(format!(
        "{} goes on with the agent as it is now; calls that wait for approval, and have changed, are asked about anew",
        again.with(&found.path)
    ))
}

/// Files that hold an agent of the run's name: where it was used from lately, and in the current folder.
fn candidates(state: &State) -> Vec<PathBuf> {
    let Some(agent) = state.agent() else { return Vec::new() };
    let is_agent =
        |path: &PathBuf| AgentFile::read(path, &home::env).is_ok_and(|file| *file.name == *agent.name);
    let used = home::folder().map(|home| notes::paths_of(&home, &agent.name)).unwrap_or_default();
    let mut found: Vec<PathBuf> = Vec::new();
    for path in in_this_folder().into_iter().chain(used) {
        let is_new = found.iter().all(|known| home::absolute(known) != home::absolute(&path));
        if found.len() < MOST_SUGGESTED && is_new && is_agent(&path) {
            found.push(path);
        }
    }
    found
}

/// The YAML files of the current folder, by name.
fn in_this_folder() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(".").into_iter().flatten().flatten();
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|kind| kind == "yaml" || kind == "yml");
    let mut files: Vec<PathBuf> =
        entries.map(|entry| PathBuf::from(entry.file_name())).filter(is_yaml).collect();
    files.sort();
    files.truncate(MOST_FILES);
    files
}
