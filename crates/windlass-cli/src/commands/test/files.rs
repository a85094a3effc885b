//! Collects the test cases.

use std::path::{Path, PathBuf};

use windlass_testing::fixture::{Case, FixtureError, FixtureFile};

use crate::failure::{Exit, Failure};

/// Maximum nesting depth of folders.
const DEEPEST_FOLDER: usize = 32;

/// A case, or what is wrong with it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) file: PathBuf,
    /// Its name; a file that is no list of cases at all stands as one case with the file's name.
    pub(super) name: String,
    pub(super) case: Result<Case, Broken>,
}

/// Error in a case or its file.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) line: Option<usize>,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// All cases of these files and folders, in order.
pub(super) fn find(paths: &[PathBuf]) -> Result<Vec<Found>, Failure> {
    let mut cases = Vec::new();
    for path in paths {
        let kind = std::fs::metadata(path).map_err(|error| missing(path, &error))?;
        if kind.is_dir() {
            let mut files = Vec::new();
            walk(path, DEEPEST_FOLDER, &mut files)?;
            for file in files {
                read(&file, &mut cases);
            }
        } else {
            read(path, &mut cases);
        }
    }
    Ok(cases)
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
    match FixtureFile::read(path) {
        Ok(file) => cases.extend(file.cases.into_iter().map(|case| match case {
            Ok(case) => Found { file: path.to_owned(), name: case.name.clone(), case: Ok(case) },
            Err(error) => {
                let (line, help) = (Some(error.line()), error.help());
                let broken = Broken { line, message: error.error.to_string(), help };
                Found { file: path.to_owned(), name: error.name, case: Err(broken) }
            }
        })),
        Err(error) => cases.push(unreadable(path, &error)),
    }
}

/// A file that holds no cases at all: it fails as one.
fn unreadable(path: &Path, error: &FixtureError) -> Found {
    let line = if let FixtureError::Yaml(error) = error { Some(error.line) } else { None };
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Found { file: path.to_owned(), name, case: Err(Broken { line, message, help: error.help() }) }
}
