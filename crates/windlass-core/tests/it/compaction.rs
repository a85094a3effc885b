//! Compactions: what must hold of each of them, over random runs.

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use windlass_core::event::{CallFact, Compacted, ContextFact, ResultSummarised};
use windlass_core::policy::{Compact, Context};
use windlass_core::{Fact, Message, Policy, State, evolve};

use crate::environment;
use crate::generate::{Step, policies, steps};
use crate::machine::Machine;

/// A policy under which the conversation is soon too large.
fn tight() -> impl Strategy<Value = Policy> {
    let how = prop_oneof![Just(Compact::DropResults), Just(Compact::Summarise)];
    (policies(), how, 1_u64..400).prop_map(|(mut policy, compact, most)| {
        policy.past.context = Context { compact, max_tokens: Some(most), keep_last: 1, ..Context::default() };
        policy
    })
}

fn said(state: &State) -> Vec<Message> {
    let people = |message: &&std::sync::Arc<Message>| matches!(***message, Message::User { .. });
    state.history().iter().filter(people).map(|message| (**message).clone()).collect()
}

/// The number of compactions of a run, each of which holds what is promised.
fn compactions(policy: Policy, steps: Vec<Step>) -> usize {
    let machine = Machine::new(policy).driven(steps);
    let (mut state, mut count) = (State::new(environment::run_id()), 0);
    for event in &machine.events {
        let next = evolve(state.clone(), event);
        if let Fact::Context(ContextFact::Compacted(Compacted {
            bytes_before: before,
            bytes_after: after,
            ..
        })) = &event.fact
        {
            count += 1;
            assert_eq!((*before, *after), (state.history().bytes(), next.history().bytes()));
            assert!(after < before, "a compaction makes the conversation smaller");
            assert_eq!(next.history().fault(), state.history().fault(), "calls keep their results");
            assert_eq!(said(&next), said(&state), "what people say stays");
            assert!(next.tools().iter().any(|tool| &*tool.name == "read_result"), "what is gone can be read");
            assert!(next.handles().all(|handle| next.left_out(handle).is_some_and(|text| !text.is_empty())));
            let same =
                next.history().iter().zip(state.history().iter()).take_while(|(one, other)| one == other);
            assert_eq!(same.count() as u64, first_changed(&event.fact), "requests are equal up to there");
        }
        state = next;
    }
    count
}

fn first_changed(fact: &Fact) -> u64 {
    if let Fact::Context(ContextFact::Compacted(compacted)) = fact { compacted.first_changed() } else { 0 }
}

#[test]
fn e37_e38_e63_each_compaction_of_a_random_run_holds_its_promises() {
    let mut runner = TestRunner::deterministic();
    let mut count = 0;
    for _ in 0..1_800 {
        let (policy, steps) = (tight(), steps()).new_tree(&mut runner).unwrap().current();
        count += compactions(policy, steps);
    }
    assert!(count > 50, "only {count} compactions");
}

/// The number of results of a run that a summary stands for, each of which can be read whole.
fn summed_up(policy: Policy, steps: Vec<Step>) -> usize {
    let machine = Machine::new(policy).driven(steps);
    let (mut state, mut count) = (State::new(environment::run_id()), 0);
    for event in &machine.events {
        state = evolve(state, event);
        if let Fact::Call(CallFact::ResultSummarised(ResultSummarised { call, summary: Some(summary) })) =
            &event.fact
        {
            count += 1;
            let whole = state.left_out(&format!("result_{call}")).unwrap();
            assert!(summary.text().len() < whole.len(), "a summary is shorter");
            assert!(state.tools().iter().any(|tool| &*tool.name == "read_result"), "it is offered");
        }
    }
    count
}

#[test]
fn p37_each_summed_result_of_a_random_run_can_be_read_whole() {
    let mut runner = TestRunner::deterministic();
    let mut count = 0;
    for _ in 0..6_000 {
        let (policy, steps) = (policies(), steps()).new_tree(&mut runner).unwrap().current();
        count += summed_up(policy, steps);
    }
    assert!(count > 5, "only {count} summaries of results");
}
