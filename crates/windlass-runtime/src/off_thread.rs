//! Long work of a run on large input, away from the thread that drives it.
//!
//! What is done so: input masked and decided on ([`Driver`](crate::driver::Driver)), requests and the pieces of replies
//! ([`ModelWork`](crate::asking::ModelWork)), arguments read, tasks and starts of runs made. Small input stays where it is.

use windlass_core::{Input, Millis, State, Violation, What, accept};

use crate::error::Error;
use crate::world::World;

/// Does some work on so many bytes of input, on another thread if that is much and the world has any.
pub(crate) async fn off_thread<T: Send + 'static>(
    world: &dyn World,
    bytes: u64,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if world.has_threads() { windlass_threads::off_thread(bytes, work).await } else { work() }
}

/// Whether an input fits a run as it stands.
///
/// # Errors
/// It does not.
pub(crate) async fn fits(world: &dyn World, state: State, at: Millis, what: What) -> Result<(), Error> {
    let heft = state.heft_of(&what);
    let accepted = off_thread(world, heft, move || accept(&state, Input { at, what }).map(drop)).await;
    accepted.map_err(|violation: Violation| Error::Refused(violation))
}
