//! Pinned messages: no compaction removes one, and no view leaves one out, those of earlier runs of the session included.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use windlass_core::event::{ContextFact, Purpose, RunInput};
use windlass_core::message::Content;
use windlass_core::policy::{Preset, Stop, View};
use windlass_core::{ActionKind, Fact, InputKind, Message, Policy, RunId, State, evolve, pending};

use crate::environment;
use crate::generate::{Step, policies, steps};
use crate::machine::Machine;

const VIEWS: [View; 5] = [View::Full, View::Progressive, View::Minimal, View::KitchenSink, View::Blackboard];

/// What is looked at in one run.
#[derive(Debug, Default)]
struct Seen {
    requests: usize,
    /// Requests with a pinned message of an earlier run.
    earlier: usize,
    /// Requests with one that was said while the run went on.
    steered: usize,
}

fn text(message: &Message) -> String {
    let content = if let Message::User { content, .. } = message { Some(content) } else { None };
    content.map(|content: &Content| content.text().into_owned()).unwrap_or_default()
}

fn pins<'m>(messages: impl Iterator<Item = &'m Arc<Message>>) -> Vec<String> {
    messages.filter(|message| message.is_pinned()).map(|message| text(message)).collect()
}

/// A run whose first message is pinned or not, after an earlier one or as the first of its session.
fn run(number: u128, policy: Policy, base: Option<&State>, steps: Vec<Step>) -> Machine {
    let tools = Arc::new(environment::tools());
    let mut start = environment::start(policy, &tools);
    let id = RunId::from_number(number);
    if let InputKind::Start(started) = &mut start.what {
        started.run = id;
        let said =
            [Message::user(format!("rule {number}")).pinned(), Message::user(format!("task {number}"))];
        started.input = RunInput::Messages(said.into_iter().map(Arc::new).collect());
    }
    let state = base.map_or_else(|| State::new(id), |base| State::on_base(id, base));
    Machine::begun_with(state, Vec::new(), &start, tools, None).driven(steps)
}

/// The pinned messages that a plan's JSON has as notes. Those of the run's own input are its query.
fn noted(json: &str, pinned: &[String]) -> Vec<String> {
    let json = json.trim_start_matches("```json\n").trim_end_matches("\n```");
    let input: serde_json::Value = serde_json::from_str(json).unwrap();
    let notes = input["user_notes"].as_array().cloned().unwrap_or_default();
    let notes = notes.iter().map(|note| note.as_str().unwrap().to_owned());
    let query = input["original_query"].as_str().unwrap();
    let own = pinned.iter().position(|text| query.lines().any(|line| line == text));
    let mut noted: Vec<String> = notes.filter(|note| pinned.contains(note)).collect();
    if let Some(own) = own {
        noted.insert(own.min(noted.len()), pinned[own].clone());
    }
    noted
}

/// Looks at all requests of a run, and at what its edits do to pinned messages.
fn look(machine: &Machine, seen: &mut Seen) {
    let mut state = machine.origin.clone();
    let before = pins(state.history().iter()).len();
    let mut from = 0;
    for (upto, _) in &machine.appends {
        for event in &machine.events[from..*upto] {
            let known = pins(state.history().iter());
            state = evolve(state, event);
            // A hook edits as it likes.
            if !matches!(event.fact, Fact::Context(ContextFact::HistoryEdited(_))) {
                let now = pins(state.history().iter());
                assert!(
                    now.starts_with(&known),
                    "{:?} removes a pinned message: {known:?} {now:?}",
                    event.fact
                );
            }
        }
        from = *upto;
        for action in pending(&state) {
            if !matches!(action.work, ActionKind::CallModel { purpose: Purpose::Act, .. }) {
                continue;
            }
            let wanted = pins(state.history().iter());
            let view = state.view(action.id).unwrap();
            let plans = state.policy().replies.stop == Stop::Judge;
            let shown = if plans {
                noted(&text(view.messages.at(0).unwrap()), &wanted)
            } else {
                pins(view.messages.iter())
            };
            // The blackboard follows the input in one message.
            let equal = shown.len() == wanted.len()
                && shown.iter().zip(&wanted).all(|(shown, wanted)| shown.starts_with(wanted.as_str()));
            assert!(equal, "{:?} shows {shown:?} of {wanted:?}", state.policy().request.view);
            let own = usize::from(machine.origin.version() == 0 || !wanted.is_empty());
            seen.requests += 1;
            seen.earlier += usize::from(before > 0);
            seen.steered += usize::from(wanted.len() > before + own);
        }
    }
}

fn requests(policies: impl Strategy<Value = Policy>, runs: usize) -> Seen {
    let mut runner = TestRunner::deterministic();
    let mut seen = Seen::default();
    for _ in 0..runs {
        let (one, first) = (&policies, steps()).new_tree(&mut runner).unwrap().current();
        let (other, second) = (&policies, steps()).new_tree(&mut runner).unwrap().current();
        let base = run(1, one, None, first);
        look(&base, &mut seen);
        look(&run(2, other, Some(&base.state), second), &mut seen);
    }
    seen
}

#[test]
fn e63_p21_every_view_shows_every_pinned_message_once_and_in_order() {
    for view in VIEWS {
        let seen = requests(
            policies().prop_map(move |mut policy| {
                policy.request.view = view;
                policy.replies.stop = Preset::CHAT.policy().replies.stop;
                policy
            }),
            150,
        );
        assert!(seen.requests > 200 && seen.earlier > 100 && seen.steered > 10, "{view:?}: {seen:?}");
    }
}

#[test]
fn e63_the_closing_call_of_a_plan_has_the_pinned_messages_among_its_notes() {
    let plans = policies().prop_map(|mut policy| {
        let plan = Preset::PLAN.policy();
        (policy.replies.stop, policy.request.view) = (plan.replies.stop, plan.request.view);
        policy.calls.code = plan.calls.code;
        policy.bounds.turns = plan.bounds.turns;
        policy
    });
    let seen = requests(plans, 500);
    assert!(seen.requests > 10 && seen.earlier > 5, "{seen:?}");
}
