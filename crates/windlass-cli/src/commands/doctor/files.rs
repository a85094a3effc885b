//! The data folder, and the files in it that people set.

use std::path::Path;

use windlass_runtime::agent_file::AgentFile;

use super::{Finding, Level};
use crate::home;
use crate::settings;

/// The data folder.
pub(super) fn home() -> Vec<Finding> {
    let what = "data folder";
    let folder = match home::folder() {
        Ok(folder) => folder,
        Err(failure) => {
            return vec![
                Finding::new(Level::Problem, what, failure.message()).todo("set WINDLASS_HOME to a folder"),
            ];
        }
    };
    let display_path = folder.display().to_string();
    let todo = "make it writable for you, or set WINDLASS_HOME to another folder";
    vec![match writable(&folder) {
        Ok(true) => Finding::new(Level::Ok, what, display_path),
        Ok(false) => Finding::new(Level::Ok, what, format!("{display_path} (created when needed)")),
        Err(error) => Finding::new(Level::Problem, what, format!("{display_path}: {error}")).todo(todo),
    }]
}

/// The agent that answers questions without an agent file.
pub(super) fn default_agent() -> Finding {
    let what = "default agent";
    let todo = "`windlass agents default FILE` sets another one, `windlass agents default --unset` none";
    match settings::default_agent() {
        Ok(None) => Finding::new(
            Level::Ok,
            what,
            "the built-in assistant (`windlass agents default FILE` sets another one)",
        ),
        Ok(Some(file)) => match AgentFile::read(&file, &home::env) {
            Ok(_) => Finding::new(Level::Ok, what, file.display().to_string()),
            Err(error) => Finding::new(Level::Problem, what, error.to_string()).todo(todo),
        },
        Err(failure) => {
            Finding::new(Level::Problem, what, failure.message()).todo("repair the file, or remove it")
        }
    }
}

/// Whether files can be made in the folder, or it can be made: `false`.
fn writable(folder: &Path) -> std::io::Result<bool> {
    if !folder.exists() {
        let parent = folder.ancestors().skip(1).find(|ancestor| ancestor.exists());
        return match parent {
            Some(parent) => rustix::fs::access(parent, rustix::fs::Access::WRITE_OK)
                .map(|()| false)
                .map_err(std::io::Error::from),
            None => Ok(false),
        };
    }
    let probe = folder.join(format!(".probe.{}", std::process::id()));
    std::fs::write(&probe, b"")?;
    std::fs::remove_file(probe)?;
    Ok(true)
}
