//! A log that another process keeps locked: which process, and what it is doing.
//!
//! SQLite only says that it is busy. Its locks are POSIX locks on known bytes of the index file (SQLite, "WAL-mode File
//! Format", 2.3.2), and Linux lists who has which lock.

use std::fs;
use std::path::Path;

use super::process::Process;
use crate::error::{LockHolder, Locking, StoreError};

/// The bytes of the index file that a writer, a checkpoint or a recovery locks.
const WAL_LOCKS: std::ops::RangeInclusive<u64> = 120..=122;

/// How often the list of locks is read before the holder is said to be unknown. The list is read in pieces, and an entry
/// is missing where others before it went away between two pieces (of 1,000 readings beside three processes that lock and
/// unlock, 4 missed it).
const READINGS: usize = 8;

/// The error of a log that stayed locked.
pub(super) fn locked(path: &Path) -> StoreError {
    StoreError::Locked { path: path.to_owned(), holder: LockHolder { process: locking(path) } }
}

/// `None`: it cannot be found out.
fn locking(path: &Path) -> Option<Locking> {
    let mut index = path.as_os_str().to_owned();
    index.push("-shm");
    let inode = inode(Path::new(&index))?;
    let listed = || fs::read_to_string("/proc/locks").ok();
    let pid = (0..READINGS).find_map(|_| writer_of(&listed()?, inode))?;
    let process = Process::of(pid)?;
    let stopped = process.stopped();
    Some(Locking { pid, name: process.name, stopped })
}

#[cfg(unix)]
fn inode(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    // Only asked for: to open and close the file would give up SQLite's own locks on it.
    fs::metadata(path).ok().map(|found| found.ino())
}

#[cfg(not(unix))]
fn inode(_: &Path) -> Option<u64> {
    None
}

/// The process that has one of these bytes of that file for itself. A line (proc_locks(5)):
/// `3: POSIX  ADVISORY  WRITE 4711 08:01:131085 120 120`; waiting ones begin with `3: ->`.
fn writer_of(locks: &str, inode: u64) -> Option<i64> {
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, "POSIX", _, "WRITE", pid, file, first, last] = fields.as_slice() else { return None };
        let (_, number) = file.rsplit_once(':')?;
        let first: u64 = first.parse().ok()?;
        let last: u64 = if *last == "EOF" { u64::MAX } else { last.parse().ok()? };
        let ours = number.parse() == Ok(inode) && first <= *WAL_LOCKS.end() && last >= *WAL_LOCKS.start();
        if ours { pid.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::writer_of;

    #[cfg(target_os = "linux")]
    #[test]
    fn e31_the_holder_is_found_while_others_lock_and_unlock() {
        use std::fs::File;
        use std::sync::atomic::{AtomicBool, Ordering};

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let holder = rusqlite::Connection::open(&path).unwrap();
        holder.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (n); BEGIN IMMEDIATE").unwrap();
        let done = AtomicBool::new(false);
        let others: Vec<File> =
            (0..200).map(|number| File::create(folder.path().join(number.to_string())).unwrap()).collect();
        let missed = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for file in &others {
                        file.lock().unwrap();
                    }
                    for file in &others {
                        file.unlock().unwrap();
                    }
                }
            });
            let missed = (0..2_000).filter(|_| super::locking(&path).is_none()).count();
            done.store(true, Ordering::Relaxed);
            missed
        });
        assert_eq!(missed, 0);
    }

    #[test]
    fn the_holder_of_a_writers_lock_is_found() {
        let locks = "\
1: POSIX  ADVISORY  READ 1 00:2b:77 120 120
2: POSIX  ADVISORY  WRITE 2 00:2b:78 120 120
3: FLOCK  ADVISORY  WRITE 3 00:2b:77 0 EOF
4: POSIX  ADVISORY  WRITE 4 00:2b:77 123 127
5: -> POSIX  ADVISORY  WRITE 5 00:2b:77 120 120
6: POSIX  ADVISORY  WRITE 6 00:2b:77 120 120
";
        assert_eq!(writer_of(locks, 77), Some(6));
        assert_eq!(writer_of(locks, 78), Some(2));
        assert_eq!(writer_of(locks, 79), None);
        assert_eq!(writer_of("7: POSIX  ADVISORY  WRITE 7 08:01:9 0 EOF", 9), Some(7));
        assert_eq!(writer_of("no such line\n\n", 9), None);
    }
}
