use windlass_core::RunId;
use windlass_core::event::{AgentRef, Cause, RunInput, RunStarted};
use windlass_store::{Append, Batch, Fence, Holder, Log as _, MemoryLog};

use super::*;
use crate::json;

/// The waits that these facts begin and end, one fact a second.
fn waits(facts: &[(&str, &str)]) -> (Waits, Vec<Wait>) {
    let (mut waits, mut over) = (Waits::default(), Vec::new());
    for (at, (kind, body)) in (1..).zip(facts) {
        let fact = Fact::from_body(kind, body).unwrap();
        over.extend(waits.learn(&Event { at: at * 1_000, fact }));
    }
    (waits, over)
}

const MODELS: (&str, &str) = ("Adjusted", r#"{"models":[{"name":"openai/a"}]}"#);
const TURN: (&str, &str) = ("TurnStarted", r#"{"turn":1,"attempt":1}"#);

fn failed(kind: &str, more: &str) -> String {
    format!(
        r#"{{"turn":1,"failure":{{"kind":"{kind}","message":"no","model":"openai/a"}},"retry_at":9000{more}}}"#
    )
}

#[test]
fn a_failure_is_a_wait_for_a_retry_a_rate_limit_or_a_quota() {
    for (failure, more, kind) in [
        ("server", "", "retry"),
        ("rate_limited", "", "rate_limit"),
        ("rate_limited", r#","for_quota":true"#, "quota"),
    ] {
        let failed = failed(failure, more);
        let (open, over) = waits(&[MODELS, TURN, ("TurnFailed", &failed)]);
        assert_eq!(over.iter().map(|wait| wait.on.kind()).collect::<Vec<_>>(), [WaitKind::Model]);
        let wait = serde_json::json!({
            "type": "wait", "kind": kind, "model": "openai/a", "call": null, "question": null, "since": 3000, "until": 9000,
            "ended": null,
        });
        assert_eq!(open.open().iter().map(json::wait).collect::<Vec<_>>(), [wait]);
        let again = ("TurnStarted", r#"{"turn":1,"attempt":2}"#);
        let (open, over) = waits(&[MODELS, TURN, ("TurnFailed", &failed), again]);
        assert_eq!((over[1].since, over[1].ended, over[1].on.kind().name()), (3_000, Some(4_000), kind));
        assert_eq!(open.open().iter().map(|wait| wait.number).collect::<Vec<_>>(), [3]);
    }
}

#[test]
fn what_nobody_works_on_ends_with_a_cancel_and_all_waits_end_with_the_run() {
    let asked = ("InputRequested", r#"{"question":"q1","kind":"approval","call":"c1","text":"May it?"}"#);
    let started = ("CallStarted", r#"{"call":"c2","attempt":1}"#);
    let stop = ("CancelRequested", "{}");
    let (open, over) = waits(&[TURN, asked, started, stop]);
    assert_eq!(over.iter().map(|wait| wait.on.kind()).collect::<Vec<_>>(), [WaitKind::Person]);
    assert_eq!((over[0].since, over[0].ended), (2_000, Some(4_000)));
    assert_eq!(open.open().len(), 2);
    let end = ("RunEnded", r#"{"status":"cancelled","usage":{"input":1,"output":1}}"#);
    let (open, over) = waits(&[TURN, asked, started, stop, end]);
    assert_eq!((open.open().len(), over.len()), (0, 3));
}

#[test]
fn an_answer_ends_the_wait_for_a_person() {
    let asked = ("InputRequested", r#"{"question":"q1","kind":"approval","call":"c1","text":"May it?"}"#);
    let answered = ("InputReceived", r#"{"question":"q1","answer":"approve"}"#);
    let (_, over) = waits(&[asked, answered]);
    let [wait] = over.as_slice() else { panic!("{over:?}") };
    let value = json::wait(wait);
    assert_eq!(
        (&value["kind"], &value["question"], &value["call"]),
        (&"person".into(), &"q1".into(), &"c1".into())
    );
    assert_eq!((wait.since, wait.ended, wait.on.until()), (1_000, Some(2_000), None));
}

#[tokio::test]
async fn a_timeline_has_the_waits_in_which_nobody_worked() {
    let run = RunId::from_number(1);
    let agent = AgentRef { name: "a".into(), digest: "d".into() };
    let start = RunStarted::new(run, agent, RunInput::Messages(Vec::new()));
    let fact = |(kind, body): (&str, &str)| Fact::from_body(kind, body).unwrap();
    let retry = failed("server", "");
    let asked = ("InputRequested", r#"{"question":"q1","kind":"approval","call":"c1","text":"May it?"}"#);
    let again = ("TurnStarted", r#"{"turn":1,"attempt":2}"#);
    let facts = [MODELS, TURN, ("TurnFailed", &*retry), again, asked].map(fact);
    let facts = [Fact::from(start)].into_iter().chain(facts);
    let events: Vec<Event> = (1..).zip(facts).map(|(at, fact)| Event { at: at * 1_000, fact }).collect();
    let batch = Batch { first: 1, cause: Cause::Start, events: events.into() };
    let fence = Fence { holder: Holder("h".into()), epoch: 1 };
    let log = MemoryLog::new();
    log.append(Append::of(run, batch, fence, RunState::Running)).await.unwrap();
    let timeline = crate::Timeline::of(&log, run).await.unwrap();
    let waits = timeline.waits.iter().map(|wait| (wait.on.kind(), wait.since, wait.ended));
    let expected = [(WaitKind::Retry, 4_000, Some(5_000)), (WaitKind::Person, 6_000, None)];
    assert_eq!(waits.collect::<Vec<_>>(), expected);
}
