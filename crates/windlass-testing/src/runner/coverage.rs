//! Coverage of scripted conversations: inputs by state, and the resulting events.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::run::StateKind;
use windlass_core::run::rebuild;
use windlass_core::{Fact, State, evolve};

use super::outcome::Outcome;

/// For each kind of state and of input that met: the kinds of facts that followed, over all appends.
pub type Visited = BTreeMap<(StateKind, &'static str), BTreeSet<&'static str>>;

/// Takes note of all appends of a pass.
pub(super) fn note(visited: &mut Visited, outcome: &Outcome) {
    let mut base: Option<&State> = None;
    for run in &outcome.runs {
        let id = run.state.run();
        let mut state = base.map_or_else(|| State::new(id), |base| State::on_base(id, base));
        for batch in &run.batches {
            if let Some(input) = rebuild(&state, &batch.cause, &batch.events) {
                let followed = visited.entry((state.kind(), input.what.kind())).or_default();
                followed.extend(batch.events.iter().map(|event| Fact::kind(&event.fact)));
            }
            state = batch.events.iter().fold(state, evolve);
        }
        base = Some(&run.state);
    }
}
