//! E34: a log of another format is recognised before anything of it is touched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_error::Diagnostic as _;
use windlass_store::{Index, Log, RunFilter, SqliteLog, StoreError};

use crate::sample::{begin, words};

/// All files of a folder, with their bytes.
fn files(folder: &Path) -> BTreeMap<std::ffi::OsString, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap())).collect()
}

/// The application ids of the logs that were written before format 1 began anew.
const OLD_IDS: [&str; 2] = ["0x57646c73", "0x576e646c"];

/// The logs by the last build of each format before format 1, and one whose process was killed before anything was moved from
/// its write-ahead file into it.
fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/formats").join(name)
}

/// Makes a log as builds before format 1 made it. With `killed` the process dies before anything is moved from its write-ahead
/// file into the log, and leaves that and its index.
fn old(path: &Path, id: &str, killed: bool) {
    let made = tempfile::tempdir().unwrap();
    let log = made.path().join("log.db");
    let connection = rusqlite::Connection::open(&log).unwrap();
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode=WAL; BEGIN; CREATE TABLE runs (no INTEGER PRIMARY KEY); \
             INSERT INTO runs VALUES (1); PRAGMA application_id={id}; PRAGMA user_version=3; COMMIT;",
        ))
        .unwrap();
    let connection = if killed { Some(connection) } else { None };
    for ending in ["", "-wal", "-shm"] {
        let beside = |path: &Path| PathBuf::from(format!("{}{ending}", path.display()));
        if beside(&log).exists() {
            std::fs::copy(beside(&log), beside(path)).unwrap();
        }
    }
    drop(connection);
}

fn refused(path: &Path) {
    let before = files(path.parent().unwrap());
    let error = SqliteLog::open(path).unwrap_err();
    assert!(matches!(error, StoreError::Old { .. }), "{error:?}");
    assert_eq!(error.code(), "store.old");
    let (said, help) = (words(&error), error.help().unwrap());
    assert!(said.contains(&path.display().to_string()) && said.contains("before log format 1"), "{said}");
    assert!(help.contains("another file"), "{help}");
    assert!(before == files(path.parent().unwrap()), "something was changed");
}

#[test]
fn e34_a_log_from_before_format_1_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a ?100%# log.db");
    for name in ["wdls.db", "wndl.db"] {
        std::fs::copy(kept(name), &path).unwrap();
        refused(&path);
    }
    for id in OLD_IDS {
        old(&path, id, false);
        refused(&path);
    }
}

#[test]
fn e34_a_log_from_before_format_1_whose_process_was_killed_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    std::fs::copy(kept("wndl-killed.db"), &path).unwrap();
    std::fs::copy(kept("wndl-killed.db-wal"), folder.path().join("log.db-wal")).unwrap();
    refused(&path);
    for id in OLD_IDS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        old(&path, id, true);
        assert_eq!(files(folder.path()).len(), 3, "the log, its write-ahead file, and the index of that");
        refused(&path);
        // As a copy that forgot the index.
        std::fs::remove_file(folder.path().join("log.db-shm")).unwrap();
        refused(&path);
    }
}

#[test]
fn e34_a_newer_log_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    drop(SqliteLog::open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 4).unwrap();
    let before = files(folder.path());
    let error = SqliteLog::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 4, known: 1, .. }), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("format 4") && said.contains("up to 1"), "{said}");
    assert!(before == files(folder.path()), "something was changed");
}

#[tokio::test]
async fn e34_a_log_of_format_1_whose_process_was_killed_early_opens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let log = SqliteLog::open(folder.path().join("made.db")).unwrap();
    let run = begin(&log, 1).await;
    for ending in ["", "-wal"] {
        std::fs::copy(folder.path().join(format!("made.db{ending}")), format!("{}{ending}", path.display()))
            .unwrap();
    }
    let copy = SqliteLog::open(&path).unwrap();
    assert_eq!(copy.list(RunFilter::default()).await.unwrap()[0].run, run);
    assert_eq!(copy.read(run, 1, 9).await.unwrap(), log.read(run, 1, 9).await.unwrap());
}
