//! Concurrent model calls of one run: calls in progress count when the next one is admitted (E40).

use std::sync::Arc;

use crate::machine::decide::decide;
use crate::machine::pending::pending;
use crate::model::{FailureKind, ModelChoice, ModelFailure, Prices};
use crate::policy::Policy;
use crate::policy::limits::Limit;
use crate::policy::presets::Preset;
use crate::protocol::fact::{Event, Fact, LimitFact, ModelFact, RunFact};
use crate::protocol::input::{Input, InputKind};
use crate::state::State;
use crate::tests::environment;
use crate::vocabulary::budget::Need;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::outcome::Status;
use crate::vocabulary::purpose::Purpose;

const PRICES: Prices = Prices { input: 1, output: 1, cached: 1, cache_write: 1, hosted: None };

/// A run with a call that may use 100 and the limit that is given, and beside it another call of the same size.
fn two(max: u64) -> State {
    let mut policy: Policy = Preset::CHAT.policy();
    policy.bounds.limits.clear();
    policy.bounds.limits.insert(LimitKind::OutputTokens, Limit { max, at_limit: None });
    policy.calls.retries = 0;
    let mut start = environment::start(policy, &Arc::new(environment::tools()));
    if let InputKind::Start(started) = &mut start.what {
        let model = ModelChoice { max_tokens: Some(100), prices: Some(PRICES), ..ModelChoice::default() };
        started.models = Arc::new(vec![model.clone(), model]);
    }
    let mut state = decide(&State::new(environment::run_id()), start).unwrap().state;
    let reserved = Need::of(0, &state.setup.models()[0]).reserve(&state.left(None));
    let first = state.turns_model_call().unwrap().clone();
    let seq = first.seq() + 100;
    state.model_calls.open(first.with_purpose(Purpose::Merge, seq, reserved));
    state
}

/// Input: the first call fails and falls back to another model.
fn falls_back(state: &State) -> Vec<Event> {
    let action = pending(state).first().unwrap().id;
    let failure = Box::new(ModelFailure::new(FailureKind::NotFound, "no such model", "m"));
    let what = InputKind::ModelFailed { action, failure, jitter: 0 };
    decide(state, Input { at: environment::BEGINNING, what }).unwrap().events
}

#[test]
fn e40_a_call_that_is_going_on_counts_for_the_next_one() {
    let begins = |events: &[Event]| {
        events.iter().any(|event| matches!(event.fact, Fact::Model(ModelFact::Started(_))))
    };
    assert!(begins(&falls_back(&two(200))), "both fit");
    let events = falls_back(&two(199));
    assert!(!begins(&events), "what the other one may use is not there for it");
    let cut = events.iter().any(
        |event| matches!(&event.fact, Fact::Limit(LimitFact::Reached(reached)) if reached.needed == 100),
    );
    assert!(cut, "{events:?}");
    let ended = |event: &Event| matches!(&event.fact, Fact::Run(RunFact::Ended(end)) if end.status == Status::Limit(LimitKind::OutputTokens));
    assert!(events.iter().any(ended));
}
