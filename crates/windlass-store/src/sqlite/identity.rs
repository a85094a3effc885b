//! The identity of the log's files: whether the paths still lead to the files that this process has open.
//!
//! SQLite keeps writing to a file that was removed or replaced, and reports success: the appends would be lost with the
//! last descriptor. So the writer compares device and inode of the log, its write-ahead file and its index around each
//! group.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::StoreError;

/// The endings of the files of a log: itself, its write-ahead file, and the index of that with all locks.
const ENDINGS: [&str; 3] = ["", "-wal", "-shm"];

/// Device and inode.
type Id = (u64, u64);

/// The files of a log that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Files([Option<Id>; ENDINGS.len()]);

impl Files {
    /// The files as they are now. Call it once the log is open: SQLite makes the side files with the first read.
    pub(super) fn of(path: &Path) -> Self {
        Self(ENDINGS.map(|ending| id(&beside(path, ending)).ok()))
    }

    /// Checks that all paths still lead to these files.
    pub(super) fn check(&self, path: &Path) -> Result<(), StoreError> {
        ENDINGS.iter().zip(self.0).try_for_each(|(ending, known)| same(&beside(path, ending), known))
    }

    /// As [`Files::check`], of the log alone.
    pub(super) fn check_log(&self, path: &Path) -> Result<(), StoreError> {
        let [log, ..] = self.0;
        same(path, log)
    }
}

fn same(path: &Path, known: Option<Id>) -> Result<(), StoreError> {
    let Some(known) = known else { return Ok(()) };
    let removed = match id(path) {
        Ok(found) if found == known => return Ok(()),
        Ok(_) => false,
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(super::file::unusable(path, error)),
    };
    Err(StoreError::Gone { path: path.to_owned(), removed })
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::with_capacity(path.as_os_str().len() + ending.len());
    name.push(path);
    name.push(ending);
    name.into()
}

#[cfg(unix)]
fn id(path: &Path) -> io::Result<Id> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

/// Elsewhere an open file cannot be removed.
#[cfg(not(unix))]
fn id(path: &Path) -> io::Result<Id> {
    fs::metadata(path).map(|_| (0, 0))
}
