//! E22: a deadline that passes while a person thinks about another limit. Only one question is open at a time, and an
//! answer to the one that is moot is refused.

use std::sync::Arc;

use windlass_core::event::QuestionKind;
use windlass_core::model::Usage;
use windlass_core::policy::{AtLimit, Limit, LimitKind, Preset};
use windlass_core::{ActionId, Answer, CallOutcome, Input, InputKind, State, accept, evolve};
use windlass_error::Diagnostic as _;

use crate::environment::{self, BEGINNING};

const SECONDS: u64 = 2_000;

#[test]
fn e22_the_question_about_another_limit_is_moot() {
    let mut policy = Preset::CHAT.policy();
    policy.bounds.limits.insert(LimitKind::ModelCalls, Limit { max: 1, at_limit: None });
    policy.bounds.limits.insert(LimitKind::Seconds, Limit { max: SECONDS, at_limit: None });
    policy.bounds.at_limit = AtLimit::Ask;
    let mut state = State::new(environment::run_id());
    let mut take = |at: u64, what: InputKind| {
        let events = accept(&state, Input { at: BEGINNING + at, what })?;
        state = events.iter().fold(state.clone(), evolve);
        Ok::<_, windlass_core::InvalidInput>(state.questions().to_vec())
    };
    let action = |seq: u64| ActionId { run: environment::run_id(), seq };
    take(0, environment::start(policy, &Arc::new(environment::tools())).what).unwrap();
    let reply = environment::reply(None, vec![("read", "{}", None)], Usage::default());
    take(0, InputKind::replied(action(2), reply)).unwrap();
    let outcome = CallOutcome::Ok { content: "done".into() };
    let open = take(10, InputKind::CallEnded { action: action(4), outcome }).unwrap();
    assert_eq!(
        open.iter().map(|open| open.kind).collect::<Vec<_>>(),
        [QuestionKind::Limit(LimitKind::ModelCalls)]
    );

    let open = take(SECONDS, InputKind::TimerFired { action: action(1) }).unwrap();
    assert_eq!(
        open.iter().map(|open| open.kind).collect::<Vec<_>>(),
        [QuestionKind::Limit(LimitKind::Seconds)]
    );
    let late = InputKind::Answered { question: "q1".into(), answer: Answer::Raise(5.0), by: None };
    assert_eq!(take(SECONDS, late).unwrap_err().code(), "input.unknown_question");

    // With more time the first limit still stands, and is asked about again.
    let raise = InputKind::Answered { question: "q2".into(), answer: Answer::Raise(60.0), by: None };
    let open = take(SECONDS, raise).unwrap();
    assert_eq!(
        open.iter().map(|open| open.kind).collect::<Vec<_>>(),
        [QuestionKind::Limit(LimitKind::ModelCalls)]
    );
    let raise = InputKind::Answered { question: "q3".into(), answer: Answer::Raise(2.0), by: None };
    assert!(take(SECONDS, raise).unwrap().is_empty(), "and the run goes on");
}
