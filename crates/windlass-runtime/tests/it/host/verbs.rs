//! E75: requests carry what their senders saw, and are refused with what has changed.

use std::fmt;
use std::sync::{Arc, Mutex};

use futures_core::future::BoxFuture;
use windlass_core::{Answer, RunId, Status};
use windlass_error::Diagnostic as _;
use windlass_read::load;
use windlass_runtime::host::{Answering, QuestionSeen, Request, Scope, Taking, question_digest};
use windlass_store::{Claim, Fence, Holder, Leases, MemoryLog, Store, forward_store};
use windlass_testing::FnTool;

use super::ground;
use crate::scenarios::calls_then_answers;

fn question(text: &str) -> QuestionSeen {
    text.parse().unwrap()
}

#[tokio::test]
async fn e75_an_answer_to_another_question_than_was_read_is_refused() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (builder, host) =
        ground(&log, calls_then_answers(&[("pay", "{\"usd\": 5}"), ("pay", "{\"usd\": 5000}")]));
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let agent = builder.tool(pay).build().unwrap();
    host.registry().add(agent.clone());
    let client = host.within(Scope::default());
    let run = agent.run("Go.").await.unwrap();
    let digests: Vec<_> = run.questions().iter().map(question_digest).collect();
    assert_eq!(digests.len(), 2);
    assert_ne!(digests[0], digests[1]);
    let answer = |seen: &str| client.answer(Answering::new(run.id(), question(seen), Answer::Approve));
    for wrong in [format!("q1@{}", digests[1]), "q1@".to_owned(), "q1@zz".to_owned()] {
        let refused = answer(&wrong).await.unwrap_err();
        assert_eq!(refused.code(), "run.question_changed", "{wrong}");
        assert!(refused.to_string().contains("pay"), "{refused}");
    }
    assert!(log.inbox(run.id(), None).await.unwrap().is_empty(), "nothing was posted");
    answer(&format!("q1@{}", &digests[0][..4])).await.unwrap();
    answer("q2").await.unwrap();
    let done = client.resume(Taking::new(run.id())).await.unwrap().end().await.unwrap();
    assert_eq!(done.status(), Some(Status::Answered));
    let late = answer(&format!("q1@{}", digests[0])).await.unwrap_err();
    assert_eq!(late.code(), "input.ended", "{late}");
}

#[tokio::test]
async fn e75_a_request_about_a_run_that_has_gone_on_is_refused_with_what_has_happened() {
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let (builder, host) = ground(&log, calls_then_answers(&[("pay", "{}")]));
    let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
    let agent = builder.tool(pay).build().unwrap();
    host.registry().add(agent.clone());
    let client = host.within(Scope::default());
    let run = agent.run("Go.").await.unwrap();
    let (id, version) = (run.id(), run.state().version());
    let stale = || Request::seen(version - 1);
    let steered = client.steer(id, "faster", stale()).await.unwrap_err();
    assert_eq!(steered.code(), "run.moved_on");
    assert!(steered.to_string().contains(&format!("from event {} to {version}", version - 1)), "{steered}");
    assert_eq!(client.pause(id, None, stale()).await.unwrap_err().code(), "run.moved_on");
    assert_eq!(client.cancel(id, "no", stale()).await.unwrap_err().code(), "run.moved_on");
    let with = client.resume(Taking::new(id).with(agent.clone(), stale().seen)).await.unwrap_err();
    assert_eq!(with.code(), "run.moved_on");
    assert_eq!(load(&*log, id).await.unwrap().version(), version, "nothing has happened to it");
    assert!(log.inbox(id, None).await.unwrap().is_empty());
    // Whoever saw it as it is, or does not care, is heard.
    client.steer(id, "faster", Request::seen(version)).await.unwrap();
    client.pause(id, None, Request::default()).await.unwrap();
    client.cancel(id, "no", Request::seen(version)).await.unwrap();
    assert_eq!(load(&*log, id).await.unwrap().ended().unwrap().status, Status::Cancelled);
}

/// A log in which somebody else is faster when a lease is asked for.
struct Overtaken {
    inner: Arc<dyn Store>,
    faster: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl fmt::Debug for Overtaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Overtaken").finish_non_exhaustive()
    }
}

impl Leases for Overtaken {
    fn acquire(&self, run: RunId, holder: &Holder, claim: Claim) -> windlass_store::Answer<'_, Fence> {
        let (holder, faster) = (holder.clone(), self.faster.lock().unwrap().take());
        Box::pin(async move {
            if let Some(faster) = faster {
                faster.await;
            }
            self.inner.acquire(run, &holder, claim).await
        })
    }

    forward_store!(inner: acquire_due, renew, probe, release, park);
}

forward_store!(Log, Inbox, Payloads, Index for Overtaken => inner);

#[tokio::test]
async fn e75_a_run_that_goes_on_while_its_switch_is_asked_for_is_not_switched() {
    let inner: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let overtaken = Arc::new(Overtaken { inner: inner.clone(), faster: Mutex::default() });
    let log: Arc<dyn Store> = overtaken.clone();
    let payer = |log: &Arc<dyn Store>, prompt: &str| {
        let (builder, host) = ground(log, calls_then_answers(&[("pay", "{}")]));
        let pay = FnTool::new("pay", |_, _| async { Ok("paid".into()) }).spec(|spec| spec.approve = true);
        (builder.instructions(prompt).tool(pay).build().unwrap(), host)
    };
    let (own, _) = payer(&inner, "You pay.");
    let (other, host) = payer(&log, "You audit.");
    let run = own.run("Go.").await.unwrap();
    let (id, seen) = (run.id(), run.state().version());
    *overtaken.faster.lock().unwrap() = Some(Box::pin({
        let own = own.clone();
        // It is resumed, and waits again: a few events later.
        async move { drop(own.resume(id).await.unwrap()) }
    }));
    let client = host.within(Scope::default());
    let refused = client.resume(Taking::new(id).with(other.clone(), Some(seen))).await.unwrap_err();
    assert_eq!(refused.code(), "run.moved_on", "{refused}");
    let state = load(&*inner, id).await.unwrap();
    assert!(state.version() > seen && own.is_of(&state), "it is as the faster one left it");
    // Whoever has seen that may switch it.
    let switch = Taking::new(id).with(other.clone(), Some(state.version()));
    let switched = client.resume(switch).await.unwrap().end().await.unwrap();
    assert!(other.is_of(switched.state()));
}
