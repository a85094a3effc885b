//! What holds for forks after every accepted input, whatever came before.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::{CallId, Event, Fact, Message, State, Usage, Work, pending};

fn all_usage(state: &State, events: &[Event]) {
    let mut used = Usage::default();
    for event in events {
        match &event.fact {
            Fact::TurnCompleted(turn) => used.add(&turn.usage),
            Fact::TurnFailed(turn) => used.add(&turn.failure.usage),
            Fact::DelegationFinished(turn) => used.add(&turn.usage),
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
            Fact::DelegationFinished(finished) => {
                assert_eq!(open.insert(&finished.call, false), Some(true), "one result: {finished:?}");
            }
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
