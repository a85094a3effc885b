//! When two states are one: all that decisions look at is equal, up to the numbers of events.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use crate::protocol::action::ActionKind;
use crate::state::context::ContextTracker;
use crate::state::{Phase, State};
use crate::tests::explore::Node;
use crate::tests::scenarios::Scenario;
use crate::vocabulary::ids::ActionId;
use crate::vocabulary::limit::LimitKind;

/// Numbers of events in the order in which they are met: only which are equal matters, not what they are.
#[derive(Default)]
struct Names(Vec<u64>);

impl Names {
    fn rename(&mut self, seq: &mut u64) {
        let place = self.0.iter().position(|known| known == seq);
        *seq = place.unwrap_or_else(|| {
            self.0.push(*seq);
            self.0.len() - 1
        }) as u64;
    }
}

/// A hash of what a node's future depends on. 64 bits: among a million states two are taken for one with a chance of
/// one in 37 million.
///
/// New parts of a state take part by themselves, since the whole of it is printed. A part that holds numbers of
/// events and is not renamed here only costs time: some states are then looked at several times.
pub(crate) fn canon(scenario: &Scenario, node: &Node) -> u64 {
    let state = bare(scenario, &node.state);
    let mut names = Names::default();
    let state = renamed(state, &mut names);
    let work: BTreeMap<u64, &ActionKind> = node
        .begun
        .iter()
        .map(|(&ActionId { mut seq, .. }, work)| {
            names.rename(&mut seq);
            (seq, work)
        })
        .collect();
    let mut hash = DefaultHasher::new();
    let tools = scenario.tools.iter().position(|tools| Arc::ptr_eq(tools, node.state.toolbox.all()));
    format!("{state:?} {work:?} {tools:?} {:?} {:?} {}", node.monitor, node.left, node.now).hash(&mut hash);
    hash.finish()
}

/// The state without what never changes in a scenario: printing that takes most of the time.
fn bare(scenario: &Scenario, state: &State) -> State {
    let mut bare = State { version: 0, ..state.clone() };
    let empty = State::new(state.run);
    let policy = bare.setup.policy().clone();
    bare.setup = empty.setup;
    if !Arc::ptr_eq(&policy, &scenario.policy) {
        bare.setup.governed_by(policy);
    }
    bare.toolbox = bare.toolbox.bare();
    bare
}

fn renamed(mut state: State, names: &mut Names) -> State {
    match &mut state.phase {
        Phase::Acting(calls) => {
            for call in calls {
                call.renumber(|seq| names.rename(seq));
            }
        }
        Phase::Stepping { seq } => names.rename(seq),
        Phase::New | Phase::Between | Phase::Asking | Phase::Ended(_) => {}
    }
    state.model_calls.iter_mut().for_each(|model_call| model_call.renumber(|seq| names.rename(seq)));
    state.questions = state.questions.renumbered(|seq| names.rename(seq));
    state.ending = state.ending.renumbered(|seq| names.rename(seq));
    // Without a limit on stalls nothing follows from when something came last.
    let counts_progress = state.setup.policy().limit(LimitKind::StallSeconds).is_some();
    state.clock = state.clock.renumbered(|seq| names.rename(seq), counts_progress);
    if state.setup.policy().past.context.compact == crate::policy::context::Compact::Off {
        // Without a budget nothing follows from the size of requests.
        state.conversation.track(|tracker| *tracker = ContextTracker::default());
    }
    state
}
