//! E34: a log of another format is recognised before anything of it is touched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_core::event::{Cause, Steered};
use windlass_core::{Event, RunState};
use windlass_error::Diagnostic as _;
use windlass_store::{
    Append, Batch, Claim, Headline, Holder, Index, Leases, Log, RunFilter, Spend, SqliteLog, StoreError,
    UsageFilter,
};

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
    assert!(matches!(error, StoreError::Newer { found: 4, known: 2, .. }), "{error:?}");
    let said = error.to_string();
    assert!(said.contains("format 4") && said.contains("up to 2"), "{said}");
    assert!(before == files(folder.path()), "something was changed");
}

/// A log of four runs by the last build that wrote format 1: one of its own, one with a delegate's run, and one that waits with a
/// question.
#[tokio::test]
async fn e34_a_log_of_format_1_opens_as_one_of_format_2_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    std::fs::copy(kept("format1.db"), &path).unwrap();
    let rows = |path: &Path| -> Vec<(i64, i64, String, Vec<u8>)> {
        let log = rusqlite::Connection::open(path).unwrap();
        let mut query = log.prepare("SELECT run, last, body, chain FROM appends ORDER BY id").unwrap();
        let rows =
            query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let before = rows(&path);
    let log = SqliteLog::open(&path).unwrap();
    let listed = log.list(RunFilter::default()).await.unwrap();
    let costs: Vec<_> = listed.iter().map(|line| (line.agent.as_ref(), line.headline.cost)).collect();
    let cost = Some(100_000_000);
    let expected =
        [("helper", cost), ("helper", cost), ("boss", cost.map(|cost| 3 * cost)), ("helper", cost)];
    assert_eq!(costs, expected);
    assert!(listed.iter().all(|line| line.headline.spend.is_none()), "format 1 does not say who used what");
    let asking = log.list(RunFilter { asks: true, ..RunFilter::default() }).await.unwrap();
    let [waiting] = asking.items.as_slice() else { panic!("{asking:?}") };
    assert_eq!(waiting.run, listed[0].run);
    let usage = log.usage(UsageFilter::default()).await.unwrap();
    assert_eq!((usage.len(), usage[0].runs, usage[0].unpriced_runs), (1, 4, 4), "{usage:?}");
    // It goes on, and its next append says it.
    let fence = log.acquire(waiting.run, &Holder("next".into()), Claim(7)).await.unwrap();
    let spend = Spend { input: 100, output: 10, cached: 40, cost: 100_000_000, ..Spend::default() };
    let steered = Event { at: waiting.updated_at + 1, fact: Steered::from("Go on.").into() };
    let batch = Batch { first: waiting.version + 1, cause: Cause::Steer, events: [steered].into() };
    let headline = Headline { cost, spend: Some(spend), ..Headline::default() };
    let append = Append { headline, ..Append::of(waiting.run, batch, fence, RunState::Running) };
    log.append(append).await.unwrap();
    begin(&log, 9).await;
    assert_eq!(log.summary(waiting.run).await.unwrap().headline.spend, Some(spend));
    let usage =
        log.usage(UsageFilter { agent: Some("helper".into()), ..UsageFilter::default() }).await.unwrap();
    assert_eq!((usage[0].runs, usage[0].unpriced_runs, usage[0].spend), (3, 2, spend));
    let checked = log.check().await.unwrap();
    assert!(checked.format == 2 && checked.faults.is_empty(), "{checked:?}");
    drop(log);
    let after = rows(&path);
    assert_eq!(after[..before.len()], before, "what was written stays as it is");
    assert_eq!(after.len(), before.len() + 2);
}

#[tokio::test]
async fn e34_a_log_whose_process_was_killed_early_opens() {
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
