//! Decisions of the core on an input, on another thread where the input is large.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use windlass_core::event::Millis;
use windlass_core::run::{Advance, Refusal, advance};
use windlass_core::{ActionId, Input, InputKind, State, accept};
use windlass_read::load_until;
use windlass_threads::LARGE_BYTES;

use crate::agent::Agent;
use crate::agent::hooks::OutputChecks;
use crate::driver::Driver;
use crate::driver::work::Work;
use crate::platform::environment::Environment;
use crate::platform::error::Error;
use crate::platform::off_thread::off_thread;

/// The result of an input, and the model call that it replies to.
pub(crate) type Decided = (Option<ActionId>, Result<Advance, Refusal>);

/// Whether an input takes its time to be decided on ([`decided`]). On a short one, [`decided_here`] decides.
pub(crate) fn is_long(agent: &Agent, state: &State, what: &InputKind) -> bool {
    state.work_bytes(what) >= LARGE_BYTES && agent.environment().has_threads()
}

/// Decides on a long input, as [`decided_here`], on another thread.
pub(crate) async fn decided(agent: &Agent, state: &mut Arc<State>, at: Millis, what: InputKind) -> Decided {
    let size = state.work_bytes(&what);
    let (mut changed, checks) = (state.clone(), agent.checks().clone());
    // What a program checks may wait for anything.
    let waits = !checks.is_empty();
    let work = move || {
        let decided = decided_here(&mut changed, &checks, at, what);
        (decided, changed)
    };
    let decided;
    (decided, *state) = if waits {
        windlass_threads::off_thread_freely(size, work).await
    } else {
        windlass_threads::off_thread(size, work).await
    };
    decided
}

/// Decides on an input, which changes the state. The agent's own checks look at the output of a reply.
pub(crate) fn decided_here(
    state: &mut Arc<State>,
    checks: &OutputChecks,
    at: Millis,
    what: InputKind,
) -> Decided {
    let what = checks.look_at(state, at, what);
    let replied =
        if let InputKind::Replied { action, objection: None, .. } = what { Some(action) } else { None };
    (replied, advance(state, Input { at, what }))
}

impl<W: Work> Driver<W> {
    /// The run's state after its first `version` events, from the log: the driver's own has changed in place.
    ///
    /// Boxed, because it hardly ever happens.
    pub(super) fn read_state(&self, version: u64) -> BoxFuture<'static, Result<Arc<State>, Error>> {
        let (log, run) = (self.agent.log().clone(), self.state.run());
        Box::pin(async move { Ok(Arc::new(load_until(&*log, run, version).await?)) })
    }
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
