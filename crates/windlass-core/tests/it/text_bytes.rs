//! How much work an input or a fact is, is known before it is done, and grows with what comes from others.

use std::sync::Arc;

use serde_json::json;
use windlass_core::message::Part;
use windlass_core::message::{Content, Reasoning};
use windlass_core::model::{Reply, ReplyCall};
use windlass_core::policy::Preset;
use windlass_core::{ActionId, Answer, CallOutcome, Input, InputKind, Message, State, accept, evolve};

use crate::environment::{self, BEGINNING};

const LONG: u64 = 1_000_000;

fn long() -> String {
    "x".repeat(LONG as usize)
}

fn action() -> ActionId {
    ActionId { run: environment::run_id(), seq: 2 }
}

fn replied(reply: Reply) -> InputKind {
    InputKind::replied(action(), reply)
}

fn call(args: &str) -> ReplyCall {
    ReplyCall { id: None, name: "read".into(), args: args.into() }
}

#[test]
fn all_that_comes_from_others_counts() {
    let ended = |content| InputKind::CallEnded { action: action(), outcome: CallOutcome::Ok { content } };
    let reasoning = Some(Reasoning { text: long().into(), provider_metadata: None });
    let parts = vec![Part::Text { text: "".into() }; LONG as usize / 50];
    for what in [
        replied(Reply { text: Some(long().into()), ..Reply::default() }),
        replied(Reply { reasoning, ..Reply::default() }),
        replied(Reply { calls: vec![call(&long())], ..Reply::default() }),
        replied(Reply { calls: vec![call("{}"); 4_000], ..Reply::default() }),
        ended(Content::Text(long().into())),
        ended(Content::Parts(parts)),
        InputKind::CallEnded {
            action: action(),
            outcome: CallOutcome::Error { kind: None, message: long().into() },
        },
        InputKind::Answered { question: "q".into(), answer: Answer::Text(long().into()), by: None },
        InputKind::Answered {
            question: "q".into(),
            answer: Answer::ApproveWith { args: json!({ "a": long() }) },
            by: None,
        },
        InputKind::Steer(long().into()),
    ] {
        assert!(what.text_bytes() >= LONG, "{}", what.text_bytes());
    }
    assert!(replied(Reply { calls: vec![call("{}"); 4], ..Reply::default() }).text_bytes() < 10_000);
}

/// What a person allows is looked at whole, however short the answer is; and so is what is kept of a reply.
#[test]
fn a_call_that_waits_counts_with_the_answer_that_lets_it_go_on() {
    let mut policy = Preset::CHAT.policy();
    policy.tools.approve = vec!["read".into()];
    let start = environment::start(policy, &Arc::new(environment::tools()));
    let begun = State::new(environment::run_id());
    let begun = accept(&begun, start).unwrap().iter().fold(begun, evolve);
    let args = json!({ "path": long() }).to_string();
    let reply = replied(Reply { calls: vec![call(&args)], ..Reply::default() });
    let events = accept(&begun, Input { at: BEGINNING, what: reply }).unwrap();
    assert!(events[0].fact.text_bytes() >= LONG);
    let state = events.iter().fold(begun.clone(), evolve);
    let question = state.questions()[0].id.clone();
    let allowed = InputKind::Answered { question, answer: Answer::Approve, by: None };
    assert!(
        allowed.text_bytes() < 100 && state.work_bytes(&allowed) >= LONG && begun.work_bytes(&allowed) < 100
    );
}

/// Whoever keeps a fact writes about as many bytes as it has heft.
#[test]
fn a_fact_s_heft_is_about_its_length() {
    let policy = Preset::CHAT.policy();
    let begun = State::new(environment::run_id());
    let mut input = environment::start(policy, &Arc::new(environment::tools()));
    if let InputKind::Start(start) = &mut input.what {
        start.input = windlass_core::event::RunInput::Messages(vec![Arc::new(Message::user(long()))]);
    }
    for event in accept(&begun, input).unwrap() {
        let (text_bytes, written) = (event.fact.text_bytes(), event.fact.body().unwrap().len() as u64);
        assert!(
            text_bytes <= written + 10_000 && written <= text_bytes + 10_000,
            "{}: {text_bytes}, {written}",
            event.fact.kind()
        );
    }
}
