//! E61: messages that are queued in a session are answered in their order, though their host is gone.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_core::{Message, RunId, RunState, Status};
use windlass_error::Diagnostic as _;
use windlass_runtime::host::{Host, Limits, Outcome, Report, Start};
use windlass_runtime::{Admitted, Agent, DriveOptions, Error};
use windlass_store::{
    Answer, Append, Log, MemoryLog, RunFilter, SqliteLog, Store, StoreError, forward_store,
};
use windlass_testing::{FnModel, FnTool, called, text_reply};

use super::{TokioClock, started};

/// The log of a process that dies when it has ended a run: it begins nothing any more.
#[derive(Debug)]
struct Dies {
    inner: Arc<dyn Store>,
    dead: AtomicBool,
}

impl Log for Dies {
    fn append(&self, append: Append) -> Answer<'_, ()> {
        if append.expected == 0 && self.dead.load(Ordering::Relaxed) {
            return Box::pin(async { Err(StoreError::Failed("killed".into())) });
        }
        let ends = matches!(append.run_state, RunState::Ended(_));
        Box::pin(async move {
            self.inner.append(append).await?;
            self.dead.fetch_or(ends, Ordering::Relaxed);
            Ok(())
        })
    }

    forward_store!(inner: used, read, follow);
}

forward_store!(Inbox, Leases, Payloads, Index for Dies => inner);

/// An agent that works for a second, then says what it was told last; and a host of a process of its own.
fn process(log: &Arc<dyn Store>, clock: &Arc<TokioClock>) -> (Agent, Host) {
    let model = FnModel::new(|request| {
        let last = request.messages.iter().last().cloned();
        match last.as_deref() {
            Some(Message::Tool(_)) => {
                let asked = request.messages.iter().filter_map(|message| match &**message {
                    Message::User { content, .. } => Some(content.text().into_owned()),
                    _ => None,
                });
                text_reply(&format!("after {}", asked.last().unwrap_or_default()))
            }
            _ => called(&[("work", "{}")]),
        }
    });
    let work = FnTool::new("work", |_, _| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok("worked".into())
    });
    let agent = Agent::builder("worker")
        .model(("m", Arc::new(model)))
        .tool(work)
        .settings(&json!({ "while_running": "queue" }))
        .log(log.clone())
        .environment(clock.clone())
        .build()
        .unwrap();
    let host = Host::builder(log.clone()).environment(clock.clone()).build();
    (agent, host)
}

fn message(agent: &Agent, text: &str, owner: &str) -> Start {
    let options = DriveOptions { session: Some("s".into()), owner: owner.into(), ..DriveOptions::default() };
    Start::new(agent, text).options(options)
}

/// A process begins a run, queues messages behind it, and dies when that has ended. The runs that are to answer them.
async fn left(log: &Arc<dyn Store>, clock: &Arc<TokioClock>, owner: &str) -> Vec<RunId> {
    let dies: Arc<dyn Store> = Arc::new(Dies { inner: log.clone(), dead: AtomicBool::new(false) });
    let (agent, host) = process(&dies, clock);
    let first = started(&host, message(&agent, "zero", owner)).await;
    let mut queued = Vec::new();
    for text in ["one", "two", "three"] {
        match host.start(message(&agent, text, owner)).await.unwrap() {
            Admitted::Queued { run, .. } => queued.push(run),
            other => panic!("{other:?}"),
        }
    }
    let ended = first.end().await.unwrap();
    assert_eq!(ended.text(), Some("after zero"));
    // What it would have begun was refused, as to a process that is gone.
    host.close().await;
    queued
}

/// Supervises until so many runs were reported.
async fn supervised(host: &Host, runs: usize) -> Vec<(RunId, String)> {
    let (told, stop) = (Mutex::new(Vec::new()), CancellationToken::new());
    let watch = host.supervise(&stop, |report: Report| {
        let outcome = match &report.outcome {
            Outcome::Driven(run) => run.text().unwrap_or_default().to_owned(),
            Outcome::GivenUp(lost) => panic!("{lost:?}"),
            Outcome::Failed(error) => error.code().to_owned(),
        };
        let mut told = told.lock().unwrap();
        told.push((report.run, outcome));
        if told.len() == runs {
            stop.cancel();
        }
        Ok::<_, Error>(())
    });
    tokio::time::timeout(Duration::from_mins(10), watch).await.unwrap().unwrap();
    told.into_inner().unwrap()
}

#[tokio::test(start_paused = true)]
async fn e61_a_living_host_answers_what_was_queued_at_one_that_is_gone() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let clock = TokioClock::new();
    let queued = left(&log, &clock, "local").await;
    let (agent, host) = process(&log, &clock);
    host.registry().add(agent);
    let began = Instant::now();
    // The supervisor begins the first one; what waits behind that is answered by its host, as ever.
    assert_eq!(supervised(&host, 1).await, [(queued[0], "after one".to_owned())]);
    let took = began.elapsed();
    assert!((Duration::from_secs(1)..Duration::from_millis(3_200)).contains(&took), "{took:?}");
}

/// Waits for the end of a run that may not have begun.
async fn answer_of(log: &dyn Store, run: RunId) -> String {
    for _ in 0..10_000 {
        match windlass_runtime::control::run_end(log, run).await {
            Ok(end) => return end.text.unwrap_or_default().to_string(),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
    panic!("run {run} has not begun");
}

#[tokio::test(start_paused = true)]
async fn e61_all_messages_of_a_queue_that_was_left_are_answered_once_and_in_order_by_one_of_two_hosts() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let clock = TokioClock::new();
    let queued = left(&log, &clock, "local").await;
    let hosts: Vec<_> = (0..2)
        .map(|_| {
            let (agent, host) = process(&log, &clock);
            host.registry().add(agent);
            host
        })
        .collect();
    let stop = CancellationToken::new();
    let watch = |host: Host| {
        let stop = stop.clone();
        tokio::spawn(async move { host.supervise(&stop, |_| Ok::<_, Error>(())).await.unwrap() })
    };
    let watches: Vec<_> = hosts.iter().cloned().map(watch).collect();
    for (run, text) in queued.iter().zip(["after one", "after two", "after three"]) {
        assert_eq!(answer_of(&*log, *run).await, text);
    }
    tokio::time::sleep(Duration::from_secs(10)).await;
    stop.cancel();
    for watch in watches {
        watch.await.unwrap();
    }
    let runs = log.list(RunFilter::default()).await.unwrap();
    assert_eq!(runs.len(), 4, "each message has one run");
    assert!(runs.iter().all(|line| line.run_state == RunState::Ended(Status::Answered)));
    assert_eq!(log.head(&"local".into(), &"s".into()).await.unwrap(), Some(queued[2]));
    let left = log.list(RunFilter { queued: true, ..RunFilter::default() }).await.unwrap();
    assert!(left.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_queue_whose_agent_is_not_here_is_told_once_and_keeps_no_other_waiting() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let clock = TokioClock::new();
    let first = left(&log, &clock, "ada").await;
    let head = log.head(&"ada".into(), &"s".into()).await.unwrap().unwrap();
    let (_, host) = process(&log, &clock);
    let (told, stop) = (Mutex::new(Vec::new()), CancellationToken::new());
    let watch = host.supervise(&stop, |report: Report| {
        let Outcome::Failed(error) = &report.outcome else { panic!("{report:?}") };
        told.lock().unwrap().push((report.run, error.code()));
        Ok::<_, Error>(())
    });
    let rest = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        stop.cancel();
    };
    futures_util::future::join(watch, rest).await.0.unwrap();
    assert_eq!(*told.lock().unwrap(), [(head, "run.unknown_agent")]);
    assert!(log.summary(first[0]).await.is_err(), "it waits in the log");
}

#[tokio::test(start_paused = true)]
async fn queues_that_were_left_are_answered_within_the_limits_and_by_all_owners() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let clock = TokioClock::new();
    let mut queued = Vec::new();
    for owner in ["ada", "bob", "carol"] {
        queued.extend(left(&log, &clock, owner).await);
    }
    let (agent, _) = process(&log, &clock);
    let limits = Limits { at_once: 1, ..Limits::default() };
    let host = Host::builder(log.clone()).environment(clock.clone()).limits(limits).build();
    host.registry().add(agent);
    let stop = CancellationToken::new();
    let watch = {
        let (host, stop) = (host.clone(), stop.clone());
        tokio::spawn(async move { host.supervise(&stop, |_| Ok::<_, Error>(())).await.unwrap() })
    };
    for run in &queued {
        answer_of(&*log, *run).await;
    }
    stop.cancel();
    watch.await.unwrap();
    assert_eq!(log.list(RunFilter::default()).await.unwrap().len(), 12);
}

/// In real time, on a file.
#[tokio::test]
async fn e61_a_queue_that_was_left_in_a_file_is_answered_by_another_host() {
    let folder = tempfile::tempdir().unwrap();
    let log: Arc<dyn Store> = Arc::new(SqliteLog::open(folder.path().join("log.db")).unwrap());
    let clock = TokioClock::new();
    let queued = left(&log, &clock, "local").await;
    let (agent, host) = process(&log, &clock);
    host.registry().add(agent);
    assert_eq!(supervised(&host, 1).await, [(queued[0], "after one".to_owned())]);
}
