//! Replies with very many calls, or with ids and names that were made to cost.

use std::sync::Arc;

use windlass_core::event::{CallFact, FailKind, ModelFact, RunFact};
use windlass_core::model::{ReplyCall, Usage};
use windlass_core::policy::Preset;
use windlass_core::run::{Accepted, MAX_CALLS};
use windlass_core::{
    ActionId, CallOutcome, Fact, Input, InputKind, State, Status, accept, decide, evolve, replay,
};

use crate::environment::{self, BEGINNING};

/// What follows from a reply with these calls, after the start.
fn after(calls: Vec<ReplyCall>) -> (State, Vec<Fact>) {
    let policy = Preset::CHAT.policy();
    let start = environment::start(policy, &Arc::new(environment::tools()));
    let begun = State::new(environment::run_id());
    let begun = accept(&begun, start).unwrap().iter().fold(begun, evolve);
    let mut reply = environment::reply(None, Vec::new(), Usage::default());
    reply.calls = calls;
    let action = ActionId { run: environment::run_id(), seq: 2 };
    let what = InputKind::replied(action, reply);
    let Accepted { events, cause, .. } = decide(&begun, Input { at: BEGINNING, what }).unwrap();
    // What is kept says enough to decide once more.
    assert!(replay(&begun, &cause, &events).is_ok());
    let state = events.iter().fold(begun, evolve);
    (state, events.into_iter().map(|event| event.fact).collect())
}

fn call(name: &str, id: Option<String>) -> ReplyCall {
    ReplyCall { id: id.map(Into::into), name: name.into(), args: "{}".into() }
}

#[test]
fn a_reply_with_too_many_calls_fails_and_each_of_those_kept_has_a_result() {
    let (state, facts) = after(vec![call("read", None); 50_000]);
    let failed = |fact: &Fact| matches!(fact, Fact::Run(RunFact::Ended(end)) if end.status == Status::Failed(FailKind::Malformed));
    assert!(state.is_finished() && facts.iter().any(failed));
    let ended = facts.iter().filter(|fact| matches!(fact, Fact::Call(CallFact::Finished(_)))).count();
    assert_eq!(ended, MAX_CALLS + 1);
    let (state, _) = after(vec![call("read", None); MAX_CALLS]);
    assert!(!state.is_finished());
}

#[test]
fn ids_that_take_the_place_of_made_ones_are_passed_by() {
    // Each call without an id would be given one that another call has.
    let mut calls: Vec<ReplyCall> = (0..MAX_CALLS - 1)
        .map(|n| {
            call(
                "read",
                Some(if n == 0 {
                    format!("call_1_{MAX_CALLS}")
                } else {
                    format!("call_1_{MAX_CALLS}_{}", n + 1)
                }),
            )
        })
        .collect();
    calls.push(call("read", None));
    let (_, facts) = after(calls);
    let Fact::Model(ModelFact::Completed(turn)) = &facts[0] else { panic!("{:?}", facts[0]) };
    assert_eq!(*turn.calls[MAX_CALLS - 1].id.0, *format!("call_1_{MAX_CALLS}_{MAX_CALLS}"));
}

#[test]
fn names_of_100_kb_are_answered_with_tools_that_there_are() {
    let calls = (0..600).map(|n| call(&format!("{n}{}", "x".repeat(100_000)), None)).collect();
    let (_, facts) = after(calls);
    let nearest = facts.iter().filter_map(|fact| match fact {
        Fact::Call(CallFact::Finished(finished)) => match &finished.outcome {
            CallOutcome::UnknownTool { nearest } => Some(nearest.len()),
            _ => None,
        },
        _ => None,
    });
    assert_eq!(nearest.collect::<Vec<_>>(), [3; 600]);
}
