//! The identity of the log's files: whether the paths still lead to the files that this process has open, and how long
//! these are.
//!
//! SQLite keeps writing to a file that was removed or replaced, and reports success: the appends would be lost with the
//! last descriptor. So the writer compares device and inode of the log, its write-ahead file and its index around each
//! group.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{StoreError, Taken};

/// The endings of the files of a log: itself, its write-ahead file, and the index of that with all locks.
const ENDINGS: [&str; 3] = ["", "-wal", "-shm"];

/// Device and inode.
type Id = (u64, u64);

/// Length of each file in bytes, in the order of [`ENDINGS`].
pub(super) type Lengths = [u64; ENDINGS.len()];

/// The files of a log that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Files([Option<Id>; ENDINGS.len()]);

impl Files {
    /// The files as they are now. Call it once the log is open: SQLite makes the side files with the first read.
    pub(super) fn of(path: &Path) -> Self {
        Self(ENDINGS.map(|ending| seen(&sidecar(path, ending)).ok().map(|(id, _)| id)))
    }

    /// Checks that all paths still lead to these files.
    pub(super) fn check(&self, path: &Path) -> Result<Lengths, StoreError> {
        let mut lengths = Lengths::default();
        for ((ending, known), length) in ENDINGS.iter().zip(self.0).zip(&mut lengths) {
            *length = same(&sidecar(path, ending), known)?;
        }
        Ok(lengths)
    }

    /// As [`Files::check`], of the log alone.
    pub(super) fn check_log(&self, path: &Path) -> Result<u64, StoreError> {
        let [log, ..] = self.0;
        same(path, log)
    }
}

/// The length of the file, after a check that it is the known one.
fn same(path: &Path, known: Option<Id>) -> Result<u64, StoreError> {
    let Some(known) = known else { return Ok(0) };
    let how = match seen(path) {
        Ok((found, length)) if found == known => return Ok(length),
        Ok(_) => Taken::Replaced,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Taken::Removed,
        Err(error) => return Err(super::file::unusable(path, error)),
    };
    Err(StoreError::Gone { path: path.to_owned(), how })
}

pub(super) fn sidecar(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::with_capacity(path.as_os_str().len() + ending.len());
    name.push(path);
    name.push(ending);
    name.into()
}

#[cfg(unix)]
fn seen(path: &Path) -> io::Result<(Id, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).map(|found| ((found.dev(), found.ino()), found.len()))
}

/// Elsewhere an open file cannot be removed.
#[cfg(not(unix))]
fn seen(path: &Path) -> io::Result<(Id, u64)> {
    fs::metadata(path).map(|found| ((0, 0), found.len()))
}
