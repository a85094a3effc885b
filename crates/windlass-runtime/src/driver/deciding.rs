//! Decisions of the core on an input, on another thread where the input is large.

use windlass_core::event::Millis;
use windlass_core::run::Accepted;
use windlass_core::{ActionId, Input, InputKind, InvalidInput, State, accept, decide};
use windlass_threads::LARGE_BYTES;

use crate::agent::Agent;
use crate::agent::hooks::OutputChecks;
use crate::platform::environment::Environment;
use crate::platform::error::Error;
use crate::platform::off_thread::off_thread;

/// The result of an input, and the model call that it replies to.
pub(crate) type Decided = (Option<ActionId>, Result<Accepted, InvalidInput>);

/// Decides on an input. The agent's own checks look at the output of a reply.
pub(crate) async fn decided(agent: &Agent, state: &State, at: Millis, what: InputKind) -> Decided {
    let size = state.work_bytes(&what);
    if size < LARGE_BYTES || !agent.environment().has_threads() {
        return decided_here(state, agent.checks(), at, what);
    }
    let (state, checks) = (state.clone(), agent.checks().clone());
    // What a program checks may wait for anything.
    let waits = !checks.is_empty();
    let work = move || decided_here(&state, &checks, at, what);
    if waits {
        Box::pin(windlass_threads::off_thread_freely(size, work)).await
    } else {
        Box::pin(windlass_threads::off_thread(size, work)).await
    }
}

fn decided_here(state: &State, checks: &OutputChecks, at: Millis, what: InputKind) -> Decided {
    let what = checks.look_at(state, at, what);
    let replied =
        if let InputKind::Replied { action, objection: None, .. } = what { Some(action) } else { None };
    (replied, decide(state, Input { at, what }))
}

/// Whether an input is valid in the run's current state.
///
/// # Errors
/// It does not.
pub(crate) async fn fits(
    environment: &dyn Environment,
    state: State,
    at: Millis,
    what: InputKind,
) -> Result<(), Error> {
    let size = state.work_bytes(&what);
    let accepted = off_thread(environment, size, move || accept(&state, Input { at, what }).map(drop)).await;
    accepted.map_err(Error::Refused)
}
