//! Long work of a run on large input, away from the thread that drives it.
//!
//! What is done so: input masked and decided on, requests and the pieces of replies ([`ModelWork`](crate::asking::ModelWork)),
//! arguments read, tasks and starts of runs made. Small input stays where it is.

use windlass_core::event::Millis;
use windlass_core::run::Accepted;
use windlass_core::{ActionId, Input, InputKind, InvalidInput, State, accept, decide};
use windlass_threads::LARGE_BYTES;

use crate::agent::Agent;
use crate::environment::Environment;
use crate::error::Error;
use crate::hooks::OutputChecks;

/// Does some work on so many bytes of input, on another thread if that is much and the environment has any.
pub(crate) async fn off_thread<T: Send + 'static>(
    environment: &dyn Environment,
    bytes: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if environment.has_threads() { windlass_threads::off_thread(bytes, work).await } else { work() }
}

/// The result of an input, and the model call that it replies to.
pub(crate) type Decided = (Option<ActionId>, Result<Accepted, InvalidInput>);

/// Decides on an input. The agent's own checks look at the output of a reply.
pub(crate) async fn decided(agent: &Agent, state: &State, at: Millis, what: InputKind) -> Decided {
    let heft = state.heft_of(&what);
    if heft < LARGE_BYTES || !agent.environment().has_threads() {
        return decided_here(state, agent.checks(), at, what);
    }
    let (state, checks) = (state.clone(), agent.checks().clone());
    // What a program checks may wait for anything.
    let waits = !checks.is_empty();
    let work = move || decided_here(&state, &checks, at, what);
    if waits {
        Box::pin(windlass_threads::off_thread_freely(heft, work)).await
    } else {
        Box::pin(windlass_threads::off_thread(heft, work)).await
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
    let heft = state.heft_of(&what);
    let accepted = off_thread(environment, heft, move || accept(&state, Input { at, what }).map(drop)).await;
    accepted.map_err(Error::Refused)
}
