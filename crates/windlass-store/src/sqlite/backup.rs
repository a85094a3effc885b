//! A copy of the log while others write.
//!
//! The copy is made with SQLite's online backup API from a connection that keeps one read transaction open: it is the
//! log as of one moment, writers go on, and nothing they do starts the copy anew. It is made beside its place and moved
//! there once it is whole and on the disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::{Place, file};
use crate::error::StoreError;

/// Number of pages copied per step.
const PAGES: i32 = 4_096;
/// Time to wait if the copy's own file is busy.
const PAUSE: Duration = Duration::from_millis(5);

/// Copies the log to a file that is not there yet. Gives the bytes of the copy.
pub(super) fn backup(place: &Place, to: &Path) -> Result<u64, StoreError> {
    let to = std::path::absolute(to).map_err(|error| file::unusable(to, error))?;
    if to.exists() {
        return Err(file::unusable(&to, "the file already exists, and a backup overwrites nothing"));
    }
    let part = part_of(&to);
    let copied = copy(place, &part).and_then(|()| put_in_place(&part, &to));
    if copied.is_err() {
        // What is left of the copy is of no use to anybody.
        drop(fs::remove_file(&part));
    }
    copied
}

fn part_of(to: &Path) -> PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(format!(".part.{}", std::process::id()));
    to.with_file_name(name)
}

fn copy(place: &Place, part: &Path) -> Result<(), StoreError> {
    file::create(part).map_err(|error| file::unusable(part, error))?;
    let (source, log) = (place.connect()?, &*place.path);
    let failed = |error| file::failure(part, error);
    let moment = source.unchecked_transaction().map_err(|error| file::failure(log, error))?;
    moment
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .map_err(|error| file::failure(log, error))?;
    let mut target = Connection::open(part).map_err(failed)?;
    let backup = Backup::new(&moment, &mut target).map_err(failed)?;
    loop {
        let step = backup.step(PAGES).map_err(failed)?;
        if step == StepResult::Done {
            return Ok(());
        }
        if step != StepResult::More {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Moves the whole copy to its place: on the disk first, then by name.
fn put_in_place(part: &Path, to: &Path) -> Result<u64, StoreError> {
    let placed = || -> io::Result<u64> {
        let copied = fs::File::open(part)?;
        copied.sync_all()?;
        let bytes = copied.metadata()?.len();
        fs::rename(part, to)?;
        if let Some(folder) = to.parent() {
            fs::File::open(folder)?.sync_all()?;
        }
        Ok(bytes)
    };
    placed().map_err(|error| file::unusable(to, error))
}
