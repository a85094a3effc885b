//! Long work of a run on large input, away from the thread that drives it.
//!
//! What is done so: input masked and decided on, requests and the pieces of replies ([`ModelWork`](crate::asking::ModelWork)),
//! arguments read, tasks and starts of runs made. Small input stays where it is.

use windlass_core::{ActionId, Event, Input, Millis, State, Violation, What, accept, decide};
use windlass_threads::LARGE_BYTES;

use crate::agent::Agent;
use crate::error::Error;
use crate::hooks::OutputChecks;
use crate::world::World;

/// Does some work on so many bytes of input, on another thread if that is much and the world has any.
pub(crate) async fn off_thread<T: Send + 'static>(
    world: &dyn World,
    bytes: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if world.has_threads() { windlass_threads::off_thread(bytes, work).await } else { work() }
}

/// The facts that follow from an input with the state after them, and the model call whose reply it is.
pub(crate) type Decided = (Option<ActionId>, Result<(Vec<Event>, State), Violation>);

/// Which facts follow from an input. The agent's own checks look at the output of a reply.
pub(crate) async fn decided(agent: &Agent, state: &State, at: Millis, what: What) -> Decided {
    let heft = state.heft_of(&what);
    if heft < LARGE_BYTES || !agent.world().has_threads() {
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

fn decided_here(state: &State, checks: &OutputChecks, at: Millis, what: What) -> Decided {
    let what = checks.look_at(state, at, what);
    let replied = if let What::Replied { action, .. } = what { Some(action) } else { None };
    (replied, decide(state, Input { at, what }))
}

/// Whether an input fits a run as it stands.
///
/// # Errors
/// It does not.
pub(crate) async fn fits(world: &dyn World, state: State, at: Millis, what: What) -> Result<(), Error> {
    let heft = state.heft_of(&what);
    let accepted = off_thread(world, heft, move || accept(&state, Input { at, what }).map(drop)).await;
    accepted.map_err(Error::Refused)
}
