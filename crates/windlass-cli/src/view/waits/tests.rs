use std::sync::Arc;

use windlass_core::{ActionId, Fact, RunId};

use super::*;

/// The wait after these facts, each at its second, ten seconds after the last one.
struct Run {
    waits: Waits,
    at: Millis,
}

impl Run {
    fn new() -> Self {
        let mut run = Self { waits: Waits::default(), at: 0 };
        run.fact("Adjusted", r#"{"models":[{"name":"openai/a"},{"name":"openai/b"}]}"#);
        run.at = 0;
        run
    }

    fn fact(&mut self, kind: &str, body: &str) -> &mut Self {
        self.at += 1_000;
        let fact = Fact::from_body(kind, body).unwrap();
        self.waits.event(&Event { at: self.at, fact });
        self
    }

    fn update(&mut self, update: &Update) -> String {
        self.waits.update(update);
        self.shown()
    }

    fn shown(&self) -> String {
        let now = self.at + 10_000;
        let wait = self.waits.now(now);
        wait.map_or_else(String::new, |wait| format!("{}: {} s", wait.what, (now - wait.since) / 1_000))
    }
}

fn action() -> ActionId {
    ActionId { run: RunId(uuid::Uuid::nil()), seq: 1 }
}

const TURN: &str = r#"{"turn":1,"attempt":1}"#;
/// A reply that calls three tools.
const REPLY: &str = r#"{"turn":1,"text":null,"reasoning":null,"calls":[
    {"id":"c1","name":"search","args":"{}"},{"id":"c2","name":"fetch","args":"{}"},
    {"id":"c3","name":"a\u001b[2J","args":"{}"},{"id":"c4","name":"writer","args":"{}"}],"stop":"tool_calls","usage":{"input":1,"output":1},"model":"openai/a"}"#;

#[test]
fn a_model_is_waited_for_and_its_reply_shows_as_far_as_it_has_come() {
    let mut run = Run::new();
    run.fact("TurnStarted", TURN);
    assert_eq!(run.shown(), "model openai/a: 10 s");
    let text: Arc<str> = "x".into();
    let reasoning = Update::Reasoning { action: action(), text: text.clone() };
    assert_eq!(run.update(&reasoning), "model openai/a (reasoning): 10 s");
    assert_eq!(run.update(&Update::Text { action: action(), text }), "model openai/a (writing): 10 s");
    let call = |name: Option<&str>| Update::Call {
        action: action(),
        index: None,
        name: name.map(Into::into),
        args: "{".into(),
    };
    assert_eq!(run.update(&call(Some("search"))), "model openai/a (writing a call of `search`): 10 s");
    assert_eq!(run.update(&call(None)), "model openai/a (writing a call of `search`): 10 s");
    assert_eq!(run.update(&Update::Void { action: action() }), "model openai/a: 10 s");
    assert_eq!(run.fact("TurnCompleted", REPLY).shown(), "");
}

#[test]
fn a_quota_and_a_pause_before_the_next_try_count_down() {
    let failed = |kind: &str, next: &str| {
        format!(
            r#"{{"turn":1,"failure":{{"kind":"{kind}","message":"no","model":"openai/a"}},"retry_at":32500{next}}}"#
        )
    };
    let mut run = Run::new();
    run.fact("TurnStarted", TURN).fact("TurnFailed", &failed("rate_limited", ""));
    assert_eq!(run.shown(), "the quota of model openai/a (next try in 20.0 s): 10 s");
    let mut run = Run::new();
    run.fact("TurnStarted", TURN).fact("TurnFailed", &failed("server", r#","next_model":1"#));
    assert_eq!(run.shown(), "model openai/b (next try in 20.0 s): 10 s");
    assert_eq!(run.fact("CancelRequested", "{}").shown(), "", "it is given up");
}

#[test]
fn tools_and_agents_are_waited_for_by_name() {
    let mut run = Run::new();
    run.fact("TurnStarted", TURN).fact("TurnCompleted", REPLY);
    for call in ["c1", "c2", "c3"] {
        run.fact("CallStarted", &format!(r#"{{"call":"{call}","attempt":1}}"#));
    }
    assert_eq!(run.shown(), "tools `search`, `fetch`, `a\\u{1b}[2J`: 12 s");
    run.fact("CallStarted", r#"{"call":"c4","attempt":1}"#);
    assert_eq!(run.shown(), "tools `search`, `fetch`, `a\\u{1b}[2J` and 1 more: 13 s");
    let outcome = r#""outcome":{"outcome":"error","message":"no"}"#;
    run.fact("CallFinished", &format!(r#"{{"call":"c1",{outcome}}}"#));
    run.fact("CallFinished", &format!(r#"{{"call":"c3",{outcome}}}"#));
    run.fact("CallRetried", &format!(r#"{{"call":"c2","attempt":1,{outcome},"retry_at":30000}}"#));
    let task = r#"{"call":"c4","agent":"writer","run":"00000000-0000-0000-0000-000000000001","attempt":1}"#;
    run.fact("DelegationStarted", task);
    assert_eq!(run.shown(), "tool `fetch` (next try in 10.0 s); agent `writer`: 11 s");
    run.fact("CallStarted", r#"{"call":"c2","attempt":2}"#);
    run.fact("CallDoubted", r#"{"call":"c2"}"#);
    assert_eq!(run.shown(), "agent `writer`; the check of tool `fetch`: 12 s");
    assert_eq!(run.fact("RunResumed", r#"{"holder":"h","epoch":2}"#).shown(), "", "it is begun again");
}

#[test]
fn a_person_is_waited_for_until_the_answer() {
    let mut run = Run::new();
    run.fact("TurnStarted", TURN).fact("TurnCompleted", REPLY);
    run.fact("InputRequested", r#"{"question":"q1","kind":"approval","call":"c1","text":"May it?"}"#);
    assert_eq!(run.shown(), "an answer to q1: 10 s");
    assert_eq!(run.fact("InputReceived", r#"{"question":"q1","answer":"approve"}"#).shown(), "");
}

#[test]
fn the_time_for_an_answer_counts_where_nothing_else_goes_on() {
    const ASKED: &str = r#"{"question":"q1","kind":"approval","call":"c1","text":"May it?"}"#;
    const ANSWERED: &str = r#"{"question":"q1","answer":"approve"}"#;
    let mut run = Run::new();
    run.fact("TurnStarted", TURN).fact("TurnCompleted", REPLY).fact("InputRequested", ASKED);
    run.at += 4_000;
    run.fact("InputReceived", ANSWERED);
    assert_eq!(run.waits.take_by_people(), 5_000);
    run.fact("CallStarted", r#"{"call":"c2","attempt":1}"#).fact("InputRequested", ASKED);
    run.fact("InputReceived", ANSWERED);
    assert_eq!(run.waits.take_by_people(), 0);
}
