//! Verbs: typed, refused with the server's words, and done once although their replies are lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use windlass_api::{
    CancelRun, Fate, Input, ListQuestions, ListRuns, ListSessions, PreviewSwitch, StartRun, SteerRun,
    TakenState,
};
use windlass_client::{BytesFrom, Client, Follow, PollFrom};
use windlass_core::RunId;
use windlass_error::Kind;
use windlass_store::MemoryLog;

use crate::kit::{Proxy, Serving};

const AGENT: &str = "name: guide\nmodel: tour\ninstructions: Be brief.\n";

fn start(input: &str) -> StartRun {
    StartRun {
        agent: "guide".to_owned(),
        input: Input::Text(input.to_owned()),
        session: None,
        only_tools: None,
        wait_ms: 10_000,
    }
}

async fn serving() -> Serving {
    Serving::start(Arc::new(MemoryLog::new()), &[("guide.yaml", AGENT)]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_read_and_a_start_are_typed() {
    let other = AGENT.replace("guide", "other").replace("brief", "precise");
    let agents = [("guide.yaml", AGENT), ("other.yaml", &other)];
    let serving = Serving::start(Arc::new(MemoryLog::new()), &agents).await;
    let client = serving.client();
    assert_eq!(client.health().await.unwrap().status, "ok");
    assert!(client.ready().await.unwrap().checks.iter().any(|check| check.name == "read"));
    assert!(client.metrics().await.unwrap().contains("# EOF"));
    assert!(client.openapi().await.unwrap()["paths"]["/v1/runs"].is_object());
    assert_eq!(client.agents().await.unwrap().items[0].name, "guide");
    assert_eq!(client.agent("guide").await.unwrap().models, ["tour"]);
    let started = client.start(&start("What is 17% of 2350?"), None).await.unwrap();
    assert_eq!((started.fate, started.status.as_deref()), (Fate::Started, Some("answered")));
    let run = started.run;
    let read = client.run(run).await.unwrap();
    assert_eq!((read.text, read.summary.status), (started.text, "answered".to_owned()));
    assert_eq!(client.summary(run).await.unwrap().run, run);
    let updates = client.updates(run, &PollFrom::default()).await.unwrap();
    assert!(!updates.updates.is_empty() && updates.end.is_some());
    for report in [client.effects(run).await, client.costs(run).await, client.replay(run).await] {
        assert!(!report.unwrap().kind.is_empty());
    }
    assert_eq!(client.compare(run, run).await.unwrap().kind, "diff");
    assert!(client.export(run).await.unwrap().ends_with(b"\n"));
    let switch = PreviewSwitch { with: "other".to_owned(), at: None };
    let preview = client.preview_switch(run, &switch).await.unwrap();
    assert_eq!((preview.version, preview.to.name.as_str()), (read.summary.events, "other"));
    assert_eq!(preview.changes, ["instructions, examples or other settings of its file"]);
    let fork = client.preview_switch(run, &PreviewSwitch { at: Some(1), ..switch }).await.unwrap();
    assert!(fork.version < preview.version, "{fork:?}");
    let kept = &client.artifacts(run).await.unwrap().items[0];
    let bytes = client.artifact(run, &kept.sha256, BytesFrom { from: Some(2), max: Some(5) }).await.unwrap();
    assert_eq!(bytes.len() as u64, kept.bytes.min(7) - 2);
    assert!(client.sessions(&ListSessions::default()).await.unwrap().items.is_empty());
    assert!(client.questions(&ListQuestions::default()).await.unwrap().items.is_empty());
    assert_eq!(client.reload(None).await.unwrap().failed, []);
    let taken = client.cancel(run, &CancelRun::default(), None).await;
    let refusal = taken.unwrap_err();
    assert_eq!(refusal.refusal().unwrap().kind(), Kind::Conflict, "{refusal}");
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e65_a_request_whose_reply_was_lost_is_sent_again_and_done_once() {
    let serving = serving().await;
    // The first three connections bring no byte of a reply.
    let proxy = Proxy::before(serving.address, |place| (place < 3).then_some(0)).await;
    let client = serving.client_at(proxy.address);
    let started = client.start(&start("What is 2 + 5?"), None).await.unwrap();
    assert!(proxy.connections.load(Ordering::SeqCst) > 3);
    let runs = client.runs(&ListRuns::default()).await.unwrap();
    assert_eq!(runs.items.iter().map(|line| line.run).collect::<Vec<_>>(), [started.run]);
    assert!(client.follow(started.run, Follow::default()).next().await.unwrap().is_some());
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e65_the_callers_key_holds_over_calls_and_refuses_another_request() {
    let serving = serving().await;
    let client = serving.client();
    let first = client.start(&start("What is 2 + 5?"), Some("k1")).await.unwrap();
    let again = client.start(&start("What is 2 + 5?"), Some("k1")).await.unwrap();
    assert_eq!((again.run, again.fate), (first.run, Fate::Repeated));
    let other = client.start(&start("What is 2 + 6?"), Some("k1")).await.unwrap_err();
    let refusal = other.refusal().unwrap();
    assert_eq!((refusal.status.as_u16(), refusal.kind()), (409, Kind::Conflict), "{refusal}");
    assert!(refusal.fault.details.is_some());
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_has_status_code_and_help_and_a_token_is_never_shown() {
    let serving = serving().await;
    let address = format!("http://{}", serving.address);
    let nobody = Client::new(&address).unwrap();
    let refusal = nobody.agents().await.unwrap_err();
    assert_eq!((refusal.reason(), refusal.refusal().unwrap().status.as_u16()), ("token.missing", 401));
    let wrong = nobody.with_token("wl_0123_geheim").unwrap();
    assert!(!format!("{wrong:?}").contains("geheim"));
    assert_eq!(wrong.agents().await.unwrap_err().reason(), "token.unknown");
    let steer = SteerRun { message: "x".to_owned(), ..SteerRun::default() };
    let unknown = serving.client().steer(RunId::from_number(3), &steer, None).await.unwrap_err();
    assert_eq!(unknown.reason(), "store.unknown_run");
    let missing = serving.client().agent("no such/agent?").await.unwrap_err();
    assert_eq!(missing.reason(), "agent.unknown");
    assert!(missing.refusal().unwrap().fault.help.is_some());
    // A socket trusts the user who runs the server.
    let local = Client::new(&serving.socket()).unwrap();
    let started = local.start(&start("What is 2 + 5?"), None).await.unwrap();
    let taken = local.cancel(started.run, &CancelRun::default(), None).await;
    assert!(taken.is_err() || taken.is_ok_and(|taken| taken.state == TakenState::Done));
    serving.end().await;
}
