//! E24: an approval is bound to what would run. If that changes while a person thinks, they are asked again.

use std::sync::Arc;

use windlass_core::event::{Adjusted, BindingDigests, CallFact, Cause, ResumedBy};
use windlass_core::model::Usage;
use windlass_core::policy::Preset;
use windlass_core::{
    Action, ActionId, ActionKind, Answer, CallOutcome, Event, Fact, Input, InputKind, State, ToolSpec,
    accept, decide, evolve, pending, replay,
};

use crate::environment::{self, BEGINNING};

fn take(state: &mut State, what: InputKind) -> Vec<Event> {
    let events = accept(state, Input { at: BEGINNING, what }).unwrap();
    *state = events.iter().fold(state.clone(), evolve);
    events
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.fact.kind()).collect()
}

/// A run in which the tool `book` waits for a person.
fn held() -> State {
    let mut state = State::new(environment::run_id());
    let start = environment::start(Preset::CHAT.policy(), &Arc::new(environment::tools()));
    take(&mut state, start.what);
    let action = ActionId { run: state.run(), seq: 2 };
    let reply = environment::reply(None, vec![("book", "{\"seat\":7}", Some("a"))], Usage::default());
    let events = take(&mut state, InputKind::replied(action, reply));
    assert_eq!(kinds(&events), ["TurnCompleted", "CallHeld", "InputRequested"]);
    state
}

fn answer(state: &mut State, question: &str, answer: Answer) -> Vec<Event> {
    take(state, InputKind::Answered { question: question.into(), answer, by: None })
}

fn changed(change: impl Fn(&mut ToolSpec)) -> InputKind {
    let mut tools = environment::tools();
    tools.iter_mut().filter(|tool| *tool.name == *"book").for_each(change);
    InputKind::ToolsChanged { tools: Arc::new(tools), binding_digests: None }
}

#[test]
fn e24_an_approval_of_what_has_changed_is_asked_for_anew() {
    let mut state = held();
    take(&mut state, changed(|tool| tool.description = "Books two seats.".into()));
    let events = answer(&mut state, "q1", Answer::Approve);
    assert_eq!(kinds(&events), ["InputReceived", "CallHeld", "InputRequested"]);
    assert!(
        pending(&state).iter().all(|action| !matches!(action.work, ActionKind::RunTool { .. })),
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
fn l33_e24_the_digest_depends_on_arguments_and_tool() {
    let digest = |state: &State, args: &str| {
        let mut state = state.clone();
        let start = environment::start(Preset::CHAT.policy(), &Arc::new(environment::tools()));
        take(&mut state, start.what);
        let action = ActionId { run: state.run(), seq: 2 };
        let reply = environment::reply(None, vec![("book", args, None)], Usage::default());
        let events = take(&mut state, InputKind::replied(action, reply));
        events
            .iter()
            .find_map(|event| match &event.fact {
                Fact::Call(CallFact::Held(held)) => Some(held.digest.clone()),
                _ => None,
            })
            .unwrap()
    };
    let fresh = State::new(environment::run_id());
    assert_eq!(digest(&fresh, "{\"seat\":7}"), digest(&fresh, "{\"seat\":7}"));
    assert_ne!(digest(&fresh, "{\"seat\":7}"), digest(&fresh, "{\"seat\":8}"));
}

/// Binding digests under which the command of `book`, `put` and `pay` is this one.
fn binding_digests(command: &str) -> Arc<BindingDigests> {
    let mut binding_digests = BindingDigests::new("salt");
    for tool in ["book", "put", "pay"] {
        binding_digests.add(tool.into(), [("command".into(), command), ("variable TOKEN".into(), "abc")]);
    }
    Arc::new(binding_digests)
}

fn resealed(command: &str) -> InputKind {
    InputKind::ToolsChanged {
        tools: Arc::new(approved_tools()),
        binding_digests: Some(binding_digests(command)),
    }
}

/// The tools, of which `put` and `pay` must be allowed, too.
fn approved_tools() -> Vec<ToolSpec> {
    let mut tools = environment::tools();
    tools
        .iter_mut()
        .filter(|tool| ["put", "pay"].contains(&&*tool.name))
        .for_each(|tool| tool.approve = true);
    tools
}

/// A run with binding digests in which that tool waits for a person.
fn sealed(tool: &str) -> State {
    let mut state = State::new(environment::run_id());
    let start = environment::start(Preset::CHAT.policy(), &Arc::new(approved_tools()));
    let InputKind::Start(mut start) = start.what else { unreachable!() };
    start.binding_digests = Some(binding_digests("./good.sh"));
    take(&mut state, InputKind::Start(start));
    let action = ActionId { run: state.run(), seq: 2 };
    let reply =
        environment::reply(None, vec![(tool, "{\"seat\":7,\"seat\":8}", Some("a"))], Usage::default());
    take(&mut state, InputKind::replied(action, reply));
    state
}

fn question(state: &State) -> &str {
    &state.questions()[0].text
}

fn take_over(command: &str) -> InputKind {
    let (tools, binding_digests) = (Some(Arc::new(approved_tools())), Some(binding_digests(command)));
    let adjusted = Some(Box::new(Adjusted { tools, binding_digests, ..Adjusted::default() }));
    InputKind::Resumed { holder: "another".into(), epoch: 2, by: ResumedBy::Runtime, adjusted }
}

#[test]
fn e24_a_question_shows_the_value_that_will_run_with_its_call() {
    assert_eq!(question(&sealed("book")), "May `book` run with {\"seat\":8}? (call a)");
}

#[test]
fn e24_another_command_is_asked_about_anew_and_named() {
    let mut state = sealed("book");
    take(&mut state, resealed("./evil.sh"));
    let events = answer(&mut state, "q1", Answer::Approve);
    assert_eq!(kinds(&events), ["InputReceived", "CallHeld", "InputRequested"]);
    let again = "May `book` run with {\"seat\":8}? (call a) You are asked again, because this has changed since: command.";
    assert_eq!(question(&state), again);
}

#[test]
fn e24_the_next_try_of_what_was_allowed_is_held_if_it_has_changed() {
    let mut state = sealed("put");
    answer(&mut state, "q1", Answer::Approve);
    let action =
        pending(&state).iter().find(|action| matches!(action.work, ActionKind::RunTool { .. })).unwrap().id;
    let outcome = CallOutcome::Error { kind: None, message: "busy".into() };
    take(&mut state, resealed("./evil.sh"));
    assert_eq!(kinds(&take(&mut state, InputKind::CallEnded { action, outcome })), ["CallRetried"]);
    let timer = |action: Action| match action.work {
        ActionKind::SetTimer { at } => Some((action.id, at)),
        _ => None,
    };
    let (action, at) = pending(&state).into_iter().find_map(timer).unwrap();
    let accepted = decide(&state, Input { at, what: InputKind::TimerFired { action } }).unwrap();
    assert_eq!(kinds(&accepted.events), ["CallHeld", "InputRequested"]);
    assert_eq!(replay(&state, &accepted.cause, &accepted.events).as_ref(), Ok(&accepted.state));
}

#[test]
fn e24_a_take_over_runs_what_was_allowed_only_as_it_was() {
    let mut state = sealed("put");
    answer(&mut state, "q1", Answer::Approve);
    let mut same = state.clone();
    let events = take(&mut same, take_over("./good.sh"));
    assert_eq!(kinds(&events), ["RunResumed", "Adjusted", "CallStarted"]);
    let before = state.clone();
    let events = take(&mut state, take_over("./evil.sh"));
    assert_eq!(kinds(&events), ["RunResumed", "Adjusted", "CallHeld", "InputRequested"]);
    assert!(replay(&before, &Cause::Resumed, &events).is_ok());
    let events = answer(&mut state, "q2", Answer::Approve);
    assert_eq!(kinds(&events), ["InputReceived", "CallDecided", "CallStarted"]);
}

#[test]
fn e24_a_check_that_was_not_there_when_a_call_was_allowed_is_not_run() {
    let mut state = sealed("pay");
    answer(&mut state, "q1", Answer::Approve);
    let mut same = state.clone();
    assert_eq!(kinds(&take(&mut same, take_over("./good.sh"))), ["RunResumed", "Adjusted", "CallDoubted"]);
    let events = take(&mut state, take_over("./evil.sh"));
    assert_eq!(kinds(&events), ["RunResumed", "Adjusted", "CallDoubted", "InputRequested"]);
    let asked = "`pay` (call a) had started with {\"seat\":8} when the process died.";
    assert!(question(&state).starts_with(asked), "{}", question(&state));
    let events = answer(&mut state, "q2", Answer::RunAgain);
    assert_eq!(
        kinds(&events),
        ["InputReceived", "CallHeld", "InputRequested"],
        "it would be another command"
    );
}

#[test]
fn e24_no_value_is_found_again_under_another_salt() {
    let (mut one, mut other) = (BindingDigests::new("one"), BindingDigests::new("other"));
    for binding_digests in [&mut one, &mut other] {
        binding_digests.add("book".into(), [("command".into(), "./good.sh")]);
        binding_digests.add("put".into(), [("command".into(), "./good.sh")]);
    }
    assert_eq!(one.parts("book"), one.parts("put"));
    assert_eq!(one.digests.len(), 1, "equal parts stand there once: {one:?}");
    assert_ne!(one.parts("book"), other.parts("book"));
    assert!(!serde_json::to_string(&one).unwrap().contains("good"));
}
