//! Invariants 3 and 7: what one fact costs does not depend on what came before. No clock is asked: what is shared cannot
//! have been copied.

use std::sync::Arc;

use windlass_core::event::{ModelFact, PeopleFact, RunInput, Steered, TurnCompleted};
use windlass_core::message::AssistantMessage;
use windlass_core::model::{Purpose, StopReason, Usage};
use windlass_core::policy::Preset;
use windlass_core::{Event, Fact, Input, InputKind, Message, State, accept, evolve};

use crate::environment;

const MESSAGES: usize = 10_000;

/// A run whose conversation begins with so many messages.
fn long_run() -> (State, Vec<Arc<Message>>) {
    let policy = Preset::CHAT.policy();
    let mut input = environment::start(policy, &Arc::new(environment::tools()));
    let messages: Vec<_> = (0..MESSAGES).map(|n| Arc::new(Message::user(format!("message {n}")))).collect();
    if let InputKind::Start(start) = &mut input.what {
        start.input = RunInput::Messages(messages.clone());
    }
    let events = accept(&State::new(environment::run_id()), input).unwrap();
    (events.iter().fold(State::new(environment::run_id()), evolve), messages)
}

fn shares(state: &State, messages: &[Arc<Message>]) -> bool {
    state.history().iter().zip(messages).all(|(one, other)| Arc::ptr_eq(one, other))
}

#[test]
fn a_fact_shares_all_earlier_messages() {
    let (state, messages) = long_run();
    assert!(shares(&state, &messages), "the start's own messages");
    let held = state.clone();
    assert!(shares(&held, &messages), "a clone");
    let turn = TurnCompleted {
        turn: 1,
        purpose: Purpose::Act,
        about: None,
        text: Some("Hello.".into()),
        reasoning: None,
        media: Box::default(),
        calls: Vec::new(),
        annotations: None,
        stop: StopReason::Stop,
        usage: Usage::default(),
        model: "m1".into(),
        objection: None,
        answer_form: None,
    };
    let next = evolve(held, &Event { at: 1, fact: Fact::Model(ModelFact::Completed(turn)) });
    assert_eq!(next.history().len(), MESSAGES + 1);
    assert_eq!(state.history().len(), MESSAGES, "the earlier state is as it was");
    assert!(shares(&next, &messages), "after one more fact");
    let last = next.history().last().unwrap();
    let said = AssistantMessage { text: Some("Hello.".into()), ..AssistantMessage::default() };
    assert_eq!(**last, Message::Assistant(said));
}

#[test]
fn a_decision_shares_all_earlier_messages() {
    let (state, messages) = long_run();
    let before: Vec<usize> = messages.iter().map(Arc::strong_count).collect();
    let events = accept(&state, Input { at: 5, what: InputKind::Steer("Hurry.".into()) }).unwrap();
    assert_eq!(events.iter().map(|event| event.fact.kind()).collect::<Vec<_>>(), ["Steered"]);
    // Had the decision kept or copied the conversation, somebody would hold its messages beside us.
    assert!(messages.iter().zip(before).all(|(message, before)| Arc::strong_count(message) == before));
    let next = evolve(
        state.clone(),
        &Event { at: 5, fact: Fact::People(PeopleFact::Steered(Steered::from("Hurry."))) },
    );
    assert!(shares(&next, &messages));
}

#[test]
fn the_text_of_a_fact_is_the_text_of_the_message() {
    let (state, _) = long_run();
    let text: Arc<str> = "A long answer.".into();
    let turn = TurnCompleted {
        turn: 1,
        purpose: Purpose::Act,
        about: None,
        text: Some(text.clone()),
        reasoning: None,
        media: Box::default(),
        calls: Vec::new(),
        annotations: None,
        stop: StopReason::Stop,
        usage: Usage::default(),
        model: "m1".into(),
        objection: None,
        answer_form: None,
    };
    let next = evolve(state, &Event { at: 1, fact: Fact::Model(ModelFact::Completed(turn)) });
    let Message::Assistant(said) = &**next.history().last().unwrap() else {
        panic!("an assistant's message")
    };
    assert!(Arc::ptr_eq(said.text.as_ref().unwrap(), &text));
}

#[test]
fn a_run_on_a_base_shares_its_messages() {
    let (base, messages) = long_run();
    let fresh = State::on_base(windlass_core::RunId::from_number(8), &base);
    assert!(shares(&fresh, &messages));
    assert_eq!(fresh.version(), 0);
}
