//! Rules of a session: a tool that a person has allowed for good needs no further approval there, as long as it stays as it is.

use std::sync::Arc;

use windlass_core::event::{Adjusted, AgentRef, Base, BindingDigests, CallFact, Decision, Fork, RunInput};
use windlass_core::model::Usage;
use windlass_core::policy::Preset;
use windlass_core::{
    ActionKind, Answer, CallOutcome, Event, Fact, Input, InputKind, Message, RunId, SessionId, State,
    ToolSpec, decide, evolve, pending, replay,
};

use crate::environment::{self, BEGINNING};

/// Takes an input; the append is replayed, and folds to the same state.
fn take(state: &mut State, what: InputKind) -> Vec<Event> {
    let accepted = decide(state, Input { at: BEGINNING, what }).unwrap();
    assert_eq!(replay(state, &accepted.cause, &accepted.events).as_ref(), Ok(&accepted.state));
    *state = accepted.events.iter().fold(state.clone(), evolve);
    assert_eq!(*state, accepted.state);
    accepted.events
}

fn kinds(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.fact.kind()).collect()
}

fn binding_digests(salt: &str, command: &str) -> Arc<BindingDigests> {
    let mut binding_digests = BindingDigests::new(salt);
    binding_digests.add("book".into(), [("command".into(), command)]);
    Arc::new(binding_digests)
}

/// How a run begins.
struct Begin {
    run: u128,
    session: Option<&'static str>,
    parent: Option<RunId>,
    command: &'static str,
    agent: &'static str,
}

const FIRST: Begin =
    Begin { run: 7, session: Some("trip"), parent: None, command: "./book.sh", agent: "tester" };

fn begin(base: Option<&State>, how: &Begin) -> State {
    let run = RunId::from_number(how.run);
    let InputKind::Start(mut start) =
        environment::start(Preset::CHAT.policy(), &Arc::new(environment::tools())).what
    else {
        unreachable!()
    };
    start.run = run;
    start.session = how.session.map(SessionId::from);
    start.parent = how.parent;
    start.agent = AgentRef { name: how.agent.into(), digest: "0".into() };
    start.binding_digests = Some(binding_digests("salt", how.command));
    start.input = RunInput::Messages(vec![Arc::new(Message::user("Go on"))]);
    start.base = base.map(|base| Base { run: base.run(), version: base.version(), digest: base.digest() });
    let mut state = base.map_or_else(|| State::new(run), |base| State::on_base(run, base));
    take(&mut state, InputKind::Start(start));
    state
}

fn next(run: u128) -> Begin {
    Begin { run, ..FIRST }
}

/// The model replies with calls of `book` with these arguments.
fn calls(state: &mut State, each: &[&str]) -> Vec<Event> {
    let model = |action: &&windlass_core::Action| matches!(action.work, ActionKind::CallModel { .. });
    let action = pending(state).iter().find(model).unwrap().id;
    let calls = each.iter().map(|args| ("book", *args, None)).collect();
    let reply = environment::reply(None, calls, Usage::default());
    take(state, InputKind::replied(action, reply))
}

fn answer(state: &mut State, question: &str, answer: Answer) -> Vec<Event> {
    take(state, InputKind::Answered { question: question.into(), answer, by: None })
}

/// All calls that run end well.
fn finish(state: &mut State) {
    loop {
        let tool = |action: &&windlass_core::Action| matches!(action.work, ActionKind::RunTool { .. });
        let Some(action) = pending(state).iter().find(tool).map(|action| action.id) else { return };
        take(state, InputKind::CallEnded { action, outcome: CallOutcome::Ok { content: "done".into() } });
    }
}

/// A run whose person has answered `always` to a call of `book`, and which then ends.
fn ended() -> State {
    let mut state = begin(None, &FIRST);
    calls(&mut state, &[r#"{"seat":7}"#]);
    answer(&mut state, "q1", Answer::Always);
    finish(&mut state);
    end(&mut state);
    state
}

fn end(state: &mut State) {
    let action = pending(state)[0].id;
    let reply = environment::reply(Some("Done."), Vec::new(), Usage::default());
    take(state, InputKind::replied(action, reply));
    assert!(state.is_finished());
}

const HELD: [&str; 3] = ["TurnCompleted", "CallHeld", "InputRequested"];
const ALLOWED: [&str; 3] = ["TurnCompleted", "CallDecided", "CallStarted"];

#[test]
fn an_answer_allows_all_later_calls_of_the_tool() {
    let mut state = begin(None, &FIRST);
    assert_eq!(kinds(&calls(&mut state, &[r#"{"seat":7}"#])), HELD);
    let events = answer(&mut state, "q1", Answer::Always);
    assert_eq!(kinds(&events), ["InputReceived", "ToolAllowed", "CallDecided", "CallStarted"]);
    assert_eq!(state.allowed_tools().map(|tool| &**tool).collect::<Vec<_>>(), ["book"]);
    finish(&mut state);
    let events = calls(&mut state, &[r#"{"seat":8}"#]);
    assert_eq!(kinds(&events), ALLOWED);
    let Fact::Call(CallFact::Decided(decided)) = &events[1].fact else { unreachable!() };
    assert_eq!(decided.decision, Decision::Allowed);
}

#[test]
fn calls_that_wait_for_the_same_answer_are_allowed_with_it() {
    let mut state = begin(None, &FIRST);
    calls(&mut state, &[r#"{"seat":7}"#, r#"{"seat":8}"#, r#"{"seat":9}"#]);
    assert_eq!(state.questions().len(), 3);
    let events = answer(&mut state, "q2", Answer::Always);
    let expected = ["CallDecided", "CallDecided", "CallDecided", "CallStarted", "CallStarted", "CallStarted"];
    assert_eq!(kinds(&events)[2..], expected);
    assert!(state.questions().is_empty());
}

#[test]
fn a_tool_that_has_changed_is_asked_about_anew() {
    let change = |change: fn(&mut ToolSpec)| {
        let mut tools = environment::tools();
        tools.iter_mut().filter(|tool| *tool.name == *"book").for_each(change);
        InputKind::ToolsChanged { tools: Arc::new(tools), binding_digests: None }
    };
    let same = InputKind::ToolsChanged {
        tools: Arc::new(environment::tools()),
        binding_digests: Some(binding_digests("salt", "./other.sh")),
    };
    for change in [
        change(|tool| tool.description = "Books two seats.".into()),
        change(|tool| tool.parameters = Arc::new(serde_json::json!({ "type": "object", "properties": {} }))),
        change(|tool| tool.retries = Some(3)),
        same,
    ] {
        let mut state = begin(None, &FIRST);
        calls(&mut state, &[r#"{"seat":7}"#]);
        answer(&mut state, "q1", Answer::Always);
        finish(&mut state);
        take(&mut state, change);
        assert_eq!(kinds(&calls(&mut state, &[r#"{"seat":7}"#])), HELD);
    }
    // What changed between question and answer is asked about anew, and makes no rule.
    let mut state = begin(None, &FIRST);
    calls(&mut state, &[r#"{"seat":7}"#]);
    take(&mut state, change(|tool| tool.description = "Books two seats.".into()));
    let events = answer(&mut state, "q1", Answer::Always);
    assert_eq!(kinds(&events), ["InputReceived", "CallHeld", "InputRequested"]);
    assert_eq!(state.allowed_tools().count(), 0);
}

#[test]
fn the_sessions_next_runs_begin_with_the_rule() {
    let first = ended();
    let mut second = begin(Some(&first), &next(8));
    assert_eq!(kinds(&calls(&mut second, &[r#"{"seat":9}"#])), ALLOWED);
    finish(&mut second);
    end(&mut second);
    let mut third = begin(Some(&second), &next(9));
    assert_eq!(kinds(&calls(&mut third, &[r#"{"seat":9}"#])), ALLOWED);
}

#[test]
fn no_other_run_begins_with_the_rule() {
    let first = ended();
    let others = [
        Begin { session: Some("other"), ..next(8) },
        Begin { session: None, ..next(8) },
        Begin { parent: Some(first.run()), ..next(8) },
        Begin { command: "./other.sh", ..next(8) },
        Begin { agent: "another", ..next(8) },
    ];
    for other in &others {
        let mut state = begin(Some(&first), other);
        assert_eq!(kinds(&calls(&mut state, &[r#"{"seat":9}"#])), HELD);
    }
}

#[test]
fn a_fork_asks_anew() {
    let mut base = begin(None, &FIRST);
    calls(&mut base, &[r#"{"seat":7}"#]);
    answer(&mut base, "q1", Answer::Always);
    finish(&mut base);
    let InputKind::Start(mut start) =
        environment::start(Preset::CHAT.policy(), &Arc::new(environment::tools())).what
    else {
        unreachable!()
    };
    start.run = RunId::from_number(8);
    start.session = Some("trip".into());
    start.binding_digests = Some(binding_digests("salt", "./book.sh"));
    start.base = Some(Base { run: base.run(), version: base.version(), digest: base.digest() });
    start.input = RunInput::Fork(Fork::of(&base, &[], None));
    let mut fork = State::on_base(start.run, &base);
    take(&mut fork, InputKind::Start(start));
    assert_eq!(kinds(&calls(&mut fork, &[r#"{"seat":9}"#])), HELD);
}

#[test]
fn an_adopted_run_asks_anew() {
    let mut state = begin(None, &FIRST);
    calls(&mut state, &[r#"{"seat":7}"#]);
    answer(&mut state, "q1", Answer::Always);
    finish(&mut state);
    let agent = Some(AgentRef { name: "tester".into(), digest: "1".into() });
    let adopted = InputKind::Resumed {
        holder: "another".into(),
        epoch: 2,
        by: windlass_core::event::ResumedBy::Person,
        adjusted: Some(Box::new(Adjusted { agent, ..Adjusted::default() })),
    };
    take(&mut state, adopted);
    assert_eq!(state.allowed_tools().count(), 0);
    assert_eq!(kinds(&calls(&mut state, &[r#"{"seat":9}"#])), HELD);
}
