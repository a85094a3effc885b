//! Replay names the first event that no longer follows, and finds a cause that is not the append's own.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::event::{CallFact, Cause, FailKind, ModelFact, Splice};
use windlass_core::model::{FailureKind, ModelFailure, Reply, Usage};
use windlass_core::policy::Preset;
use windlass_core::run::{Accepted, HookEnd, StepEdits, rebuild};
use windlass_core::{
    ActionId, ActionKind, CallOutcome, Event, Fact, Input, InputKind, Policy, State, Status, decide, pending,
    replay,
};

use crate::environment::{self, BEGINNING};

/// The state before, and what followed.
type Append = (State, Accepted);

/// A run whose model calls `read` and then answers: its appends.
fn appends() -> Vec<Append> {
    let mut appends = vec![begun(Preset::CHAT.policy())];
    loop {
        let (_, Accepted { state, .. }) = appends.last().unwrap();
        if state.is_finished() {
            return appends;
        }
        let what = pending(state).into_iter().find_map(|action| match action.work {
            ActionKind::CallModel { .. } => {
                let calls = if appends.len() == 1 { vec![("read", "{}", Some("a"))] } else { Vec::new() };
                Some(replied(action.id, calls))
            }
            ActionKind::RunTool { .. } => Some(InputKind::CallEnded {
                action: action.id,
                outcome: CallOutcome::Ok { content: "done".into() },
            }),
            _ => None,
        });
        let next = after(state, what.unwrap());
        appends.push(next);
    }
}

fn begun(policy: Policy) -> Append {
    let fresh = State::new(environment::run_id());
    let start = environment::start(policy, &Arc::new(environment::tools()));
    let accepted = decide(&fresh, start).unwrap();
    (fresh, accepted)
}

fn after(state: &State, what: InputKind) -> Append {
    (state.clone(), decide(state, Input { at: BEGINNING + 5, what }).unwrap())
}

fn replied(action: ActionId, calls: Vec<(&str, &str, Option<&str>)>) -> InputKind {
    let reply = Reply { ..environment::reply(Some("Hm."), calls, Usage::default()) };
    InputKind::replied(action, reply)
}

fn calling(state: &State) -> ActionId {
    let call = |action: &windlass_core::Action| matches!(action.work, ActionKind::CallModel { .. });
    pending(state).into_iter().find(call).unwrap().id
}

#[test]
fn an_event_that_does_not_follow_is_named() {
    let mut appends = appends();
    let (state, Accepted { events, cause, .. }) = &mut appends[1];
    // Somebody has changed who runs: the reply asked for a call, and the log says that nothing was started.
    let Some(Fact::Call(CallFact::Started(started))) = events.last_mut().map(|event| &mut event.fact) else {
        panic!("the reply starts its call: {events:?}");
    };
    started.attempt = 2;
    let difference = replay(state, cause, events).unwrap_err();
    assert_eq!(difference.seq, 4);
    assert_eq!(difference.expected.as_ref(), events.last());
    assert!(
        matches!(&difference.found.unwrap().fact, Fact::Call(CallFact::Started(found)) if found.attempt == 1)
    );
    assert_eq!(difference.reason, None);
}

#[test]
fn an_append_that_is_too_short_or_too_long_is_named() {
    let appends = appends();
    let (state, Accepted { events, cause, .. }) = &appends[1];
    let difference = replay(state, cause, &events[..1]).unwrap_err();
    assert_eq!((difference.seq, difference.expected), (4, None));
    assert_eq!(difference.found.as_ref(), events.last());
    let longer: Vec<Event> = events.iter().chain(events).cloned().collect();
    let difference = replay(state, cause, &longer).unwrap_err();
    assert_eq!((difference.seq, difference.found), (5, None));
}

#[test]
fn what_no_input_leads_to_is_refused_with_a_reason() {
    let appends = appends();
    let (state, Accepted { events, cause, .. }) = &appends[1];
    let (_, start) = &appends[0];
    for (cause, events, why) in [
        (&start.cause, &start.events, "begun already"),
        (&start.cause, events, "no input of the cause `start`"),
        (cause, &appends[2].1.events, "no input of the cause `replied`"),
    ] {
        let difference = replay(state, cause, events).unwrap_err();
        assert_eq!(difference.seq, 3);
        assert!(difference.reason.as_ref().unwrap().contains(why), "{difference:?}");
    }
    assert_eq!(rebuild(state, cause, &[]), None);
}

#[test]
fn the_cause_of_an_append_says_which_action_has_ended() {
    let appends = appends();
    let causes: Vec<Value> =
        appends.iter().map(|(_, accepted)| serde_json::to_value(&accepted.cause).unwrap()).collect();
    assert_eq!(
        causes,
        [
            json!({ "type": "start" }),
            json!({ "type": "replied", "action": 2 }),
            json!({ "type": "call_ended", "action": 4 }),
            json!({ "type": "replied", "action": 6 }),
        ]
    );
    let (state, Accepted { events, .. }) = &appends[1];
    let difference = replay(state, &Cause::Replied { action: 1 }, events).unwrap_err();
    assert!(difference.reason.unwrap().contains("is not in progress"));
}

#[test]
fn another_jitter_is_another_wait() {
    let (_, start) = begun(Preset::CHAT.policy());
    let failure = Box::new(ModelFailure::new(FailureKind::Overloaded, "busy", "m"));
    let action = calling(&start.state);
    let (state, Accepted { events, cause, .. }) =
        after(&start.state, InputKind::ModelFailed { action, failure, jitter: 500 });
    assert_eq!(cause, Cause::ModelFailed { action: action.seq, jitter: 500 });
    replay(&state, &cause, &events).unwrap();
    let other = Cause::ModelFailed { action: action.seq, jitter: 400 };
    let difference = replay(&state, &other, &events).unwrap_err();
    assert_eq!((difference.seq, difference.reason), (3, None));
}

#[test]
fn a_reply_has_the_objection_that_its_event_holds() {
    let mut appends = appends();
    let (state, Accepted { events, cause, .. }) = &mut appends[3];
    let objection = |events: &[Event]| match rebuild(state, cause, events).unwrap().what {
        InputKind::Replied { objection, .. } => objection,
        other => panic!("the last append is a reply, not {other:?}"),
    };
    assert_eq!(objection(events), None);
    let Fact::Model(ModelFact::Completed(turn)) = &mut events[0].fact else {
        panic!("a reply begins with its turn")
    };
    turn.objection = Some("n is odd".into());
    assert_eq!(objection(events).as_deref(), Some("n is odd"));
}

/// A run whose hook is asked after the step: the state in which it is.
fn hooked() -> State {
    let mut policy = Preset::CHAT.policy();
    policy.calls.hooks = windlass_core::policy::Hooks::AfterSteps;
    let (_, start) = begun(policy);
    let (_, called) = after(&start.state, replied(calling(&start.state), vec![("read", "{}", Some("a"))]));
    let running = |action: &windlass_core::Action| matches!(action.work, ActionKind::RunTool { .. });
    let action = pending(&called.state).into_iter().find(running).unwrap().id;
    let outcome = CallOutcome::Ok { content: "done".into() };
    after(&called.state, InputKind::CallEnded { action, outcome }).1.state
}

/// What follows from these edits: it must replay, and the cause must be needed if it holds some of them.
fn stepped(edits: StepEdits) -> (Accepted, Option<StepEdits>) {
    let state = hooked();
    let hook = |action: &windlass_core::Action| matches!(action.work, ActionKind::RunHook);
    let action = pending(&state).into_iter().find(hook).unwrap().id;
    let what = InputKind::HookEnded { action, edits: Box::new(edits) };
    let (_, accepted) = after(&state, what.clone());
    assert_eq!(rebuild(&state, &accepted.cause, &accepted.events).unwrap().what, what);
    assert_eq!(replay(&state, &accepted.cause, &accepted.events).as_ref(), Ok(&accepted.state));
    let Cause::HookEnded { end, unrecorded, .. } = accepted.cause.clone() else {
        panic!("{:?}", accepted.cause)
    };
    if end.is_some() || unrecorded.is_some() {
        let without = Cause::HookEnded { action: action.seq, end: None, unrecorded: None };
        assert!(replay(&state, &without, &accepted.events).is_err());
    }
    (accepted, unrecorded.map(|unrecorded| *unrecorded))
}

#[test]
fn an_end_by_a_hook_is_taken_from_the_events_where_they_hold_it() {
    for (end, status) in [
        (HookEnd::Finish(json!({ "n": 1 })), Status::Answered),
        (HookEnd::Finish(json!("done")), Status::Answered),
        (HookEnd::Finish(Value::Null), Status::Answered),
        (HookEnd::Abort("no\nraw output: {}".into()), Status::Failed(FailKind::Hook)),
    ] {
        let (accepted, unrecorded) = stepped(StepEdits { end: Some(end.clone()), ..StepEdits::default() });
        assert_eq!(accepted.state.ended().unwrap().status, status);
        assert_eq!(unrecorded, None, "{end:?}");
    }
}

#[test]
fn edits_that_a_run_refuses_are_held_by_the_cause() {
    // Without its result, the call stands alone.
    let splices = vec![Splice { at: 2, remove: 1, insert: Vec::new() }];
    let (accepted, unrecorded) = stepped(StepEdits { splices: splices.clone(), ..StepEdits::default() });
    assert_eq!(accepted.state.ended().unwrap().status, Status::Failed(FailKind::Hook));
    assert_eq!(unrecorded, Some(StepEdits { splices, ..StepEdits::default() }));
    let branches = vec!["{}".into(); windlass_core::run::MAX_STEP_BRANCHES + 1];
    let (accepted, unrecorded) = stepped(StepEdits { branches: branches.clone(), ..StepEdits::default() });
    assert_eq!(accepted.state.ended().unwrap().status, Status::Failed(FailKind::Hook));
    assert_eq!(unrecorded, Some(StepEdits { branches, ..StepEdits::default() }));
}
