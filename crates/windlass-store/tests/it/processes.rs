//! Several processes on one file: what one writes the others see, and a killed one leaves nothing half-done.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use futures_util::StreamExt;
use windlass_core::InputKind;
use windlass_core::event::Steered;
use windlass_error::Diagnostic as _;
use windlass_store::{Append, Holder, Inbox, Index, Leases, Log, SqliteLog, SqliteOptions, StoreError};

use crate::sample::{append, begin, end, fence, id, said};

const LOG: &str = "WINDLASS_TEST_LOG";

/// A role of this test binary in a process of its own. It is killed when the test is over.
struct Role {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Role {
    fn start(name: &str, log: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("processes::{name}"), "--ignored", "--nocapture"])
            .env(LOG, log)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// The next line that the role says, without those of the test harness.
    fn hear(&mut self) -> String {
        let said = self
            .lines
            .by_ref()
            .map(Result::unwrap)
            .find_map(|line| line.strip_prefix("role: ").map(str::to_owned));
        said.expect("the other process ended early")
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn say(what: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nrole: {what}").unwrap();
    out.flush().unwrap();
}

fn log_of_role() -> SqliteLog {
    SqliteLog::open(std::env::var(LOG).expect("started by a test")).unwrap()
}

#[tokio::test]
#[ignore = "a role that another test plays in a process of its own"]
async fn role_appends_for_ever() {
    let log = log_of_role();
    let run = begin(&log, 1).await;
    for version in 1.. {
        log.append(append(run, version, said(&format!("event {}", version + 1)))).await.unwrap();
        say(version + 1);
    }
}

#[tokio::test]
async fn e31_after_kill_9_everything_acknowledged_is_there_and_another_process_goes_on_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let mut role = Role::start("role_appends_for_ever", &path);
    assert_eq!(role.hear(), "2");
    let log = SqliteLog::open(&path).unwrap();
    let other = Holder("other".into());
    let held = log.acquire(id(1), &other, windlass_store::Claim(1)).await;
    assert!(matches!(&held, Err(StoreError::Held { holder, .. }) if holder == "maker"), "{held:?}");
    let mut acknowledged: u64 = 0;
    while acknowledged < 100 {
        acknowledged = role.hear().parse().unwrap();
    }
    role.kill();
    // What it said before it died counts too.
    let rest = role.lines.by_ref().map_while(Result::ok);
    let rest = rest.filter_map(|line| line.strip_prefix("role: ").and_then(|line| line.parse().ok()));
    let acknowledged = rest.max().unwrap_or(acknowledged);
    let events: Vec<_> = log.read(id(1), 1, usize::MAX).await.unwrap();
    let version = events.last().unwrap().last();
    assert!(version >= acknowledged, "{acknowledged} events were acknowledged, {version} are there");
    for (batch, seq) in events.iter().zip(1..) {
        assert_eq!(batch.first, seq);
        assert!(seq == 1 || *batch.events == *said(&format!("event {seq}")), "{batch:?}");
    }
    let fence = log.acquire(id(1), &other, windlass_store::Claim(1)).await.unwrap();
    assert_eq!(fence.epoch, 2);
    log.append(Append { fence, ..append(id(1), version, said("going on")) }).await.unwrap();
}

#[tokio::test]
#[ignore = "a role that another test plays in a process of its own"]
async fn role_waits_for_a_post_and_ends() {
    let log = log_of_role();
    let run = begin(&log, 1).await;
    say("began");
    log.inbox_changed(run, None).await.unwrap();
    let posted = log.inbox(run, None).await.unwrap();
    let InputKind::Steer(Steered { text, .. }) = &posted[0].what else { panic!("{posted:?}") };
    log.append(Append { uses: Some(posted[0].id), ..append(run, 1, said(text)) }).await.unwrap();
    log.append(end(run, 2)).await.unwrap();
}

#[tokio::test]
async fn posts_and_events_cross_processes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let mut role = Role::start("role_waits_for_a_post_and_ends", &path);
    assert_eq!(role.hear(), "began");
    let log = SqliteLog::open(&path).unwrap();
    let mut batches = log.follow(id(1), 2);
    assert!(futures_util::poll!(batches.next()).is_pending());
    log.post(id(1), windlass_store::Post::new(5, InputKind::Steer("go".into()))).await.unwrap();
    let batches: Vec<_> = batches.map(Result::unwrap).collect().await;
    assert_eq!(batches.iter().map(|batch| batch.first).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(*batches[0].events, *said("go"));
    assert_eq!(log.inbox(id(1), None).await.unwrap(), []);
}

#[tokio::test]
async fn a_post_that_waited_before_the_log_was_opened_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let first = SqliteLog::open(&path).unwrap();
    let run = begin(&first, 1).await;
    let post = first.post(run, windlass_store::Post::new(5, InputKind::Steer("go".into()))).await.unwrap();
    first.release(run, &fence("maker", 1)).await.unwrap();
    let second = SqliteLog::open(&path).unwrap();
    let taken = second.acquire(run, &Holder("other".into()), windlass_store::Claim(1)).await.unwrap();
    second.inbox_changed(run, None).await.unwrap();
    second.append(Append { uses: Some(post), fence: taken, ..append(run, 1, said("go")) }).await.unwrap();
    let mut next = second.inbox_changed(run, None);
    assert!(futures_util::poll!(&mut next).is_pending(), "a used post is still waited for");
    first.post(run, windlass_store::Post::new(6, InputKind::Cancel { reason: None })).await.unwrap();
    next.await.unwrap();
}

#[tokio::test]
async fn many_processes_may_make_the_same_log() {
    // Each round meets other moments of the making.
    for _ in 0..40 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.db");
        let threads: Vec<_> = (0..8)
            .map(|_| {
                let path = path.clone();
                std::thread::spawn(move || SqliteLog::open(path).map(drop))
            })
            .collect();
        for thread in threads {
            thread.join().unwrap().unwrap();
        }
    }
}

#[test]
#[ignore = "a role that another test plays in a process of its own"]
fn role_stays_within_a_commit() {
    let file = rusqlite::Connection::open(std::env::var(LOG).expect("started by a test")).unwrap();
    file.execute_batch("BEGIN IMMEDIATE").unwrap();
    say("locked");
    std::thread::park();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn e31_a_process_that_is_stopped_within_a_commit_is_named_and_nobody_waits_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let options = SqliteOptions { busy_timeout_ms: 1_000, ..SqliteOptions::default() };
    let log = SqliteLog::open_with(&path, options).unwrap();
    let run = begin(&log, 1).await;
    let mut role = Role::start("role_stays_within_a_commit", &path);
    assert_eq!(role.hear(), "locked");
    let pid = role.child.id();
    let signal = |name: &str| Command::new("kill").args([name, &pid.to_string()]).status().unwrap();
    assert!(signal("-STOP").success());
    let begun = std::time::Instant::now();
    let error = log.append(append(run, 1, said("locked out"))).await.unwrap_err();
    let StoreError::Locked { holder, .. } = &error else { panic!("{error:?}") };
    let process = holder.process.as_ref().unwrap();
    assert_eq!((process.pid, process.stopped), (i64::from(pid), true));
    assert!(error.help().unwrap().contains(&format!("`kill -CONT {pid}`")), "{error:?}");
    // What is left to do, a hold to give up and the log to close, waits no second time.
    let one = begun.elapsed();
    let late = log.release(run, &fence("maker", 1)).await.unwrap_err();
    assert_eq!(late.code(), "store.locked");
    drop(log);
    let all = begun.elapsed();
    assert!(all < one * 2, "one wait took {one:?}, all of it {all:?}");
    role.kill();
    let log = SqliteLog::open(&path).unwrap();
    assert_eq!(log.summary(run).await.unwrap().version, 1);
}
