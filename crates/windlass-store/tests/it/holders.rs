//! E32: who holds a run, seen by several logs on one file.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_store::{Append, EventLog, Holder, SqliteLog, StoreError};

use crate::sample::{append, begin, fence, said};

fn now_ms() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// Moves all holders to another machine, with a heartbeat that is so old.
fn move_holders(path: &std::path::Path, age_ms: i64) {
    let other = rusqlite::Connection::open(path).unwrap();
    let moved =
        other.execute("UPDATE holders SET host = 'elsewhere', beat_at = ?1", [now_ms() - age_ms]).unwrap();
    assert_eq!(moved, 1);
}

#[tokio::test]
async fn e32_two_logs_on_one_file_agree_on_the_holder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let (first, second) = (SqliteLog::open(&path).unwrap(), SqliteLog::open(&path).unwrap());
    let run = begin(&first, 1).await;
    let other = Holder("other".into());
    let held = second.hold(run, &other).await;
    assert!(matches!(&held, Err(StoreError::Held { holder, .. }) if holder == "maker"), "{held:?}");
    assert_eq!(second.summary(run).await.unwrap().holder, Some(fence("maker", 1).holder));
    first.release(run, &fence("maker", 1)).await.unwrap();
    let taken = second.hold(run, &other).await.unwrap();
    // The first log must not trust what it remembers of the run.
    let late = first.append(append(run, 1, said("late"))).await;
    assert!(matches!(&late, Err(StoreError::Fenced { current: 2, .. })), "{late:?}");
    second.append(Append { fence: taken, ..append(run, 1, said("in time")) }).await.unwrap();
    assert_eq!(first.summary(run).await.unwrap().version, 2);
}

#[tokio::test]
async fn e32_a_holder_elsewhere_lives_as_long_as_its_heartbeat_is_young() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let (first, second) = (SqliteLog::open(&path).unwrap(), SqliteLog::open(&path).unwrap());
    let run = begin(&first, 1).await;
    let other = Holder("other".into());
    move_holders(&path, 0);
    assert!(matches!(second.hold(run, &other).await, Err(StoreError::Held { .. })));
    move_holders(&path, 14_000);
    assert!(matches!(second.hold(run, &other).await, Err(StoreError::Held { .. })));
    move_holders(&path, 16_000);
    assert_eq!(second.summary(run).await.unwrap().holder, None);
    let taken = second.hold(run, &other).await.unwrap();
    assert_eq!(taken, fence("other", 2));
    let late = first.append(append(run, 1, said("the paused holder wakes"))).await;
    assert!(matches!(&late, Err(StoreError::Fenced { holder, .. }) if holder == "other"), "{late:?}");
}

#[tokio::test]
async fn a_pid_that_was_given_to_another_process_is_not_the_holder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let (first, second) = (SqliteLog::open(&path).unwrap(), SqliteLog::open(&path).unwrap());
    let run = begin(&first, 1).await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute("UPDATE holders SET started = started + 1", []).unwrap();
    assert_eq!(second.hold(run, &Holder("other".into())).await.unwrap().epoch, 2);
}
