//! The data folder.

use std::path::Path;

use super::{Finding, Level};
use crate::home;

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
    let shown = folder.display().to_string();
    let todo = "make it writable for you, or set WINDLASS_HOME to another folder";
    vec![match writable(&folder) {
        Ok(true) => Finding::new(Level::Ok, what, shown),
        Ok(false) => Finding::new(Level::Ok, what, format!("{shown} (created when needed)")),
        Err(error) => Finding::new(Level::Problem, what, format!("{shown}: {error}")).todo(todo),
    }]
}

/// Whether files can be made in the folder, or it can be made: `false`.
fn writable(folder: &Path) -> std::io::Result<bool> {
    if !folder.exists() {
        let parent = folder.ancestors().skip(1).find(|above| above.exists());
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
