//! The log's file: how it is made, recognised and opened, and what its errors mean.

use std::cmp::Ordering;
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction};

use super::header::{self, Header};
use super::locked::locked;
use super::{Durability, SqliteOptions};
use crate::error::StoreError;

/// `Wdlg` in ASCII: marks a SQLite file as a Windlass log (SQLite, "Database File Format", 1.3.17).
const APPLICATION_ID: i32 = 0x5764_6c67;
/// The marks of logs that were written before format 1 began anew: `Wdls`, whose appends have no cause, and `Wndl`, whose runs
/// have neither owner nor head. They are refused.
const OLD_IDS: [i32; 2] = [0x5764_6c73, 0x576e_646c];
/// The formats that this version reads.
const FORMATS: Formats = Formats(&[include_str!("format1.sql"), include_str!("format2.sql")]);
/// The newest format, which this version writes. A file of an older format is migrated when it is opened.
pub(super) const FORMAT: u32 = FORMATS.newest();
/// `SQLITE_IOERR_SHMSIZE` (SQLite, "Result and Error Codes").
const SHM_SIZE: i32 = rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
/// `SQLITE_IOERR_WRITE`, the same place.
const WRITE: i32 = rusqlite::ffi::SQLITE_IOERR_WRITE;
/// Distance to the size limit, in bytes, at which a failed write is blamed on the limit: more than SQLite writes at once.
const NEAR: u64 = 1 << 20;
/// To how many bytes a checkpoint may cut a write-ahead file with an unchanged header.
pub(super) const WAL_LIMIT: u64 = 64 * 1024 * 1024;
/// Interval between tries while another process creates the same file.
const RETRY: Duration = Duration::from_millis(5);
/// The most statements that a connection keeps parsed: all of the log's.
const STATEMENTS: usize = 128;

/// Opens the log for reading and writing; makes it if there is no file or an empty one.
pub(super) fn open(path: &Path, options: &SqliteOptions) -> Result<Connection, StoreError> {
    if let Some(header) = header::of(path) {
        FORMATS.known(header).refuse(path)?;
    }
    create(path).map_err(|error| unusable(path, error))?;
    let connection = connect(path, options)?;
    if connection.is_readonly("main").map_err(|error| failure(path, error))? {
        return Err(unusable(path, "the file is read-only"));
    }
    let format = FORMATS.seen_by(&connection).map_err(|error| failure(path, error))?;
    format.refuse(path)?;
    if let Format::Empty | Format::Older(_) = format {
        FORMATS.make(path, options, &connection)?;
    }
    Ok(connection)
}

/// One more connection to a log that [`open`] has seen.
pub(super) fn connect(path: &Path, options: &SqliteOptions) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let set_up = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        // A statement is planned once, and not anew for each value that is bound to it (SQLite, "The Query Planner Stability Guarantee").
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.busy_timeout(busy_timeout(options))?;
        connection.execute_batch(match options.durability {
            Durability::Full => "PRAGMA synchronous=FULL",
            Durability::Normal { .. } => "PRAGMA synchronous=NORMAL",
        })?;
        connection.execute_batch(&format!("PRAGMA journal_size_limit={WAL_LIMIT}"))?;
        if let Some(max_bytes) = options.max_bytes {
            let page: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
            let pages = (max_bytes.min(i64::MAX as u64).cast_signed() / page.max(1)).max(1);
            connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
        }
        Ok(connection)
    };
    set_up().map_err(|error| failure(path, error))
}

/// SQLite counts in `i32` milliseconds.
pub(super) fn busy_timeout(options: &SqliteOptions) -> Duration {
    Duration::from_millis(options.busy_timeout_ms.min(i32::MAX as u64))
}

/// Makes the file for its owner alone, and missing folders too. SQLite gives its side files the same mode.
pub(super) fn create(path: &Path) -> io::Result<()> {
    if path.try_exists()? {
        return Ok(());
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map(drop),
    }
}

/// The migrations to each format from the one before; the first creates format 1 in an empty file.
#[derive(Clone, Copy)]
struct Formats(&'static [&'static str]);

/// Kind of a file.
enum Format {
    Known,
    Empty,
    Older(u32),
    Newer(u32),
    /// It was written before format 1.
    Old,
    Foreign,
}

impl Format {
    /// Refuses a file that this version cannot read.
    fn refuse(&self, path: &Path) -> Result<(), StoreError> {
        match self {
            Self::Known | Self::Empty | Self::Older(_) => Ok(()),
            Self::Newer(found) => {
                Err(StoreError::Newer { path: path.to_owned(), found: *found, known: FORMAT })
            }
            Self::Old => Err(StoreError::Old { path: path.to_owned() }),
            Self::Foreign => Err(unusable(path, "the file is a database of another program")),
        }
    }
}

impl Formats {
    const fn newest(self) -> u32 {
        self.0.len() as u32
    }

    /// Classifies a header. A file without an id counts as empty.
    fn known(self, header: Header) -> Format {
        match header {
            Header { id: APPLICATION_ID, version } => match version.cmp(&self.newest()) {
                Ordering::Greater => Format::Newer(version),
                Ordering::Equal => Format::Known,
                Ordering::Less => Format::Older(version),
            },
            Header { id, .. } if OLD_IDS.contains(&id) => Format::Old,
            Header { id: 0, version: 0 } => Format::Empty,
            Header { .. } => Format::Foreign,
        }
    }

    /// The format of a file that other processes may be making at this moment: all of it is read from one snapshot.
    fn seen_by(self, connection: &Connection) -> rusqlite::Result<Format> {
        self.of(&connection.unchecked_transaction()?)
    }

    fn of(self, transaction: &Transaction<'_>) -> rusqlite::Result<Format> {
        let connection = &**transaction;
        let id = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        let version = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let format = self.known(Header { id, version });
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok(if matches!(format, Format::Empty) && tables > 0 { Format::Foreign } else { format })
    }

    /// Turns an empty file, or a log of an older format, into a log of the newest one. Several processes may try at once: one
    /// makes it, the others find it made.
    fn make(self, path: &Path, options: &SqliteOptions, connection: &Connection) -> Result<(), StoreError> {
        let until = Instant::now() + busy_timeout(options);
        loop {
            match self.try_make(connection) {
                // The change to WAL does not wait for others by itself.
                Err(error) if is_busy(&error) && Instant::now() < until => std::thread::sleep(RETRY),
                other => return other.map_err(|error| failure(path, error)),
            }
        }
    }

    fn try_make(self, connection: &Connection) -> rusqlite::Result<()> {
        connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
        let transaction =
            rusqlite::Transaction::new_unchecked(connection, rusqlite::TransactionBehavior::Immediate)?;
        let from = match self.of(&transaction)? {
            Format::Empty => 0,
            Format::Older(version) => version,
            Format::Known | Format::Newer(_) | Format::Old | Format::Foreign => self.newest(),
        };
        for step in self.0.iter().skip(from as usize) {
            transaction.execute_batch(step)?;
        }
        if from < self.newest() {
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", self.newest())?;
        }
        transaction.commit()
    }
}

pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Sorts what the database says by what can be done about it.
pub(super) fn failure(path: &Path, error: rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { path: path.to_owned(), source: Box::new(error) },
        Some(ErrorCode::SystemIoFailure) => match error.sqlite_extended_error_code() {
            Some(SHM_SIZE | WRITE) if let Some(limit) = size_limit(path) => {
                StoreError::Full { path: path.to_owned(), source: limit.into() }
            }
            // The index beside the write-ahead file could not grow: it is as large as the log has frames.
            Some(SHM_SIZE) => StoreError::Full { path: path.to_owned(), source: Box::new(error) },
            _ => unusable(path, error),
        },
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => locked(path),
        Some(ErrorCode::NotADatabase) => unusable(path, "the file is not a Windlass log"),
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::CannotOpen
            | ErrorCode::PermissionDenied
            | ErrorCode::DatabaseCorrupt,
        ) => unusable(path, error),
        _ => StoreError::Failed(Box::new(error)),
    }
}

/// The bound on the size of files that a failed write has met, in words. SQLite reports EFBIG as any failed write.
#[cfg(unix)]
fn size_limit(path: &Path) -> Option<String> {
    use rustix::process::{Resource, getrlimit};
    let limit = getrlimit(Resource::Fsize).current?;
    let mut wal = path.as_os_str().to_owned();
    wal.push("-wal");
    let near = |path: &Path| fs::metadata(path).is_ok_and(|found| found.len().saturating_add(NEAR) > limit);
    (near(path) || near(Path::new(&wal)))
        .then(|| format!("this process may write files of at most {limit} bytes (`ulimit -f`)"))
}

#[cfg(not(unix))]
fn size_limit(_: &Path) -> Option<String> {
    None
}

pub(super) fn unusable(
    path: &Path,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> StoreError {
    StoreError::Unusable { path: path.to_owned(), source: source.into() }
}

/// An empty log of the newest format in memory.
#[cfg(test)]
pub(super) fn in_memory() -> Connection {
    let log = Connection::open_in_memory().unwrap();
    FORMATS.0.iter().for_each(|step| log.execute_batch(step).unwrap());
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A format that never was, after the newest one.
    const SYNTHETIC: Formats = Formats(&[
        include_str!("format1.sql"),
        include_str!("format2.sql"),
        "ALTER TABLE runs ADD COLUMN colour TEXT",
    ]);

    #[test]
    fn e34_a_log_of_an_older_format_is_brought_to_the_newest_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let options = SqliteOptions::default();
        drop(open(&path, &options).unwrap());
        assert_eq!(header::of(&path), Some(Header { id: APPLICATION_ID, version: 2 }));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let connection = connect(&path, &options).unwrap();
                    SYNTHETIC.make(&path, &options, &connection).unwrap();
                });
            }
        });
        assert_eq!(header::of(&path), Some(Header { id: APPLICATION_ID, version: 3 }));
        let connection = connect(&path, &options).unwrap();
        let runs: i64 = connection.query_row("SELECT count(colour) FROM runs", [], |row| row.get(0)).unwrap();
        assert_eq!(runs, 0);
        assert!(matches!(open(&path, &options), Err(StoreError::Newer { found: 3, known: 2, .. })));
    }
}
