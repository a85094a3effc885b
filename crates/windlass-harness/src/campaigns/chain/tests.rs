//! The checks find what they are there for: each breach is made by hand.

use serde_json::json;
use windlass_core::RunId;
use windlass_core::event::RunEnded;

use super::{Known, Link, Session, one_chain};
use crate::scene::WhileRunning;

fn id(number: u64) -> RunId {
    RunId::from_number(number.into())
}

/// An ended run of five events that answers its message.
fn link(number: u64, base: Option<u64>, message: &str) -> Link {
    Link {
        run: id(number),
        base: base.map(|base| (id(base), 5)),
        version: 5,
        end: Some(end("answered")),
        inputs: vec![message.to_owned()],
        steered: Vec::new(),
        queued: Vec::new(),
        answers: vec![format!("Answers [{message}].")],
    }
}

fn end(status: &str) -> RunEnded {
    let end = json!({ "status": status, "usage": { "input": 1, "output": 1 } });
    serde_json::from_value(end).unwrap()
}

fn session(policy: WhileRunning, links: Vec<Link>, told: &[&str]) -> Session {
    Session { policy, links, conversation: told.iter().map(|text| (*text).to_owned()).collect() }
}

#[test]
fn e74_a_session_of_two_chains_is_found() {
    let chain = [link(1, None, "a"), link(2, Some(1), "b")];
    one_chain(&chain, Some(id(2))).unwrap();
    let beside = [link(1, None, "a"), link(2, Some(1), "b"), link(3, Some(1), "c")];
    let found = one_chain(&beside, Some(id(2))).unwrap_err();
    assert!(found.contains(&id(3).to_string()), "{found}");
    let alone = one_chain(&[link(1, None, "a"), link(2, None, "b")], Some(id(2))).unwrap_err();
    assert!(alone.contains("is not in the chain"), "{alone}");
    let behind = one_chain(&chain, Some(id(1))).unwrap_err();
    assert!(behind.contains("is not in the chain"), "{behind}");
}

#[test]
fn e74_a_run_that_continues_part_of_another_one_or_one_that_goes_on_is_found() {
    let mut chain = [link(1, None, "a"), link(2, Some(1), "b")];
    chain[0].version = 6;
    assert!(one_chain(&chain, Some(id(2))).unwrap_err().contains("which has 6"));
    chain[0].version = 5;
    chain[0].end = None;
    assert!(one_chain(&chain, Some(id(2))).is_err());
}

#[test]
fn e61_a_message_with_two_fates_or_none_is_found() {
    let queue = |links, told: &[&str]| session(WhileRunning::Queue, links, told);
    let good = queue(vec![link(1, None, "a"), link(2, Some(1), "b")], &["a", "b"]);
    assert_eq!(good.holds("a", Known::Accepted), Ok(true));
    assert_eq!(good.holds("c", Known::Refused), Ok(false));
    assert_eq!(good.holds("c", Known::Unknown), Ok(false));
    assert!(good.holds("c", Known::Accepted).is_err(), "it is in no log");
    assert!(good.holds("a", Known::Refused).is_err(), "it is in the log");
    let twice = queue(vec![link(1, None, "a"), link(2, Some(1), "a")], &["a", "a"]);
    assert!(twice.holds("a", Known::Accepted).is_err() && twice.holds("a", Known::Unknown).is_err());
    let mut silent = link(1, None, "a");
    silent.answers = vec!["Answers [b].".to_owned()];
    assert!(queue(vec![silent], &["a"]).holds("a", Known::Accepted).is_err(), "it has no answer");
    assert!(queue(vec![link(1, None, "a")], &[]).holds("a", Known::Accepted).is_err(), "it was forgotten");
}

#[test]
fn e61_a_fate_that_the_policy_does_not_know_is_found() {
    let mut steered = link(1, None, "a");
    steered.steered.push("b".to_owned());
    steered.answers = vec!["Answers [a] [b].".to_owned()];
    for policy in WhileRunning::ALL {
        let session = session(policy, vec![steered.clone()], &["a", "b"]);
        assert_eq!(session.holds("b", Known::Accepted).is_ok(), policy == WhileRunning::Steer, "{policy:?}");
    }
    let mut cancelled = link(1, None, "a");
    (cancelled.end, cancelled.answers) = (Some(end("cancelled")), Vec::new());
    for policy in WhileRunning::ALL {
        let session = session(policy, vec![cancelled.clone()], &["a"]);
        let interrupts = policy == WhileRunning::Interrupt;
        assert_eq!(session.holds("a", Known::Accepted).is_ok(), interrupts, "{policy:?}");
    }
}

#[test]
fn e61_what_a_sender_was_told_is_compared_with_the_log() {
    let session = session(WhileRunning::Queue, vec![link(1, None, "a"), link(2, Some(1), "b")], &["a", "b"]);
    session.was_answered_by("a", id(1)).unwrap();
    assert!(session.was_answered_by("a", id(2)).is_err());
    assert!(session.was_cancelled(id(1)).is_err());
}
