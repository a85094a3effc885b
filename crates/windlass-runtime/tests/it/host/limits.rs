//! Limits on runs at once, and messages that wait in a session.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_core::{RunState, Status};
use windlass_error::Diagnostic as _;
use windlass_runtime::host::{Host, Limits, Start};
use windlass_runtime::{Admitted, Agent, DriveOptions};
use windlass_store::{MemoryLog, RunFilter, Store};
use windlass_testing::{FnModel, FnTool, called, text_reply};

use super::{TokioClock, started};

/// An agent whose runs take a second.
fn sleeper(log: &Arc<dyn Store>) -> Agent {
    let model = FnModel::new(|request| {
        if request.messages.len() % 3 == 1 { called(&[("sleep", "{}")]) } else { text_reply("slept") }
    });
    let sleep = FnTool::new("sleep", |_, _| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok("slept".into())
    });
    Agent::builder("sleeper")
        .model(("m", Arc::new(model)))
        .tool(sleep)
        .settings(&json!({ "while_running": "queue" }))
        .log(log.clone())
        .environment(TokioClock::new())
        .build()
        .unwrap()
}

fn of(owner: &str, key: Option<&str>) -> DriveOptions {
    DriveOptions { owner: owner.into(), key: key.map(Into::into), ..DriveOptions::default() }
}

#[tokio::test(start_paused = true)]
async fn runs_beyond_the_limit_begin_durably_and_wait_and_too_many_are_refused_with_nothing_begun() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let limits = Limits { at_once: 2, waiting: 2, ..Limits::default() };
    let host = Host::builder(log.clone()).environment(TokioClock::new()).limits(limits).build();
    let agent = sleeper(&log);
    let mut runs = Vec::new();
    for number in 0..4 {
        let key = format!("k{number}");
        let start = Start::new(&agent, "Go.").options(of("local", Some(&key)));
        runs.push(started(&host, start).await);
    }
    let refused = host.start(Start::new(&agent, "Go.").options(of("local", Some("k4")))).await.unwrap_err();
    assert_eq!(refused.code(), "host.full");
    assert_eq!(log.list(RunFilter::default()).await.unwrap().len(), 4, "the refused one is not in the log");
    // A repeat does not meet the limit.
    let again = host.start(Start::new(&agent, "Go.").options(of("local", Some("k1")))).await.unwrap();
    assert!(matches!(again, Admitted::Repeated { run } if run == runs[1].id()));
    let began = tokio::time::Instant::now();
    for run in runs {
        assert_eq!(run.end().await.unwrap().status(), Some(Status::Answered));
    }
    let took = began.elapsed().as_secs();
    assert!((2..4).contains(&took), "two at a time: {took} s");
}

#[tokio::test(start_paused = true)]
async fn an_owner_with_many_runs_does_not_keep_another_waiting_for_all_of_them() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let limits = Limits { at_once: 1, ..Limits::default() };
    let host = Host::builder(log.clone()).environment(TokioClock::new()).limits(limits).build();
    let agent = sleeper(&log);
    let mut busy = Vec::new();
    for _ in 0..10 {
        busy.push(started(&host, Start::new(&agent, "Go.").options(of("busy", None))).await);
    }
    let began = tokio::time::Instant::now();
    let quiet = started(&host, Start::new(&agent, "Go.").options(of("quiet", None))).await;
    quiet.end().await.unwrap();
    let took = began.elapsed().as_secs();
    assert!(took <= 3, "{took} s: its turn comes after one or two of the other's ten");
    for run in busy {
        run.end().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_in_a_session_is_answered_once_its_run_has_ended() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let host = Host::builder(log.clone()).environment(TokioClock::new()).build();
    let agent = sleeper(&log);
    let options = || DriveOptions { session: Some("s".into()), ..DriveOptions::default() };
    let first = started(&host, Start::new(&agent, "One.").options(options())).await;
    let mut waiting = Vec::new();
    for text in ["Two.", "Three."] {
        match host.start(Start::new(&agent, text).options(options())).await.unwrap() {
            Admitted::Queued { run, .. } => waiting.push(run),
            other => panic!("not queued: {other:?}"),
        }
    }
    // One that another process has brought, which is gone.
    let other = Host::builder(log.clone()).environment(TokioClock::new()).build();
    let Ok(Admitted::Queued { run, .. }) = other.start(Start::new(&agent, "Four.").options(options())).await
    else {
        panic!("not queued")
    };
    waiting.push(run);
    drop(other);
    first.end().await.unwrap();
    for run in waiting {
        let ended = windlass_runtime::control::run_end(&*log, run);
        let ended = tokio::time::timeout(Duration::from_mins(1), async {
            while !windlass_read::is_known(&*log, run).await.unwrap() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            ended.await.unwrap()
        });
        assert_eq!(ended.await.expect("nobody answers it").status, Status::Answered);
    }
}

#[tokio::test(start_paused = true)]
async fn closing_lays_runs_down_and_begins_nothing_more() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let limits = Limits { at_once: 1, ..Limits::default() };
    let host = Host::builder(log.clone()).environment(TokioClock::new()).limits(limits).build();
    let agent = sleeper(&log);
    let driven = started(&host, Start::new(&agent, "Go.")).await;
    let waiting = started(&host, Start::new(&agent, "Go.")).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    host.close().await;
    for run in [driven.id(), waiting.id()] {
        let line = log.summary(run).await.unwrap();
        assert_eq!(
            (line.run_state, line.holder),
            (RunState::Running, None),
            "another process can take it up"
        );
    }
    let refused = host.start(Start::new(&agent, "Go.")).await.unwrap_err();
    assert_eq!(refused.code(), "host.closing");
    assert_eq!(driven.end().await.unwrap().run_state(), RunState::Running);
    assert_eq!(waiting.end().await.unwrap().run_state(), RunState::Running);
}
