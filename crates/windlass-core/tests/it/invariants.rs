//! What holds after every accepted input, whatever came before.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::{
    AtLimit, CallId, CallStarted, Event, Fact, InputRequested, LimitKind, Message, QuestionKind, State,
    Usage, Work, pending,
};

pub(crate) fn invariants(state: &State, events: &[Event]) {
    assert_eq!(state.version(), events.len() as u64);
    one_end(state, events);
    one_result_each(state, events);
    valid_history(state);
    limits_hold(state, events);
    all_usage(state, events);
}

fn all_usage(state: &State, events: &[Event]) {
    let mut used = Usage::default();
    for event in events {
        match &event.fact {
            Fact::TurnCompleted(turn) => used.add(&turn.usage),
            Fact::TurnFailed(turn) => used.add(&turn.failure.usage),
            _ => {}
        }
    }
    assert_eq!(*state.usage(), used, "usage is counted on every way (E41)");
}

/// What holds for a fork: as for any run, with what its base had done before it.
pub(crate) fn fork_invariants(state: &State, before: &[Event], events: &[Event]) {
    assert_eq!(state.version(), events.len() as u64);
    one_end(state, events);
    let all: Vec<Event> = before.iter().chain(events).cloned().collect();
    one_result_each(state, &all);
    valid_history(state);
    all_usage(state, events);
}

fn one_end(state: &State, events: &[Event]) {
    let ends: Vec<_> =
        events.iter().enumerate().filter(|(_, event)| matches!(event.fact, Fact::RunEnded(_))).collect();
    assert!(ends.len() <= 1, "one end");
    assert_eq!(ends.len() == 1, state.is_finished());
    if let Some((place, _)) = ends.first() {
        assert_eq!(*place, events.len() - 1, "nothing after the end");
    }
}

/// Every call has one result at most, at the end exactly one, and nothing of it comes after.
fn one_result_each(state: &State, events: &[Event]) {
    let mut open: BTreeMap<&CallId, bool> = BTreeMap::new();
    for event in events {
        match &event.fact {
            Fact::TurnCompleted(turn) => {
                for call in &turn.calls {
                    assert!(open.insert(&call.id, true).is_none(), "call ids are unique: {}", call.id);
                }
            }
            Fact::CallStarted(started) => assert_eq!(open.get(&started.call), Some(&true), "{started:?}"),
            Fact::CallRetried(retried) => assert_eq!(open.get(&retried.call), Some(&true), "{retried:?}"),
            Fact::CallHeld(held) => assert_eq!(open.get(&held.call), Some(&true), "{held:?}"),
            Fact::CallFinished(finished) => {
                assert_eq!(open.insert(&finished.call, false), Some(true), "one result: {finished:?}");
            }
            _ => {}
        }
    }
    if state.is_finished() {
        assert!(open.values().all(|open| !open), "every call has its result at the end: {open:?}");
    }
}

/// A provider would take the conversation as it is whenever a model is asked (invariant 6).
fn valid_history(state: &State) {
    let mut waiting: Vec<&CallId> = Vec::new();
    let mut seen = BTreeSet::new();
    for message in state.history().iter() {
        match &**message {
            Message::Tool(result) => {
                assert_eq!(waiting.first(), Some(&&result.call), "results follow their calls, in call order");
                waiting.remove(0);
            }
            other => {
                assert!(waiting.is_empty(), "calls without results before {other:?}: {waiting:?}");
                if let Message::Assistant(said) = other {
                    waiting = said.calls.iter().map(|call| &call.id).collect();
                    assert!(
                        waiting.iter().all(|id| seen.insert(*id)),
                        "ids are unique over the conversation"
                    );
                }
            }
        }
    }
    let calling = pending(state).iter().any(|action| matches!(action.work, Work::CallModel { .. }));
    if calling || state.is_finished() {
        assert!(waiting.is_empty(), "all calls are answered before a model is asked: {waiting:?}");
    }
}

/// What was let happen is never more than the limits, but for one closing call.
fn limits_hold(state: &State, events: &[Event]) {
    let mut counts: BTreeMap<LimitKind, u64> = BTreeMap::new();
    let mut closing = false;
    let (mut turn, mut round) = (0, 0);
    let mut closing_turns = BTreeSet::new();
    for event in events {
        match &event.fact {
            Fact::LimitReached(reached) => {
                closing = matches!(reached.then, AtLimit::WrapUp);
                assert!(reached.reached >= reached.max || reached.limit == LimitKind::CostUsd, "{reached:?}");
            }
            Fact::LimitRaised(_) => closing = false,
            Fact::TurnStarted(started) => {
                turn = started.turn;
                if closing {
                    closing_turns.insert(turn);
                }
            }
            Fact::TurnCompleted(done) if !closing_turns.contains(&done.turn) => {
                *counts.entry(LimitKind::ModelCalls).or_default() += 1;
            }
            Fact::CallStarted(CallStarted { attempt: 1, .. })
            | Fact::InputRequested(InputRequested { kind: QuestionKind::Clarify, .. }) => {
                *counts.entry(LimitKind::ToolCalls).or_default() += 1;
                if round != turn {
                    round = turn;
                    *counts.entry(LimitKind::ToolRounds).or_default() += 1;
                }
                assert!(!closing_turns.contains(&turn), "no call runs once a limit cut the loop");
            }
            Fact::CallRetried(_) => *counts.entry(LimitKind::Retries).or_default() += 1,
            _ => {}
        }
    }
    assert!(closing_turns.len() <= 1, "one closing call at most: {closing_turns:?}");
    for (kind, count) in counts {
        if let Some(max) = state.policy().limit(kind) {
            assert!(count <= max, "{kind} is {max}, and there were {count}");
        }
    }
}
