//! The checks find what they are there for: each breach is made by hand.

use serde_json::json;
use windlass_core::event::{
    CallDoubted, CallFact, CallFinished, CallStarted, Cause, InputReceived, PeopleFact, ResumedBy, RunFact,
    RunResumed,
};
use windlass_core::{Answer, CallOutcome, Event, Fact, RunId, State};
use windlass_store::Batch;

use super::{kept, not_again, receipts};
use crate::home::Receipt;
use crate::look::Look;

fn look(facts: &[Fact]) -> Look {
    let event = |fact: &Fact| Event { at: 1, fact: fact.clone() };
    let batch =
        |(first, fact): (u64, &Fact)| Batch { first, cause: Cause::Start, events: [event(fact)].into() };
    let run = RunId::from_number(1);
    Look {
        run,
        batches: (1..).zip(facts).map(batch).collect(),
        state: State::new(run),
        posts: 0,
        family: Vec::new(),
    }
}

/// Builds a fact from its stored form, which stays readable when fields are added.
fn stored(kind: &str, body: &serde_json::Value) -> Fact {
    Fact::from_body(kind, &body.to_string()).unwrap()
}

fn asked(tool: &str) -> Fact {
    let call = json!({ "id": "c1", "name": tool, "args": r#"{"n":1}"# });
    stored(
        "TurnCompleted",
        &json!({ "turn": 1, "calls": [call], "usage": { "input": 1, "output": 1 }, "model": "m" }),
    )
}

fn started(attempt: u32) -> Fact {
    Fact::Call(CallFact::Started(CallStarted { call: "c1".into(), attempt }))
}

fn finished() -> Fact {
    let outcome = CallOutcome::Ok { content: "done".into() };
    Fact::Call(CallFact::Finished(CallFinished { call: "c1".into(), outcome, note: None, limit: None }))
}

fn resumed() -> Fact {
    Fact::Run(RunFact::Resumed(RunResumed {
        holder: "h".into(),
        epoch: 2,
        clock_behind_ms: None,
        by: ResumedBy::Runtime,
    }))
}

fn doubted() -> Fact {
    Fact::Call(CallFact::Doubted(CallDoubted { call: "c1".into(), lost: None }))
}

fn question() -> Fact {
    stored("InputRequested", &json!({ "question": "q1", "kind": "outcome", "call": "c1", "text": "?" }))
}

fn answered(answer: Answer) -> Fact {
    Fact::People(PeopleFact::InputReceived(InputReceived { question: "q1".into(), answer, by: None }))
}

fn receipt(tool: &str, key: &str) -> Receipt {
    let run = RunId::from_number(1).to_string();
    Receipt { tool: tool.into(), n: 1, run, call: "c1".into(), key: key.into() }
}

/// Verdict on these facts with that number of receipts under one key.
fn verdict(facts: &[Fact], tool: &str, effects: usize) -> Result<(), String> {
    receipts(Some(&look(facts)), &vec![receipt(tool, "k"); effects]).map(drop)
}

#[test]
fn stories_that_may_be_told_are_let_through() {
    verdict(&[asked("send"), started(1), finished()], "send", 1).unwrap();
    verdict(&[asked("look"), started(1), resumed(), started(2), finished()], "look", 2).unwrap();
    verdict(&[asked("pay"), started(1), resumed(), doubted(), finished()], "pay", 1).unwrap();
    let again = answered(Answer::RunAgain);
    verdict(
        &[asked("send"), started(1), resumed(), doubted(), question(), again, started(2), finished()],
        "send",
        1,
    )
    .unwrap();
    let told = answered(Answer::Result("done".into()));
    verdict(&[asked("send"), started(1), resumed(), doubted(), question(), told, finished()], "send", 1)
        .unwrap();
}

#[test]
fn breaches_are_found_and_named() {
    let cases = [
        (vec![asked("send"), started(1), resumed(), started(2)], "send", 0, "without a doubt"),
        (vec![asked("pay"), started(1), resumed(), started(2)], "pay", 0, "without a doubt"),
        (
            vec![asked("send"), started(1), resumed(), doubted(), question(), started(2)],
            "send",
            0,
            "without a doubt",
        ),
        (vec![asked("send"), started(1), resumed(), doubted(), finished()], "send", 1, "nobody gave"),
        (vec![asked("pay"), started(1), resumed(), finished()], "pay", 1, "from nowhere"),
        (vec![asked("look"), started(1), resumed(), finished()], "look", 1, "without a new attempt"),
        (vec![asked("look"), started(1), started(2)], "look", 0, "nothing was lost"),
        (vec![asked("look"), started(1), finished(), started(2)], "look", 1, "after it has finished"),
        (vec![asked("look"), started(1), finished(), finished()], "look", 1, "finishes twice"),
        (vec![asked("send"), started(1), finished()], "send", 2, "happened 2 times"),
        (vec![asked("send"), started(1), finished()], "send", 0, "never had its effect"),
        (vec![asked("send")], "send", 1, "whose start is not in the log"),
        (vec![asked("send"), started(1)], "look", 1, "belongs to another call"),
    ];
    for (facts, tool, effects, expected) in cases {
        let breach = verdict(&facts, tool, effects).expect_err(expected);
        assert!(breach.contains(expected), "expected {expected:?}, found {breach:?}");
    }
    let two_keys = [receipt("book", "k1"), receipt("book", "k2")];
    let breach = receipts(Some(&look(&[asked("book"), started(1)])), &two_keys).unwrap_err();
    assert!(breach.contains("several idempotency keys"), "{breach}");
    assert!(receipts(None, &two_keys).unwrap_err().contains("not in the log"));
}

#[test]
fn what_was_seen_must_stay_with_its_boundaries_and_its_effects() {
    let (short, long) = (look(&[asked("send")]), look(&[asked("send"), started(1)]));
    kept(&short, &long).unwrap();
    kept(&long, &short).unwrap_err();
    kept(&look(&[asked("look")]), &long).unwrap_err();
    let merged = Batch { first: 1, cause: Cause::Start, events: long.events().cloned().collect() };
    kept(&long, &Look { batches: vec![merged], ..long.clone() }).unwrap_err();
    let counts = |count: usize| [(("send".to_owned(), 1), count)].into();
    not_again(&counts(1), &counts(1)).unwrap();
    not_again(&counts(1), &counts(2)).unwrap_err();
    not_again(&counts(1), &[].into()).unwrap_err();
}
