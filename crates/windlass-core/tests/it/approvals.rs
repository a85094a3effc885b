//! E24: an approval is bound to what would run. If that changes while a person thinks, they are asked again.

use std::sync::Arc;

use windlass_core::{
    ActionId, Answer, Event, Fact, Input, Policy, Preset, State, ToolSpec, Usage, What, Work, accept, evolve,
    pending,
};

use crate::world::{self, BEGINNING};

fn take(state: &mut State, what: What) -> Vec<Event> {
    let events = accept(state, Input { at: BEGINNING, what }).unwrap();
    *state = events.iter().fold(state.clone(), evolve);
    events
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.fact.kind()).collect()
}

/// A run in which the tool `book` waits for a person.
fn held() -> State {
    let mut state = State::new(world::run_id());
    let start = world::start(Policy::preset(Preset::Chat).unwrap(), &Arc::new(world::tools()));
    take(&mut state, start.what);
    let action = ActionId { run: state.run(), seq: 2 };
    let reply = world::reply(None, vec![("book", "{\"seat\":7}", Some("a"))], Usage::default());
    let events = take(&mut state, What::Replied { action, reply: Box::new(reply) });
    assert_eq!(kinds(&events), ["TurnCompleted", "CallHeld", "InputRequested"]);
    state
}

fn answer(state: &mut State, question: &str, answer: Answer) -> Vec<Event> {
    take(state, What::Answered { question: question.into(), answer })
}

fn changed(change: impl Fn(&mut ToolSpec)) -> What {
    let mut tools = world::tools();
    tools.iter_mut().filter(|tool| *tool.name == *"book").for_each(change);
    What::ToolsChanged { tools: Arc::new(tools) }
}

#[test]
fn e24_an_approval_of_what_has_changed_is_asked_for_anew() {
    let mut state = held();
    take(&mut state, changed(|tool| tool.description = "Books two seats.".into()));
    let events = answer(&mut state, "q1", Answer::Approve);
    assert_eq!(kinds(&events), ["InputReceived", "CallHeld", "InputRequested"]);
    assert!(
        pending(&state).iter().all(|action| !matches!(action.work, Work::RunTool { .. })),
        "nothing runs"
    );
    let events = answer(&mut state, "q2", Answer::Approve);
    assert_eq!(kinds(&events), ["InputReceived", "CallDecided", "CallStarted"]);
}

#[test]
fn e24_an_approval_of_what_is_as_it_was_counts() {
    let mut state = held();
    take(&mut state, changed(|tool| tool.timeout_ms = Some(5)));
    let events = answer(&mut state, "q1", Answer::Approve);
    assert_eq!(kinds(&events), ["InputReceived", "CallDecided", "CallStarted"]);
}

#[test]
fn e24_what_has_changed_can_still_be_denied() {
    let mut state = held();
    take(&mut state, changed(|tool| tool.description = "Books two seats.".into()));
    let events = answer(&mut state, "q1", Answer::Deny { reason: None });
    assert_eq!(kinds(&events), ["InputReceived", "CallDecided", "CallFinished", "TurnStarted"]);
}

#[test]
fn e24_the_digest_depends_on_arguments_and_tool() {
    let digest = |state: &State, args: &str| {
        let mut state = state.clone();
        let start = world::start(Policy::preset(Preset::Chat).unwrap(), &Arc::new(world::tools()));
        take(&mut state, start.what);
        let action = ActionId { run: state.run(), seq: 2 };
        let reply = world::reply(None, vec![("book", args, None)], Usage::default());
        let events = take(&mut state, What::Replied { action, reply: Box::new(reply) });
        events
            .iter()
            .find_map(|event| match &event.fact {
                Fact::CallHeld(held) => Some(held.digest.clone()),
                _ => None,
            })
            .unwrap()
    };
    let fresh = State::new(world::run_id());
    assert_eq!(digest(&fresh, "{\"seat\":7}"), digest(&fresh, "{\"seat\":7}"));
    assert_ne!(digest(&fresh, "{\"seat\":7}"), digest(&fresh, "{\"seat\":8}"));
}
