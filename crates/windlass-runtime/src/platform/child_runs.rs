//! The ids of child runs.

use windlass_core::{RunId, State};

/// The run that sums a branch up.
pub(crate) fn summary_of(branch: RunId) -> RunId {
    branch.derived("summary")
}

/// The child runs of a run. A branch is summed up in a run of its own, once it has ended.
pub(crate) fn child_runs(state: &State) -> impl Iterator<Item = RunId> {
    state.delegated_runs().flat_map(|child| [child, summary_of(child)])
}
