//! Several model calls can be open at once: each has its action, its request, its tries and its reservation.

use windlass_core::event::{ModelFact, ResumedBy, TurnStarted};
use windlass_core::model::{FailureKind, ModelFailure, Purpose, Usage};
use windlass_core::policy::Preset;
use windlass_core::{
    Action, ActionId, ActionKind, Event, Fact, Input, InputKind, State, accept, evolve, pending,
};

use crate::environment::{self, BEGINNING};

/// A run whose turn asks a model, while the model is also asked about the call `c`.
fn two_asked() -> State {
    let start = environment::start(Preset::CHAT.policy(), &std::sync::Arc::new(environment::tools()));
    let fresh = State::new(environment::run_id());
    let events = accept(&fresh, start).unwrap();
    let state = events.iter().fold(fresh, evolve);
    let about = TurnStarted {
        turn: 1,
        purpose: Purpose::Merge,
        about: Some("c".into()),
        model: 1,
        attempt: 1,
        after_loss: false,
        tool_choice: windlass_core::model::ToolChoice::None,
        note: None,
        without: Vec::new(),
    };
    evolve(state, &Event { at: BEGINNING + 1, fact: Fact::Model(ModelFact::Started(about)) })
}

fn calls(state: &State) -> Vec<ActionId> {
    let call = |action: &Action| matches!(action.work, ActionKind::CallModel { .. });
    pending(state).into_iter().filter(call).map(|action| action.id).collect()
}

fn given(state: &State, what: InputKind) -> State {
    let events = accept(state, Input { at: BEGINNING + 5, what }).unwrap();
    events.iter().fold(state.clone(), evolve)
}

fn failed(action: ActionId) -> InputKind {
    let failure =
        ModelFailure { usage: Usage::default(), ..ModelFailure::new(FailureKind::Overloaded, "busy", "m") };
    InputKind::ModelFailed { action, failure: Box::new(failure), jitter: 0 }
}

#[test]
fn each_open_ask_is_an_action_with_its_own_request() {
    let state = two_asked();
    let open = calls(&state);
    assert_eq!(open.len(), 2);
    let requests: Vec<_> = open.iter().map(|action| state.request(*action).unwrap()).collect();
    let purposes: Vec<_> = requests.iter().map(|request| request.purpose).collect();
    assert_eq!(purposes, [Purpose::Act, Purpose::Merge]);
    assert_ne!(requests[0].model.name, requests[1].model.name, "each asks its own model");
    let views: Vec<_> = open.iter().map(|action| state.view(*action).unwrap()).collect();
    assert_ne!(views[0].messages, views[1].messages, "each has its own view");
}

#[test]
fn a_failure_of_one_ask_leaves_the_other_open() {
    for (failing, other) in [(0, 1), (1, 0)] {
        let state = two_asked();
        let open = calls(&state);
        let state = given(&state, failed(open[failing]));
        assert_eq!(calls(&state), [open[other]], "ask {failing} waits for its next try");
        let timers =
            pending(&state).into_iter().filter(|action| matches!(action.work, ActionKind::SetTimer { .. }));
        assert_eq!(timers.count(), 1);
    }
}

#[test]
fn a_take_over_begins_both_asks_again_and_reserves_both() {
    let state = two_asked();
    let open = calls(&state);
    let resumed = InputKind::resumed("another", 2, ResumedBy::Runtime);
    let state = given(&state, resumed);
    let again = calls(&state);
    assert_eq!(again.len(), 2);
    assert!(again.iter().all(|action| !open.contains(action)), "both are new tries");
    let one = {
        let alone = environment::start(Preset::CHAT.policy(), &std::sync::Arc::new(environment::tools()));
        let fresh = State::new(environment::run_id());
        let state = accept(&fresh, alone).unwrap().iter().fold(fresh, evolve);
        given(&state, InputKind::resumed("another", 2, ResumedBy::Runtime)).reserved()
    };
    let both = state.reserved();
    assert!(both.input > one.input || both.output > one.output, "{both:?} beside {one:?}");
}
