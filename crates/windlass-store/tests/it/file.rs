//! The file of a SQLite log: its mode, its size, its readability, and what closing does.

use std::fs;
use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::json;
use windlass_core::{Event, Fact};
use windlass_error::Diagnostic as _;
use windlass_store::{Durability, Index, Leases, Log, SqliteLog, SqliteOptions};

use crate::sample::{append, begin, fence, id, said};

#[cfg(unix)]
#[tokio::test]
async fn file_and_folders_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/log.db");
    let log = SqliteLog::open(&path).unwrap();
    begin(&log, 1).await;
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!([mode("a"), mode("a/b")], [0o700, 0o700]);
    assert_eq!([mode("a/b/log.db"), mode("a/b/log.db-wal"), mode("a/b/log.db-shm")], [0o600, 0o600, 0o600]);
}

#[tokio::test]
async fn a_person_can_read_it_with_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let log = SqliteLog::open(&path).unwrap();
    begin(&log, 0x0123_4567_89ab_cdef).await;
    log.append(append(id(0x0123_4567_89ab_cdef), 1, said("something"))).await.unwrap();
    let theirs = rusqlite::Connection::open(&path).unwrap();
    let row: (String, i64, String, String) = theirs
        .query_row("SELECT run, seq, kind, body ->> 'text' FROM log ORDER BY seq DESC LIMIT 1", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })
        .unwrap();
    let run = id(0x0123_4567_89ab_cdef).to_string();
    assert_eq!(row, (run, 2, "Steered".to_owned(), "something".to_owned()));
}

/// A turn of a chat with one tool call: the model's message and the tool's result, 1 KB each.
fn a_turn(turn: u32) -> [Vec<Fact>; 2] {
    let (text, result) = ("m".repeat(1_024), "r".repeat(1_024));
    let call = format!("call_{turn}");
    let fact = |kind: &str, body: serde_json::Value| Fact::from_body(kind, &body.to_string()).unwrap();
    let completed = json!({
        "turn": turn, "text": text, "calls": [{ "id": call, "name": "search", "args": "{\"query\": \"something\"}" }],
        "stop": "tool_calls", "usage": { "input": 12_345, "output": 300 }, "model": "openai/gpt-5-mini",
    });
    let started = json!({ "call": call, "attempt": 1 });
    let finished = json!({ "call": call, "outcome": { "outcome": "ok", "content": result } });
    let next = json!({ "turn": turn + 1, "attempt": 1 });
    [
        vec![fact("TurnCompleted", completed), fact("CallStarted", started)],
        vec![fact("CallFinished", finished), fact("TurnStarted", next)],
    ]
}

#[tokio::test]
#[expect(clippy::print_stdout, reason = "the figures are read after a run with --nocapture")]
async fn e33_a_thousand_turns_take_at_most_twice_the_bytes_of_their_messages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let log = SqliteLog::open(&path).unwrap();
    let run = begin(&log, 1).await;
    let empty = {
        log.checkpoint().await.unwrap();
        fs::metadata(&path).unwrap().len()
    };
    let (mut version, mut messages) = (1, 0);
    for turn in 1..=1_000 {
        messages += 2 * 1_024;
        for facts in a_turn(turn) {
            let events: Arc<[Event]> =
                facts.into_iter().map(|fact| Event { at: 1_700_000_000_000, fact }).collect();
            let count = events.len() as u64;
            log.append(append(run, version, events)).await.unwrap();
            version += count;
        }
    }
    log.checkpoint().await.unwrap();
    let wal = fs::metadata(folder.path().join("log.db-wal")).unwrap().len();
    let bytes = fs::metadata(&path).unwrap().len() + wal;
    println!("{bytes} bytes for {messages} bytes of messages, {empty} of them before the first turn");
    assert!(bytes <= 2 * messages, "{bytes} bytes for {messages} bytes of messages");
}

#[tokio::test]
async fn closing_finishes_what_is_queued_and_ends_followers_with_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let log = SqliteLog::open(&path).unwrap();
    let run = begin(&log, 1).await;
    let mut follower = log.follow(run, 2);
    {
        let mut queued = log.append(append(run, 1, said("queued")));
        let mut next = follower.next();
        // Asked once each: the append is queued, the follower waits or is about to.
        assert!(futures_util::poll!(&mut queued).is_pending());
        assert!(futures_util::poll!(&mut next).is_pending());
    }
    drop(log);
    let mut seen = 0;
    let error = loop {
        match follower.next().await.expect("a follower of a running run just ended") {
            Ok(batch) => seen += batch.events.len(),
            Err(error) => break error,
        }
    };
    assert!(seen <= 1 && error.code() == "store.failed", "{seen} {error:?}");
    assert!(follower.next().await.is_none());
    let log = SqliteLog::open(&path).unwrap();
    assert_eq!(log.summary(run).await.unwrap().version, 2, "what was queued is durable");
    assert_eq!(
        log.acquire(run, &fence("next", 0).holder, windlass_store::Claim(1)).await.unwrap().epoch,
        2,
        "closing gave up the hold"
    );
}

#[tokio::test]
async fn appends_that_come_together_share_one_commit() {
    let folder = tempfile::tempdir().unwrap();
    let log = SqliteLog::open(folder.path().join("log.db")).unwrap();
    for number in 1..=64 {
        begin(&log, number).await;
    }
    let before = log.commits();
    let appends = (1..=64).map(|number| log.append(append(id(number), 1, said("together"))));
    assert!(futures_util::future::join_all(appends).await.iter().all(Result::is_ok));
    let commits = log.commits() - before;
    // The first one may set out alone; what comes while it is on its way goes together.
    assert!((1..=4).contains(&commits), "{commits} commits for 64 appends");
}

#[tokio::test]
async fn with_normal_durability_the_log_is_synced_after_the_flush_interval() {
    let folder = tempfile::tempdir().unwrap();
    let open = |flush_ms| {
        let durability = Durability::Normal { flush_ms };
        let options = SqliteOptions { durability, ..SqliteOptions::default() };
        SqliteLog::open_with(folder.path().join("log.db"), options).unwrap()
    };
    let log = open(Some(1));
    let run = begin(&log, 1).await;
    let mut version = 1;
    while log.flushes() == 0 {
        log.append(append(run, version, said("on"))).await.unwrap();
        version += 1;
        assert!(version < 100_000, "never synced");
    }
    drop(log);
    let log = open(None);
    begin(&log, 2).await;
    assert_eq!((log.flushes(), log.summary(run).await.unwrap().version), (0, version));
}
