//! Collects the test cases.

use std::path::{Path, PathBuf};

use windlass_error::in_full;
use windlass_runtime::agent_file::files;
use windlass_runtime::yaml::{self, YamlError};
use windlass_testing::fixture::{Case, FileKind, FixtureError, FixtureFile};

use crate::failure::hints::Hinted as _;
use crate::failure::{Exit, Failure};

/// Maximum nesting depth of folders.
const DEEPEST_FOLDER: usize = 32;
/// Maximum number of agent files named in a message.
const MOST_NAMED: usize = 5;

/// A case, or what is wrong with it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) file: PathBuf,
    /// Its name; a file that is no list of cases at all stands as one case with the file's name.
    pub(super) name: String,
    pub(super) case: Result<Case, Broken>,
}

/// The errors of a case or its file, at least one.
pub(super) type Broken = Vec<Fault>;

/// An error in a case or its file.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// The line in the case's file.
    pub(super) line: Option<usize>,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Fault {
    fn of(file: &Path, error: &YamlError) -> Self {
        let own = error.file.is_empty() || Path::new(&error.file) == file;
        Self { line: own.then_some(error.line), message: error.to_string(), help: error.hint() }
    }
}

/// All cases of the given files and folders.
#[derive(Debug, Default)]
pub(super) struct All {
    pub(super) cases: Vec<Found>,
    /// The agent files in the folders, which hold no cases.
    pub(super) agents: Vec<PathBuf>,
}

/// All cases of these files and folders, in order.
pub(super) fn find(paths: &[PathBuf]) -> Result<All, Failure> {
    let mut all = All::default();
    for path in paths {
        let kind = std::fs::metadata(path).map_err(|error| missing(path, &error))?;
        if kind.is_dir() {
            let mut files = Vec::new();
            walk(path, DEEPEST_FOLDER, &mut files)?;
            for file in files {
                if is_agent(&file) {
                    all.agents.push(file);
                } else {
                    read(&file, &mut all.cases);
                }
            }
        } else if is_agent(path) {
            return Err(agent_given(path));
        } else {
            read(path, &mut all.cases);
        }
    }
    Ok(all)
}

/// Whether a file is an agent file by its keys. One that cannot be read is not.
fn is_agent(path: &Path) -> bool {
    let text = files::read(path, yaml::MAX_BYTES as u64).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let document = text.and_then(|text| yaml::parse(&text).ok());
    document.is_some_and(|document| FileKind::of(&document) == FileKind::Agent)
}

fn agent_given(path: &Path) -> Failure {
    Failure::new(Exit::BadFile, format!("{} is an agent file and holds no test cases", path.display()))
        .hint(format!("write a case that names it, in a file of its own: {}", first_case(path)))
        .hint("`windlass test --help` shows a case, docs/testing.md has all keys")
}

/// The error for folders that hold agent files and no cases.
pub(super) fn only_agents(agents: &[PathBuf]) -> Failure {
    let named: Vec<String> = agents.iter().take(MOST_NAMED).map(|path| path.display().to_string()).collect();
    let more = agents.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let first = agents.first().map(|path| first_case(path)).unwrap_or_default();
    Failure::new(Exit::BadFile, format!("no cases found, only agent files: {}{more}", named.join(", ")))
        .hint(format!("write a case that names one of them, in a file of its own: {first}"))
        .hint("`windlass test --help` shows a case, docs/testing.md has all keys")
}

/// The start of a case for an agent file.
fn first_case(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    format!("`agent: ./{name}`, `model: [ ... ]`, `input: ...`, `expect: {{ ... }}`")
}

fn missing(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::BadFile, format!("{} cannot be read", path.display()))
        .cause(error.to_string())
        .hint("name a file of scripted conversations, or a folder of such files")
}

/// All YAML files below a folder, in the order of their names; hidden ones are left out.
fn walk(folder: &Path, deep: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries = std::fs::read_dir(folder).map_err(|error| missing(folder, &error))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|error| missing(folder, &error))?.path());
    }
    paths.sort();
    for path in paths {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        if hidden {
            continue;
        }
        if path.is_dir() {
            if deep > 0 {
                walk(&path, deep - 1, files)?;
            }
        } else if yaml {
            files.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path, cases: &mut Vec<Found>) {
    let file = path.to_owned();
    match FixtureFile::read(path) {
        Ok(found) => cases.extend(found.cases.into_iter().map(|case| {
            let (name, case) = match case {
                Ok(case) => (case.name.clone(), sound(&file, case)),
                Err(error) => {
                    (error.name, Err(error.errors.iter().map(|error| Fault::of(&file, error)).collect()))
                }
            };
            Found { file: file.clone(), name, case }
        })),
        Err(error) => cases.push(unreadable(path, &error)),
    }
}

/// A case whose agents can be read.
fn sound(file: &Path, case: Case) -> Result<Case, Broken> {
    let faults = case.faults();
    if faults.is_empty() {
        Ok(case)
    } else {
        Err(faults.iter().map(|fault| Fault::of(file, fault)).collect())
    }
}

/// A file that holds no cases at all: it fails as one.
fn unreadable(path: &Path, error: &FixtureError) -> Found {
    let line = if let FixtureError::Yaml(error) = error { Some(error.line) } else { None };
    let message = in_full(error);
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Found { file: path.to_owned(), name, case: Err(vec![Fault { line, message, help: error.hint() }]) }
}
