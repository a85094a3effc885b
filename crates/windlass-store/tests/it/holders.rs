//! E32: who holds a run, seen by several logs on one file.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_store::{Append, Holder, Index, Leases, Log, RunFilter, SqliteLog, StoreError};

use crate::sample::{append, begin, fence, said};

fn now_ms() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// Machines that holders are moved to: of another boot, and of one that is not known.
const ELSEWHERE: &str = "other-boot pid:[1]";
const UNKNOWN: &str = "unknown 1 2";

fn sql(path: &std::path::Path, sql: &str) -> usize {
    rusqlite::Connection::open(path).unwrap().execute(sql, []).unwrap()
}

/// Moves all holders to another machine, whose wall clock says that.
fn move_holders(path: &std::path::Path, host: &str, heartbeat_at: i64) {
    let set = format!("UPDATE holders SET host = '{host}', heartbeat_at = {heartbeat_at}");
    assert_eq!(sql(path, &set), 1);
}

#[tokio::test]
async fn e32_two_logs_on_one_file_agree_on_the_holder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let (first, second) = (SqliteLog::open(&path).unwrap(), SqliteLog::open(&path).unwrap());
    let run = begin(&first, 1).await;
    let other = Holder("other".into());
    let held = second.acquire(run, &other, windlass_store::Claim(1)).await;
    assert!(matches!(&held, Err(StoreError::Held { holder, .. }) if holder == "maker"), "{held:?}");
    assert_eq!(second.summary(run).await.unwrap().holder, Some(fence("maker", 1).holder));
    first.release(run, &fence("maker", 1)).await.unwrap();
    let taken = second.acquire(run, &other, windlass_store::Claim(1)).await.unwrap();
    // The first log must not trust what it remembers of the run.
    let late = first.append(append(run, 1, said("late"))).await;
    assert!(matches!(&late, Err(StoreError::Fenced { current: 2, .. })), "{late:?}");
    second.append(Append { fence: taken, ..append(run, 1, said("in time")) }).await.unwrap();
    assert_eq!(first.summary(run).await.unwrap().version, 2);
}

/// A clock that is years ahead does not keep a dead holder alive, and one that is an hour behind makes no holder dead.
#[tokio::test]
async fn e32_a_holder_elsewhere_lives_until_its_heartbeat_was_seen_unchanged_for_15_s() {
    let (behind, ahead) = (now_ms() - 3_600_000, now_ms() + 1_000_000_000_000);
    for (host, clock) in [(ELSEWHERE, now_ms()), (ELSEWHERE, ahead), (UNKNOWN, behind), (UNKNOWN, ahead)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let (first, second) = (SqliteLog::open(&path).unwrap(), SqliteLog::open(&path).unwrap());
        let run = begin(&first, 1).await;
        let other = Holder("other".into());
        move_holders(&path, host, clock);
        let held = |result| assert!(matches!(result, Err(StoreError::Held { .. })), "{clock}: {result:?}");
        held(second.acquire(run, &other, windlass_store::Claim(1)).await);
        assert_eq!(sql(&path, "UPDATE seen_heartbeats SET uptime = uptime - 14000"), 1);
        held(second.acquire(run, &other, windlass_store::Claim(1)).await);
        // A heartbeat: it is watched anew.
        assert_eq!(sql(&path, "UPDATE holders SET heartbeat_at = heartbeat_at + 5000"), 1);
        sql(&path, "UPDATE seen_heartbeats SET uptime = uptime - 14000");
        held(second.acquire(run, &other, windlass_store::Claim(1)).await);
        assert_eq!(sql(&path, "UPDATE seen_heartbeats SET uptime = uptime - 14000"), 1);
        // Seen by another boot, whose time means nothing here.
        assert_eq!(sql(&path, "UPDATE seen_heartbeats SET boot = 'a third', uptime = 0"), 1);
        held(second.acquire(run, &other, windlass_store::Claim(1)).await);
        assert_eq!(sql(&path, "UPDATE seen_heartbeats SET uptime = uptime - 15000"), 1);
        assert_eq!(second.summary(run).await.unwrap().holder, None, "{clock}");
        let taken = second.acquire(run, &other, windlass_store::Claim(1)).await.unwrap();
        assert_eq!(taken, fence("other", 2));
        let late = first.append(append(run, 1, said("the paused holder wakes"))).await;
        assert!(matches!(&late, Err(StoreError::Fenced { holder, .. }) if holder == "other"), "{late:?}");
    }
}

/// A listing that shows a holder watches it too: who only lists (`runs resume --all --wait`) takes over in the end.
#[tokio::test]
async fn e32_a_listing_watches_the_holders_that_it_shows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let (first, second) = (SqliteLog::open(&path).unwrap(), SqliteLog::open(&path).unwrap());
    begin(&first, 1).await;
    move_holders(&path, ELSEWHERE, now_ms() + 1_000_000_000);
    let holder = async || second.list(RunFilter::default()).await.unwrap().items.remove(0).holder;
    assert_eq!(holder().await, Some(fence("maker", 1).holder));
    assert_eq!(sql(&path, "UPDATE seen_heartbeats SET uptime = uptime - 15000"), 1);
    assert_eq!(holder().await, None);
}

#[tokio::test]
async fn e32_a_holder_of_an_earlier_boot_is_dead_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let (first, second) = (SqliteLog::open(&path).unwrap(), SqliteLog::open(&path).unwrap());
    let run = begin(&first, 1).await;
    move_holders(&path, ELSEWHERE, now_ms() - 16_000);
    assert_eq!(second.summary(run).await.unwrap().holder, None);
    assert_eq!(
        second.acquire(run, &Holder("other".into()), windlass_store::Claim(1)).await.unwrap().epoch,
        2
    );
}

/// Two containers on one machine share the clock that counts since the boot: a look is enough.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn e32_a_holder_in_another_container_lives_as_long_as_its_heartbeat_is_young_by_the_boots_clock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let (first, second) = (SqliteLog::open(&path).unwrap(), SqliteLog::open(&path).unwrap());
    let run = begin(&first, 1).await;
    let other = Holder("other".into());
    let ahead = now_ms() + 1_000_000_000;
    sql(&path, &format!("UPDATE holders SET host = host || '0', heartbeat_at = {ahead}"));
    assert!(matches!(
        second.acquire(run, &other, windlass_store::Claim(1)).await,
        Err(StoreError::Held { .. })
    ));
    assert_eq!(sql(&path, "UPDATE holders SET heartbeat_uptime = heartbeat_uptime - 16000"), 1);
    assert_eq!(second.acquire(run, &other, windlass_store::Claim(1)).await.unwrap().epoch, 2);
    assert_eq!(sql(&path, "DELETE FROM seen_heartbeats"), 0, "there was nothing to watch");
}

#[tokio::test]
async fn a_pid_that_was_given_to_another_process_is_not_the_holder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let (first, second) = (SqliteLog::open(&path).unwrap(), SqliteLog::open(&path).unwrap());
    let run = begin(&first, 1).await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute("UPDATE holders SET started = started + 1", []).unwrap();
    assert_eq!(
        second.acquire(run, &Holder("other".into()), windlass_store::Claim(1)).await.unwrap().epoch,
        2
    );
}
