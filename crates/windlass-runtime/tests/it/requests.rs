//! E65: a request that is sent twice under its key begins one run, over restarts and processes, for each owner.

use std::sync::Arc;

use serde_json::json;
use windlass_core::{Answer, Fact, Owner, RunId, RunState, SessionId};
use windlass_error::Diagnostic as _;
use windlass_read::RunPages;
use windlass_runtime::{Admitted, Agent, DriveOptions, Error, Run};
use windlass_store::{Index as _, MemoryLog, RunFilter, Store};
use windlass_testing::{FnModel, FnTool, called, said};

/// An agent that pays after an approval. A new one on the same log is a restarted process.
fn agent(log: &Arc<MemoryLog>, policy: &str) -> Agent {
    let model = FnModel::new(|request| {
        let messages = request.messages.iter();
        let last = messages.last().map(|message| message.role().to_string()).unwrap_or_default();
        if last == "tool" { said("done") } else { called(&[("pay", "{}")]) }
    });
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let log: Arc<dyn Store> = log.clone();
    let builder = Agent::builder("payer").model(("m1", Arc::new(model))).tool(pay);
    builder.settings(&json!({ "while_running": policy })).log(log).build().unwrap()
}

fn under(key: &str, session: Option<&str>) -> DriveOptions {
    DriveOptions { key: Some(key.into()), session: session.map(SessionId::from), ..DriveOptions::default() }
}

async fn started(agent: &Agent, text: &str, options: DriveOptions) -> Run {
    let Admitted::Started(prepared) = agent.admit(text, options).await.unwrap() else { panic!() };
    prepared.drive().await.unwrap()
}

async fn repeated(agent: &Agent, text: &str, options: DriveOptions) -> RunId {
    match agent.admit(text, options).await.unwrap() {
        Admitted::Repeated { run } => run,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn e65_a_start_that_is_sent_twice_begins_one_run() {
    for session in [None, Some("s")] {
        let log = Arc::new(MemoryLog::new());
        let first = started(&agent(&log, "refuse"), "Pay.", under("k1", session)).await;
        assert_eq!(first.id(), RunId::of_request(&Owner::default(), "start", "k1"));
        assert_eq!(first.run_state(), RunState::Suspended);
        // Before any limit: the session is busy, and the repeat is no second message.
        assert_eq!(repeated(&agent(&log, "refuse"), "Pay.", under("k1", session)).await, first.id());
        let other = agent(&log, "refuse").admit("Pay twice.", under("k1", session)).await.unwrap_err();
        assert!(matches!(other, Error::KeyReused { run, .. } if run == first.id()), "{other:?}");
        assert_eq!(other.code(), "request.key_reused");
        agent(&log, "refuse").answer(first.id(), "q1", Answer::Approve).await.unwrap();
        agent(&log, "refuse").resume(first.id()).prepare().await.unwrap().drive().await.unwrap();
        assert_eq!(repeated(&agent(&log, "refuse"), "Pay.", under("k1", session)).await, first.id());
        let theirs = DriveOptions { owner: Owner::from("ada"), ..under("k1", session) };
        assert_ne!(
            started(&agent(&log, "refuse"), "Pay.", theirs).await.id(),
            first.id(),
            "another owner's key"
        );
        let runs = log.list(RunFilter::default()).await.unwrap();
        assert_eq!(runs.len(), 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn e65_processes_that_send_one_request_at_the_same_moment_begin_one_run() {
    for (round, session) in [None, Some("s")].into_iter().cycle().take(20).enumerate() {
        let log = Arc::new(MemoryLog::new());
        let policy = ["refuse", "queue", "steer", "interrupt"][round % 4];
        let senders: Vec<_> = (0..8)
            .map(|_| {
                let log = log.clone();
                tokio::spawn(async move {
                    match agent(&log, policy).admit("Pay.", under("k1", session)).await.unwrap() {
                        Admitted::Started(prepared) => {
                            prepared.drive().await.unwrap();
                            true
                        }
                        Admitted::Repeated { .. } => false,
                        other => panic!("{policy}: {other:?}"),
                    }
                })
            })
            .collect();
        let mut begun = 0;
        for sender in senders {
            begun += usize::from(sender.await.unwrap());
        }
        assert_eq!((begun, log.len()), (1, 1), "{policy}, {session:?}");
    }
}

#[tokio::test]
async fn e65_a_message_that_waits_its_turn_is_not_queued_twice() {
    let log = Arc::new(MemoryLog::new());
    let first = started(&agent(&log, "queue"), "Pay.", under("k1", Some("s"))).await;
    let mut queued = Vec::new();
    // Its first sending lies in the inbox of a run without a driver.
    for _ in 0..2 {
        match agent(&log, "queue").admit("And again.", under("k2", Some("s"))).await.unwrap() {
            Admitted::Queued { behind, run } => queued.push((behind, run)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(queued[0], queued[1]);
    assert_eq!(queued[0].0, first.id());
    agent(&log, "queue").answer(first.id(), "q1", Answer::Approve).await.unwrap();
    agent(&log, "queue").resume(first.id()).prepare().await.unwrap().drive().await.unwrap();
    // Now it stands in the log of the run that has ended, and then it has a run of its own.
    assert_eq!(repeated(&agent(&log, "queue"), "And again.", under("k2", Some("s"))).await, queued[0].1);
    let other = agent(&log, "queue").admit("Something else.", under("k2", Some("s"))).await.unwrap_err();
    assert!(matches!(other, Error::KeyReused { .. }), "{other:?}");
    let options = DriveOptions { session: Some("s".into()), ..DriveOptions::default() };
    let next = agent(&log, "queue").next_queued(&"s".into(), options).await.unwrap().unwrap();
    assert_eq!(next.id(), queued[0].1);
    next.drive().await.unwrap();
    assert_eq!(repeated(&agent(&log, "queue"), "And again.", under("k2", Some("s"))).await, queued[0].1);
    let mut pages = RunPages::new(&*log, first.id());
    let mut messages = 0;
    while let Some(batches) = pages.next().await.unwrap() {
        let events = batches.iter().flat_map(|batch| batch.events.iter());
        messages += events.filter(|event| matches!(event.fact, Fact::MessageQueued(_))).count();
    }
    assert_eq!(messages, 1);
}

#[tokio::test]
async fn e65_a_request_that_was_refused_frees_its_key() {
    let log = Arc::new(MemoryLog::new());
    let first = started(&agent(&log, "refuse"), "Pay.", under("k1", Some("s"))).await;
    let refused = agent(&log, "refuse").admit("And again.", under("k2", Some("s"))).await.unwrap_err();
    assert!(matches!(refused, Error::SessionBusy { .. }), "{refused:?}");
    agent(&log, "refuse").answer(first.id(), "q1", Answer::Approve).await.unwrap();
    agent(&log, "refuse").resume(first.id()).prepare().await.unwrap().drive().await.unwrap();
    let again = started(&agent(&log, "refuse"), "Something else.", under("k2", Some("s"))).await;
    assert_eq!(again.id(), RunId::of_request(&Owner::default(), "start", "k2"));
}
