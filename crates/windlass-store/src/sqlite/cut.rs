//! Whether the log's files were cut short while they were in use.
//!
//! SQLite keeps the position of the next frame of the write-ahead file in its index. It writes there even if the file was
//! truncated, and reports success: the missing part reads as zeros, and the next checkpoint copies them into the log. The log
//! itself is never shortened. Checkpoints of any process shorten or restart the write-ahead file; its header then differs.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::file::WAL_LIMIT;
use super::identity::{Lengths, sidecar};
use crate::error::{StoreError, Taken};

/// Start of a write-ahead file (SQLite, "WAL-mode File Format"), for either byte order, without the last bit.
const MAGIC: [u8; 4] = [0x37, 0x7f, 0x06, 0x82];
/// The bytes of a header.
const HEADER: usize = 32;

/// The header of a write-ahead file.
type Header = [u8; HEADER];

/// Lengths of the files when they were last checked.
#[derive(Debug, Default)]
pub(super) struct Extent {
    log: u64,
    wal: Option<File>,
    header: Header,
    frames: u64,
    /// The file that was cut short: it cannot be mended while SQLite's index speaks of what was cut off.
    cut: Option<PathBuf>,
}

impl Extent {
    /// Checks the files before something is written.
    ///
    /// # Errors
    /// [`StoreError::Gone`]: one of them is shorter than it was.
    pub(super) fn before(&mut self, path: &Path, [log, wal, _]: Lengths) -> Result<(), StoreError> {
        if log < self.log {
            self.cut = Some(path.to_owned());
        }
        if wal < self.frames && self.read().is_some_and(|header| header == self.header) {
            self.cut = Some(sidecar(path, "-wal"));
        }
        self.check()
    }

    /// Checks the files after something was written, and takes note of how far they reach.
    ///
    /// # Errors
    /// [`StoreError::Gone`]: what was written stands behind a hole.
    pub(super) fn after(&mut self, path: &Path, log: u64) -> Result<(), StoreError> {
        self.log = log;
        if self.wal.is_none() {
            // Without a free descriptor it is looked at the next time.
            self.wal = File::open(sidecar(path, "-wal")).ok();
        }
        // It is empty after a checkpoint of another process.
        let Some(header) = self.read() else { return self.check() };
        if header.first_chunk().is_none_or(|[a, b, c, d]| [*a, *b, *c, d & !1] != MAGIC) {
            self.cut = Some(sidecar(path, "-wal"));
            return self.check();
        }
        let length = self.wal.as_ref().and_then(|wal| wal.metadata().ok()).map_or(0, |found| found.len());
        // A new one counts only with the length that it had itself.
        let known = header == self.header || self.read() == Some(header);
        (self.header, self.frames) = if known { (header, length.min(WAL_LIMIT)) } else { Default::default() };
        self.check()
    }

    /// Whether the write-ahead file has a hole, which no checkpoint may carry into the log.
    pub(super) fn has_hole(&self, path: &Path) -> bool {
        self.cut.as_ref().is_some_and(|cut| cut != path)
    }

    fn check(&self) -> Result<(), StoreError> {
        let Some(path) = self.cut.clone() else { return Ok(()) };
        Err(StoreError::Gone { path, how: Taken::CutShort })
    }

    /// The header of the write-ahead file, if it has one.
    fn read(&self) -> Option<Header> {
        let mut header = Header::default();
        read_at_start(self.wal.as_ref()?, &mut header).ok()?;
        Some(header)
    }
}

#[cfg(unix)]
fn read_at_start(file: &File, bytes: &mut [u8]) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, 0)
}

#[cfg(not(unix))]
fn read_at_start(mut file: &File, bytes: &mut [u8]) -> std::io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(0))?;
    file.read_exact(bytes)
}
