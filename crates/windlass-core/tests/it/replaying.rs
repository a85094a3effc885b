//! Replay names the first event that no longer follows.

use std::sync::Arc;

use windlass_core::{
    ActionKind, CallOutcome, Event, Fact, Input, InputKind, Preset, Reply, State, accept, evolve, pending,
    rebuild, replay,
};

use crate::environment::{self, BEGINNING};

/// A run whose model calls `read` and then answers: its appends.
fn appends() -> Vec<Vec<Event>> {
    let policy = Preset::CHAT.policy();
    let mut state = State::new(environment::run_id());
    let mut appends = Vec::new();
    let mut input = Some(environment::start(policy, &Arc::new(environment::tools())));
    while let Some(next) = input.take() {
        let events = accept(&state, next).unwrap();
        state = events.iter().fold(state, evolve);
        appends.push(events);
        input = pending(&state).into_iter().find_map(|action| {
            let what = match action.work {
                ActionKind::CallModel { .. } => {
                    let calls = if appends.len() == 1 { vec![("read", "{}", Some("a"))] } else { Vec::new() };
                    let reply =
                        Reply { ..environment::reply(Some("Hm."), calls, windlass_core::Usage::default()) };
                    InputKind::Replied { action: action.id, reply: Box::new(reply) }
                }
                ActionKind::RunTool { .. } => InputKind::CallEnded {
                    action: action.id,
                    outcome: CallOutcome::Ok { content: "done".into() },
                },
                _ => return None,
            };
            Some(Input { at: BEGINNING + 5, what })
        });
    }
    assert!(state.is_finished());
    appends
}

#[test]
fn an_event_that_does_not_follow_is_named() {
    let mut appends = appends();
    // Somebody has changed who runs: the reply asked for a call, and the log says that nothing was started.
    let Some(Fact::CallStarted(started)) = appends[1].last_mut().map(|event| &mut event.fact) else {
        panic!("the reply starts its call: {appends:?}");
    };
    started.attempt = 2;
    let state = appends[0].iter().fold(State::new(environment::run_id()), evolve);
    let difference = replay(&state, &appends[1]).unwrap_err();
    assert_eq!(difference.seq, 4);
    assert_eq!(difference.expected.as_ref(), appends[1].last());
    assert!(matches!(&difference.found.unwrap().fact, Fact::CallStarted(found) if found.attempt == 1));
    assert_eq!(difference.reason, None);
}

#[test]
fn an_append_that_is_too_short_or_too_long_is_named() {
    let appends = appends();
    let state = appends[0].iter().fold(State::new(environment::run_id()), evolve);
    let difference = replay(&state, &appends[1][..1]).unwrap_err();
    assert_eq!((difference.seq, difference.expected), (4, None));
    assert_eq!(difference.found.as_ref(), appends[1].last());
    let longer: Vec<Event> = appends[1].iter().chain(&appends[1]).cloned().collect();
    let difference = replay(&state, &longer).unwrap_err();
    assert_eq!((difference.seq, difference.found), (5, None));
}

#[test]
fn what_no_input_leads_to_is_refused_with_a_reason() {
    let appends = appends();
    let state = appends[0].iter().fold(State::new(environment::run_id()), evolve);
    for (events, why) in [(&appends[0], "started already"), (&appends[2], "no input leads")] {
        let difference = replay(&state, events).unwrap_err();
        assert_eq!(difference.seq, 3);
        assert!(difference.reason.as_ref().unwrap().contains(why), "{difference:?}");
    }
    assert!(rebuild(&state, &[]).is_empty());
}
