//! E31: files that cannot be used, locks and full disks give a clear error and leave the last durable state intact.

use std::fs;
use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use windlass_error::Diagnostic as _;
use windlass_store::{Index, Leases, Log, SqliteLog, SqliteOptions, StoreError, Taken};

use crate::sample::{append, begin, fence, id, said, started, words};

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    (folder, path)
}

/// The error of opening what is there, which must be of the kind `Unusable`, name the file and say why.
fn unusable(path: &Path, because: &str) {
    let error = SqliteLog::open(path).unwrap_err();
    assert_eq!(error.code(), "store.unusable", "{error:?}");
    let said = words(&error);
    assert!(said.contains(&path.display().to_string()), "`{said}` does not name {}", path.display());
    assert!(said.contains(because), "`{said}` does not say `{because}`");
    assert!(error.help().unwrap().contains("another file"));
}

#[test]
fn e31_a_garbage_file_is_refused_and_left_alone() {
    let (_folder, path) = folder();
    let garbage = b"This is no database, it only looks long enough to be one. ".repeat(100);
    fs::write(&path, &garbage).unwrap();
    unusable(&path, "not a Windlass log");
    assert_eq!(fs::read(&path).unwrap(), garbage);
}

#[test]
fn e31_a_database_of_another_program_is_refused_and_left_alone() {
    let (_folder, path) = folder();
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs(x)").unwrap();
    let before = fs::read(&path).unwrap();
    unusable(&path, "another program");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn e31_a_folder_in_place_of_the_file_is_refused() {
    let (folder, _) = folder();
    unusable(folder.path(), "unable to open");
}

#[test]
fn e31_a_file_in_place_of_the_folder_is_refused() {
    let (_folder, path) = folder();
    fs::write(&path, "a file").unwrap();
    unusable(&path.join("log.db"), "directory");
}

/// Root may write anywhere but to what the kernel itself keeps read-only.
#[cfg(target_os = "linux")]
#[test]
fn e31_a_read_only_folder_is_refused() {
    unusable(Path::new("/proc/self/windlass.db"), "");
    unusable(Path::new("/proc/self/windlass/log.db"), "");
}

#[cfg(target_os = "linux")]
#[test]
fn e31_a_read_only_file_is_refused() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    unusable(Path::new("/sys/kernel/uevent_seqnum"), "");
    let (_folder, path) = folder();
    drop(SqliteLog::open(&path).unwrap());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        SqliteLog::open(&path).expect("root may write what others may not");
    } else {
        unusable(&path, "may not be written");
    }
}

#[test]
fn e31_a_newer_format_is_refused_with_both_versions() {
    let (_folder, path) = folder();
    drop(SqliteLog::open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 7).unwrap();
    let error = SqliteLog::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 7, known: 2, .. }), "{error:?}");
}

#[tokio::test]
async fn e31_a_locked_file_is_a_clear_error_and_appends_go_on_afterwards() {
    let (_folder, path) = folder();
    let log =
        SqliteLog::open_with(&path, SqliteOptions { busy_timeout_ms: 20, ..Default::default() }).unwrap();
    let run = begin(&log, 1).await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = log.append(append(run, 1, said("locked out"))).await.unwrap_err();
    assert_eq!(error.code(), "store.locked");
    assert!(words(&error).contains("locked"), "{}", words(&error));
    if cfg!(target_os = "linux") {
        let us = std::process::id().to_string();
        assert!(words(&error).contains(&us) && error.help().unwrap().contains(&us), "{error:?}");
    }
    assert_eq!(log.summary(run).await.unwrap().version, 1, "reading goes on, and shows nothing half-done");
    other.execute_batch("ROLLBACK").unwrap();
    log.append(append(run, 1, said("let in"))).await.unwrap();
}

#[tokio::test]
async fn e31_a_full_disk_fails_only_what_has_no_room_and_keeps_the_rest() {
    let (_folder, path) = folder();
    let small = SqliteOptions { max_bytes: Some(400 * 1024), ..Default::default() };
    let log = SqliteLog::open_with(&path, small).unwrap();
    let run = begin(&log, 1).await;
    for number in 2..10 {
        begin(&log, number).await;
    }
    let huge = "x".repeat(500 * 1024);
    let error = log.append(append(run, 1, said(&huge))).await.unwrap_err();
    assert_eq!(error.code(), "store.full", "{error:?}");
    assert!(words(&error).contains("log.db") && words(&error).contains("full"), "{}", words(&error));
    assert_eq!(log.summary(run).await.unwrap().version, 1, "a failed append is visible");
    // In one group with others, it fails alone.
    let texts = (1..10).map(|number| (number, if number == 5 { huge.as_str() } else { "small" }));
    let results = join_all(texts.map(|(number, text)| log.append(append(id(number), 1, said(text))))).await;
    let failed: Vec<_> =
        (1..10).zip(&results).filter(|(_, result)| result.is_err()).map(|(number, _)| number).collect();
    assert_eq!(failed, [5], "{results:?}");
    // Fill it to the brim with small ones.
    let mut version = 2;
    let error = loop {
        match log.append(append(run, version, said(&"y".repeat(2_000)))).await {
            Ok(()) => version += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), "store.full", "{error:?}");
    assert_eq!(log.summary(run).await.unwrap().version, version, "the last durable state is intact");
    assert_eq!(
        log.probe().await.unwrap_err().code(),
        "store.full",
        "E70: a probe says so before the next append"
    );
    drop(log);
    let log = SqliteLog::open(&path).unwrap();
    let events: u64 =
        log.read(run, 1, usize::MAX).await.unwrap().iter().map(|batch| batch.events.len() as u64).sum();
    assert_eq!(events, version);
    let fence = log.acquire(run, &fence("next", 0).holder, windlass_store::Claim(1)).await.unwrap();
    let again = windlass_store::Append { fence, ..append(run, version, said(&"y".repeat(2_000))) };
    log.append(again).await.expect("there is room again");
}

#[tokio::test]
async fn e31_a_full_disk_at_the_first_append_leaves_no_run() {
    let (_folder, path) = folder();
    drop(SqliteLog::open(&path).unwrap());
    let size = fs::metadata(&path).unwrap().len();
    let log =
        SqliteLog::open_with(&path, SqliteOptions { max_bytes: Some(size), ..Default::default() }).unwrap();
    let mut number = 1;
    let error = loop {
        match log.append(append(id(number), 0, started(id(number), None))).await {
            Ok(()) => number += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), "store.full", "{error:?}");
    assert!(matches!(log.summary(id(number)).await, Err(StoreError::UnknownRun { .. })));
}

#[tokio::test]
async fn an_event_that_cannot_be_read_is_named() {
    let (_folder, path) = folder();
    let log = SqliteLog::open(&path).unwrap();
    let run = begin(&log, 1).await;
    let two: Vec<_> = [said("fine"), said("broken")].concat();
    log.append(append(run, 1, two.into())).await.unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute("UPDATE appends SET body = replace(body, '\"broken\"', '1') WHERE last = 3", []).unwrap();
    let error = log.read(run, 1, 100).await.unwrap_err();
    assert!(matches!(error, StoreError::Corrupt { run: named, seq: 3, .. } if named == run), "{error:?}");
}

/// What somebody does to a log's file.
#[cfg(unix)]
type Change<'c> = &'c dyn Fn(&Path);

/// What becomes of an append whose log was taken away: each case changes the file, and says what the error must name.
#[cfg(unix)]
#[tokio::test]
async fn e31_an_append_to_a_log_that_was_taken_away_is_an_error() {
    let replace = |path: &Path| {
        let copy = path.with_extension("copy");
        fs::copy(path, &copy).unwrap();
        fs::rename(copy, path).unwrap();
    };
    let beside = |path: &Path, ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    let cut =
        |path: &Path, to: u64| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(to).unwrap();
    let wal = |path: &Path| beside(path, "-wal");
    let cases: [(&str, Change<'_>, Taken); 9] = [
        ("log.db was removed", &|path| fs::remove_file(path).unwrap(), Taken::Removed),
        ("log.db was replaced", &replace, Taken::Replaced),
        ("log.db-wal was removed", &|path| fs::remove_file(wal(path)).unwrap(), Taken::Removed),
        ("log.db-shm was replaced", &|path| replace(&beside(path, "-shm")), Taken::Replaced),
        ("log.db was removed", &|path| fs::remove_dir_all(path.parent().unwrap()).unwrap(), Taken::Removed),
        ("log.db-wal was cut short", &|path| cut(&wal(path), 0), Taken::CutShort),
        ("log.db-wal was cut short", &|path| cut(&wal(path), 5_000), Taken::CutShort),
        ("log.db was cut short", &|path| cut(path, 0), Taken::CutShort),
        ("log.db was cut short", &|path| cut(path, 1_000), Taken::CutShort),
    ];
    for (says, change, what) in cases {
        let (_folder, path) = folder();
        let log = SqliteLog::open(&path).unwrap();
        let run = begin(&log, 1).await;
        change(&path);
        let error = log.append(append(run, 1, said("lost"))).await.unwrap_err();
        assert!(matches!(error, StoreError::Gone { how, .. } if how == what), "{says}: {error:?}");
        assert!(words(&error).contains(says) && error.help().unwrap().contains("backup"), "{error:?}");
        let again = log.acquire(run, &fence("other", 0).holder, windlass_store::Claim(1)).await.unwrap_err();
        assert_eq!(again.code(), "store.gone", "{says}: it stays an error");
    }
}

/// What SQLite would make of a hole: the next checkpoint carries its zeros over what was there.
#[cfg(unix)]
#[tokio::test]
async fn e31_a_cut_write_ahead_file_does_not_spoil_what_was_moved_into_the_log_before() {
    let (_folder, path) = folder();
    let log = SqliteLog::open(&path).unwrap();
    let run = begin(&log, 1).await;
    log.checkpoint().await.unwrap();
    log.append(append(run, 1, said("in the write-ahead file"))).await.unwrap();
    let wal = format!("{}-wal", path.display());
    fs::OpenOptions::new().write(true).open(wal).unwrap().set_len(0).unwrap();
    assert_eq!(log.append(append(run, 2, said("lost"))).await.unwrap_err().code(), "store.gone");
    drop(log);
    let log = SqliteLog::open(&path).unwrap();
    assert_eq!(log.summary(run).await.unwrap().version, 1, "what the checkpoint had moved is there");
}

/// Other processes make the write-ahead file shorter, and begin it anew, at any time.
#[cfg(unix)]
#[tokio::test]
async fn checkpoints_of_others_are_no_cuts() {
    let (_folder, path) = folder();
    let log = SqliteLog::open(&path).unwrap();
    let run = begin(&log, 1).await;
    let other = SqliteLog::open(&path).unwrap();
    let theirs = begin(&other, 2).await;
    let mut version = 1;
    for round in 0..30 {
        log.append(append(run, version, said(&"x".repeat(10_000)))).await.unwrap();
        if round % 3 != 0 {
            other.checkpoint().await.unwrap();
        }
        if round % 2 == 0 {
            other.append(append(theirs, version, said("short"))).await.unwrap();
        } else {
            other.append(append(theirs, version, said(&"y".repeat(40_000)))).await.unwrap();
        }
        version += 1;
    }
    assert_eq!(log.summary(theirs).await.unwrap().version, version);
}

#[cfg(unix)]
#[tokio::test]
async fn e31_a_log_that_was_moved_away_and_back_goes_on() {
    let (folder, path) = folder();
    let log = SqliteLog::open(&path).unwrap();
    let run = begin(&log, 1).await;
    let away = folder.path().join("away.db");
    fs::rename(&path, &away).unwrap();
    assert_eq!(log.append(append(run, 1, said("lost"))).await.unwrap_err().code(), "store.gone");
    fs::rename(&away, &path).unwrap();
    log.append(append(run, 1, said("kept"))).await.unwrap();
    assert_eq!(log.summary(run).await.unwrap().version, 2, "the refused append left nothing behind");
}
