//! An agent's file that is unknown, gone or changed: what happened, and the command that goes on with the file.

use std::path::{Path, PathBuf};

use windlass_core::State;
use windlass_core::policy::LimitKind;
use windlass_runtime::agent_file::files::nearest_files;
use windlass_runtime::agent_file::{AgentFile, AgentFileError, FileOverrides};
use windlass_runtime::{AssembleError, Error};

use crate::failure::hints::Hinted as _;
use crate::failure::{Exit, Failure};
use crate::home::{self, quoted};

/// Maximum number of files that are looked at, and of folders within others.
const MOST_FILES: usize = 100;
const MOST_FOLDERS: usize = 20;
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
            self = self.then(["--limit", &format!("{limit}={number}")]);
        }
        self
    }

    /// The command with a file.
    fn with(&self, file: &Path) -> String {
        format!("`{} --with {}{}`", self.before, quoted(&file.display().to_string()), self.after)
    }

    /// The command with the files that are probably meant, else with a word that stands for one.
    fn hints(&self, state: &State, former: Option<&Path>, failure: Failure) -> Failure {
        let found = candidates(state, former);
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
pub(crate) fn unknown(state: &State, again: &Again) -> Failure {
    let failure = Failure::new(Exit::BadFile, format!("the file of agent `{}` is unknown", name(state)));
    again.hints(state, None, failure)
}

/// The failure that the agent's file has moved or was deleted.
pub(super) fn gone(state: &State, path: &Path, again: &Again) -> Failure {
    let failure = Failure::new(
        Exit::BadFile,
        format!("the file of agent `{}` is gone: {}", name(state), path.display()),
    );
    again.hints(state, Some(path), failure)
}

/// The failure of a file that holds no agent. Where there is no such file, or it is a folder, it names the file that is probably
/// meant.
pub(crate) fn unread(error: AgentFileError, path: &Path) -> Failure {
    let near = match error {
        AgentFileError::Read { .. } if path.is_dir() => agents_in(path),
        AgentFileError::Read { .. } if !path.exists() => files_near(path),
        _ => Vec::new(),
    };
    if near.is_empty() {
        return error.into();
    }
    let near: Vec<String> = near.iter().map(|file| format!("`{}`", file.display())).collect();
    Failure::of(Exit::BadFile, &error).hint(format!("did you mean {}?", near.join(" or ")))
}

/// YAML files beside a missing one whose names are like its own, else the one agent file of its folder.
fn files_near(missing: &Path) -> Vec<PathBuf> {
    let folder = missing.parent().unwrap_or(Path::new(""));
    let near: Vec<PathBuf> = nearest_files(missing).iter().map(|name| folder.join(name)).collect();
    if near.is_empty() { agents_in(folder) } else { near.into_iter().take(MOST_SUGGESTED).collect() }
}

/// The one agent file of a folder, if it has exactly one. A variable that is not set does not matter here.
fn agents_in(folder: &Path) -> Vec<PathBuf> {
    let any = |_: &str| Some("1".to_owned());
    let yaml = entries(folder).into_iter().filter(|path| home::is_yaml(path)).take(MOST_FILES);
    let found: Vec<PathBuf> = yaml.filter(|path| AgentFile::read(path, &any).is_ok()).collect();
    if found.len() == 1 { found } else { Vec::new() }
}

/// The failure of an agent whose file is there and cannot be used: that of a delegate, say, is gone.
pub(super) fn unusable(
    error: AssembleError,
    path: &Path,
    overrides: &FileOverrides,
    again: &Again,
) -> Failure {
    let AssembleError::NoDelegate { file: missing, nearest, .. } = &error else { return error.into() };
    let failure = Failure::of(Exit::BadFile, &error);
    let failure = if nearest.is_empty() { failure } else { failure.maybe_hint(error.hint()) };
    if let Some((name, _)) = overrides.agents.iter().find(|(_, file)| file.display().to_string() == *missing)
    {
        return failure.hint(format!(
            "put the file back; or `{} --agent {}=FILE{}` goes on with its new place",
            again.before,
            quoted(name),
            again.after
        ));
    }
    let display_path = path.display();
    failure.hint(format!(
        "put the file back; or name its new place in {display_path}, and {} goes on",
        again.with(path)
    ))
}

/// The failure of going on with the agent of that file, with the command that goes on with it as it is now.
pub(crate) fn changed(error: Error, path: &Path, again: &Again) -> Failure {
    if !matches!(error, Error::AgentChanged { .. }) {
        return error.into();
    }
    Failure::of(Exit::BadFile, &error).hint(format!(
        "{} goes on with the agent as it is now; calls that wait for approval, and have changed, are asked about anew",
        again.with(path)
    ))
}

/// Files that hold an agent of the run's name: in the current folder, and where the file was.
fn candidates(state: &State, former: Option<&Path>) -> Vec<PathBuf> {
    let Some(agent) = state.agent() else { return Vec::new() };
    let is_agent =
        |path: &PathBuf| AgentFile::read(path, &home::env).is_ok_and(|file| *file.name == *agent.name);
    let near =
        folders(former).into_iter().flat_map(|folder| entries(&folder)).filter(|path| home::is_yaml(path));
    let mut found: Vec<PathBuf> = Vec::new();
    for path in near.take(MOST_FILES) {
        let is_new = found.iter().all(|known| home::absolute(known) != home::absolute(&path));
        if found.len() < MOST_SUGGESTED && is_new && is_agent(&path) {
            found.push(path);
        }
    }
    found
}

/// The current folder, that of the former file, and the folders within both.
fn folders(former: Option<&Path>) -> Vec<PathBuf> {
    let mut all = vec![PathBuf::new()];
    all.extend(former.and_then(Path::parent).map(Path::to_owned));
    let is_visible =
        |path: &PathBuf| path.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b"."));
    let within =
        all.iter().flat_map(|folder| entries(folder)).filter(|path| path.is_dir() && is_visible(path));
    let within: Vec<PathBuf> = within.take(MOST_FOLDERS).collect();
    all.extend(within);
    all
}

/// The entries of a folder, by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let names = std::fs::read_dir(here).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut all: Vec<PathBuf> = names.map(|name| folder.join(name)).collect();
    all.sort();
    all
}
