//! E65: a request that is sent twice under its key begins or steers one run, over restarts and processes, for each owner.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use windlass_core::event::PeopleFact;

use serde_json::json;
use tokio::sync::Notify;
use windlass_core::{Answer, Fact, InputKind, Owner, RunId, RunState, SessionId, Text};
use windlass_error::Diagnostic as _;
use windlass_read::RunPages;
use windlass_runtime::{Admitted, Agent, DriveOptions, Error, Run};
use windlass_store::{
    Answer as Reply, Claim, Holder, Inbox, Index as _, KeyedPost, Leases as _, MemoryLog, Post, PostKey,
    RunFilter, Store, forward_store,
};
use windlass_testing::{FnModel, FnTool, called, text_reply};

/// An agent that pays after an approval. A new one on the same log is a restarted process.
fn agent(log: &Arc<MemoryLog>, policy: &str) -> Agent {
    let model = FnModel::new(|request| {
        let messages = request.messages.iter();
        let last = messages.last().map(|message| message.role().to_string()).unwrap_or_default();
        if last == "tool" { text_reply("done") } else { called(&[("pay", "{}")]) }
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
        messages +=
            events.filter(|event| matches!(event.fact, Fact::People(PeopleFact::MessageQueued(_)))).count();
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

/// Brings a run that waits for approvals to its end.
async fn end(log: &Arc<MemoryLog>, policy: &str, run: RunId) {
    for question in ["q1", "q2"] {
        agent(log, policy).answer(run, question, Answer::Approve).await.unwrap();
        let driven = agent(log, policy).resume(run).prepare().await.unwrap().drive().await.unwrap();
        if matches!(driven.run_state(), RunState::Ended(_)) {
            return;
        }
    }
    panic!("run {run} has not ended");
}

/// How often a run was steered.
async fn steered(log: &MemoryLog, run: RunId) -> usize {
    let mut pages = RunPages::new(log, run);
    let mut messages = 0;
    while let Some(batches) = pages.next().await.unwrap() {
        let events = batches.iter().flat_map(|batch| batch.events.iter());
        messages += events.filter(|event| matches!(event.fact, Fact::People(PeopleFact::Steered(_)))).count();
    }
    messages
}

#[tokio::test]
async fn e65_a_message_that_steered_a_run_is_known_by_its_key_after_the_run_s_end() {
    let log = Arc::new(MemoryLog::new());
    let steer = async |text: &str| agent(&log, "steer").admit(text, under("k2", Some("s"))).await;
    let first = started(&agent(&log, "steer"), "Pay.", under("k1", Some("s"))).await;
    // In the inbox of a run without a driver, in its log, and after its end.
    for ended in [false, false, true] {
        if ended {
            end(&log, "steer", first.id()).await;
        }
        let admitted = steer("Hurry.").await.unwrap();
        assert!(matches!(admitted, Admitted::Steered { run } if run == first.id()), "{admitted:?}");
        let other = steer("Wait.").await.unwrap_err();
        assert!(matches!(other, Error::KeyReused { run, .. } if run == first.id()), "{other:?}");
    }
    // The session has gone on since.
    let next = started(&agent(&log, "steer"), "Pay again.", under("k3", Some("s"))).await;
    let admitted = steer("Hurry.").await.unwrap();
    assert!(matches!(admitted, Admitted::Steered { run } if run == first.id()), "{admitted:?}");
    assert_eq!((steered(&log, first.id()).await, steered(&log, next.id()).await), (1, 0));
    assert_eq!(log.len(), 2);
    let theirs = DriveOptions { owner: Owner::from("ada"), ..under("k2", Some("s")) };
    started(&agent(&log, "steer"), "Hurry.", theirs).await;
}

#[tokio::test]
async fn e65_a_key_is_the_request_s_whatever_became_of_it() {
    // Under another policy the message would have another fate: it has one already.
    for (policy, later) in [("steer", "queue"), ("queue", "steer"), ("steer", "refuse"), ("queue", "refuse")]
    {
        let log = Arc::new(MemoryLog::new());
        let first = started(&agent(&log, policy), "Pay.", under("k1", Some("s"))).await;
        let fate = agent(&log, policy).admit("And again.", under("k2", Some("s"))).await.unwrap();
        end(&log, policy, first.id()).await;
        let again = agent(&log, later).admit("And again.", under("k2", Some("s"))).await.unwrap();
        let is_same = match (&fate, &again) {
            (Admitted::Steered { run: was }, Admitted::Steered { run })
            | (Admitted::Queued { run: was, .. }, Admitted::Repeated { run }) => was == run,
            _ => false,
        };
        assert!(is_same, "{policy}, {later}: {fate:?}, {again:?}");
        let other = agent(&log, later).admit("Something else.", under("k2", Some("s"))).await.unwrap_err();
        assert!(matches!(other, Error::KeyReused { .. }), "{policy}, {later}: {other:?}");
    }
}

#[tokio::test]
async fn e65_a_message_that_a_run_refused_may_steer_the_next_one() {
    let log = Arc::new(MemoryLog::new());
    let first = started(&agent(&log, "steer"), "Pay.", under("k1", Some("s"))).await;
    end(&log, "steer", first.id()).await;
    let next = started(&agent(&log, "steer"), "Pay again.", under("k2", Some("s"))).await;
    let key = |digest| PostKey { owner: Owner::default(), key: "start.steer/k3".into(), digest };
    // As a run leaves it that took another message's post under the key, and then refused it.
    let post = Post { key: Some(key([7; 32])), ..Post::new(1, InputKind::Steer("Hurry.".into())) };
    let post = log.post(next.id(), post).await.unwrap();
    let other = agent(&log, "steer").admit("Hurry.", under("k3", Some("s"))).await.unwrap_err();
    assert!(matches!(other, Error::KeyReused { .. }), "{other:?}");
    let fence = log.acquire(next.id(), &Holder("driver".into()), Claim::fresh()).await.unwrap();
    log.discard(next.id(), post, &fence).await.unwrap();
    log.release(next.id(), &fence).await.unwrap();
    let admitted = agent(&log, "steer").admit("Hurry.", under("k3", Some("s"))).await.unwrap();
    assert!(matches!(admitted, Admitted::Steered { run } if run == next.id()), "{admitted:?}");
}

/// Stops once after a look for a key that finds nothing, until it is let go on.
#[derive(Debug)]
struct Late {
    inner: Arc<MemoryLog>,
    looked: Notify,
    goes_on: Notify,
    once: AtomicBool,
}

impl Inbox for Late {
    fn posted(&self, owner: &Owner, keys: &[Text]) -> Reply<'_, Vec<Option<KeyedPost>>> {
        let found = self.inner.posted(owner, keys);
        Box::pin(async move {
            let found = found.await?;
            if !self.once.swap(true, Ordering::Relaxed) {
                self.looked.notify_one();
                self.goes_on.notified().await;
            }
            Ok(found)
        })
    }

    forward_store!(inner: post, inbox, inbox_changed, discard);
}

forward_store!(Log, Leases, Payloads, Index for Late => inner);

#[tokio::test]
async fn e65_a_message_that_another_sending_brought_meanwhile_steers_no_second_run() {
    let log = Arc::new(MemoryLog::new());
    let first = started(&agent(&log, "steer"), "Pay.", under("k1", Some("s"))).await;
    let (looked, goes_on, once) = (Notify::new(), Notify::new(), AtomicBool::new(false));
    let late = Arc::new(Late { inner: log.clone(), looked, goes_on, once });
    let store: Arc<dyn Store> = late.clone();
    let model = FnModel::new(|_| text_reply("done"));
    let slow = Agent::builder("payer").model(("m1", Arc::new(model)));
    let slow = slow.settings(&json!({ "while_running": "steer" })).log(store).build().unwrap();
    let (again, next) = tokio::join!(slow.admit("Hurry.", under("k2", Some("s"))), async {
        late.looked.notified().await;
        let admitted = agent(&log, "steer").admit("Hurry.", under("k2", Some("s"))).await.unwrap();
        assert!(matches!(admitted, Admitted::Steered { run } if run == first.id()), "{admitted:?}");
        end(&log, "steer", first.id()).await;
        // The next run is busy when the first sender goes on.
        let begun = agent(&log, "steer").admit("Pay again.", under("k3", Some("s"))).await.unwrap();
        let Admitted::Started(held) = begun else { panic!("{begun:?}") };
        late.goes_on.notify_one();
        held
    });
    let again = again.unwrap();
    assert!(matches!(again, Admitted::Steered { run } if run == first.id()), "{again:?}");
    let next = next.drive().await.unwrap();
    assert_eq!((steered(&log, first.id()).await, steered(&log, next.id()).await), (1, 0));
}
