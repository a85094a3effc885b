//! The header of a file that may be a log, read without changing anything: not the file, and nothing beside it.
//!
//! SQLite makes a write-ahead file and its index as soon as it reads a log, and moves frames into the log when it closes it.
//! A log of another format must stay as it is, so it is recognised before it is opened.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

/// The magic number of a write-ahead file, without its last bit, which says how checksums are made ("Database File
/// Format", 4.1).
const WAL_MAGIC: u32 = 0x377f_0682;
/// The bytes of a write-ahead file's header, and of the header of each frame.
const WAL_HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The bytes of a database's header, and where it has the format and the application id ("Database File Format", 1.3).
const HEADER: usize = 100;
const USER_VERSION: usize = 60;
const APPLICATION_ID: usize = 68;

/// Identification of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The application id.
    pub(super) id: i32,
    /// The format.
    pub(super) version: u32,
}

/// The header of a file; `None`: it is no database, or cannot be read.
pub(super) fn of(path: &Path) -> Option<Header> {
    // A pipe would wait for a writer.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let header = in_file(path).ok()?;
    // Before its first checkpoint a log has its header in the write-ahead file alone.
    if header.id == 0 { in_wal(path).or(Some(header)) } else { Some(header) }
}

/// Read by SQLite, because closing a file of a log by other means gives up all locks that this process has on it.
fn in_file(path: &Path) -> rusqlite::Result<Header> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(immutable(path), flags)?;
    // A checkpoint that was cut short leaves a file that is shorter than its header says.
    connection.pragma_update(None, "writable_schema", true)?;
    // One snapshot: another process may be making the log.
    let snapshot = connection.unchecked_transaction()?;
    let id = snapshot.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version = snapshot.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(Header { id, version })
}

/// The file name for SQLite's immutable mode: SQLite takes no locks and reads no files beside it.
fn immutable(path: &Path) -> OsString {
    let mut name = OsString::from("file:");
    let mut rest = path.as_os_str().as_encoded_bytes();
    // The parts between are cut at ASCII bytes, where any name may be cut.
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'%' | b'?' | b'#')) {
        let (part, tail) = rest.split_at(at);
        name.push(part_of(part));
        if let Some((byte, tail)) = tail.split_first() {
            name.push(format!("%{byte:02x}"));
            rest = tail;
        }
    }
    name.push(part_of(rest));
    name.push("?immutable=1");
    name
}

#[cfg(unix)]
fn part_of(bytes: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(bytes)
}

#[cfg(not(unix))]
fn part_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The header in the last frame of a write-ahead file that holds the first page.
fn in_wal(path: &Path) -> Option<Header> {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    // SQLite takes no locks on this file.
    let mut file = File::open(name).ok()?;
    let mut head = [0; WAL_HEADER];
    file.read_exact(&mut head).ok()?;
    if word(&head, 0)? & !1 != WAL_MAGIC {
        return None;
    }
    let (page, salts) = (u64::from(word(&head, 8)?), head.get(16..24)?);
    let (mut at, mut found) = (WAL_HEADER as u64, None);
    let mut frame = [0; FRAME_HEADER + HEADER];
    while file.seek(SeekFrom::Start(at)).is_ok() && file.read_exact(&mut frame).is_ok() {
        // Frames with other salts are left from before the file was begun anew.
        if frame.get(8..16)? != salts {
            break;
        }
        if word(&frame, 0)? == 1 {
            let header = frame.get(FRAME_HEADER..)?;
            let id = word(header, APPLICATION_ID)?.cast_signed();
            found = Some(Header { id, version: word(header, USER_VERSION)? });
        }
        at += FRAME_HEADER as u64 + page;
    }
    found
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*four))
}
