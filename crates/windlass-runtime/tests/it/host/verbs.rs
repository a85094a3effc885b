//! E75: requests carry what their senders saw, and are refused with what has changed.

use std::sync::Arc;

use windlass_core::{Answer, Status};
use windlass_error::Diagnostic as _;
use windlass_read::load;
use windlass_runtime::host::{Answering, QuestionSeen, Request, Scope, Taking, question_digest};
use windlass_store::{MemoryLog, Store};
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
