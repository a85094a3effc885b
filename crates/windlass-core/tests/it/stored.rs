//! E35: what is too large goes through the core by name, and the tool that reads it is offered from then on.

use std::sync::Arc;

use windlass_core::event::RunInput;
use windlass_core::message::Part;
use windlass_core::message::{Content, Ref};
use windlass_core::model::Usage;
use windlass_core::policy::Preset;
use windlass_core::policy::Results;
use windlass_core::tool::READ_RESULT;
use windlass_core::{ActionId, CallOutcome, Fact, Input, InputKind, Message, State, accept, evolve};

use crate::environment::{self, BEGINNING};

fn take(state: &mut State, what: InputKind) {
    let events = accept(state, Input { at: BEGINNING, what }).unwrap();
    *state = events.iter().fold(state.clone(), evolve);
}

fn long() -> Content {
    let digest = "0123456789abcdef".repeat(4);
    Content::Parts(vec![Part::Stored(Ref::to_text(digest.into(), &"x".repeat(100_000), 65_536))])
}

fn offered(state: &State) -> bool {
    state.tools().iter().any(|tool| &*tool.name == READ_RESULT)
}

fn begun(input: Option<Content>) -> State {
    let mut state = State::new(environment::run_id());
    let mut start = environment::start(Preset::CHAT.policy(), &Arc::new(environment::tools()));
    if let (InputKind::Start(start), Some(content)) = (&mut start.what, input) {
        start.input = RunInput::Messages(vec![Arc::new(Message::User { content, pinned: false })]);
    }
    take(&mut state, start.what);
    state
}

fn after_a_result(content: Content) -> State {
    let mut state = begun(None);
    let reply = environment::reply(None, vec![("read", "{}", Some("a"))], Usage::default());
    let action = ActionId { run: state.run(), seq: 2 };
    take(&mut state, InputKind::replied(action, reply));
    assert!(!offered(&state), "there is nothing to read yet");
    let action = ActionId { run: state.run(), seq: 4 };
    assert_eq!(state.running_call(action).unwrap().call.id.as_str(), "a");
    take(&mut state, InputKind::CallEnded { action, outcome: CallOutcome::Ok { content } });
    state
}

#[test]
fn e35_the_reading_tool_is_offered_once_there_is_something_to_read() {
    assert!(!offered(&after_a_result("short".into())));
    let state = after_a_result(long());
    assert!(offered(&state));
    assert_eq!(state.tools().len(), state.own_tools().len() + 1);
    assert_eq!(state.stored("0123456789abcdef").unwrap().bytes, 100_000);
    assert!(state.history().bytes() < 10_000, "the conversation holds {} bytes", state.history().bytes());
    let next = State::on_base(windlass_core::RunId::from_number(8), &state);
    assert!(next.stored("0123456789abcdef").is_some(), "a run on that base can read it too");
}

#[test]
fn e35_a_long_input_can_be_read_at_once_and_changed_tools_keep_the_reading_one() {
    let mut state = begun(Some(long()));
    assert!(offered(&state));
    take(&mut state, InputKind::ToolsChanged { tools: Arc::new(Vec::new()), binding_digests: None });
    assert!(offered(&state) && state.own_tools().is_empty());
}

#[test]
fn e35_a_fact_says_which_payloads_it_needs() {
    let finished = |content| {
        Fact::from(windlass_core::event::CallFinished {
            call: "a".into(),
            outcome: CallOutcome::Ok { content },
            note: None,
            limit: None,
        })
    };
    assert_eq!(finished(long()).refs().len(), 1);
    assert_eq!(finished("short".into()).refs().len(), 0);
    let state = begun(Some(long()));
    assert!(
        matches!(&**state.history().last().unwrap(), Message::User { content, .. } if content.refs().count() == 1)
    );
}

#[test]
fn e35_swiftagentkits_wrapper_keeps_a_stored_result_stored() {
    let mut policy = Preset::CHAT.policy();
    policy.wording.results = Results::announced();
    let mut state = State::new(environment::run_id());
    take(&mut state, environment::start(policy, &Arc::new(environment::tools())).what);
    let reply = environment::reply(None, vec![("read", "{}", Some("a"))], Usage::default());
    let action = ActionId { run: state.run(), seq: 2 };
    take(&mut state, InputKind::replied(action, reply));
    let action = ActionId { run: state.run(), seq: 4 };
    take(&mut state, InputKind::CallEnded { action, outcome: CallOutcome::Ok { content: long() } });
    let last = state.history().last().unwrap().clone();
    let Message::Tool(result) = &*last else { panic!("{last:?}") };
    let text = result.content.text();
    assert!(text.starts_with("Successfully Executed Tool: read\n-- Start Tool Result ---\nxxx"), "{text}");
    assert_eq!(result.content.refs().count(), 1);
}
