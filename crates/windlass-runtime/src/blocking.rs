//! Runs for callers that are not async.

use std::panic::resume_unwind;
use std::thread;

use crate::agent::Agent;
use crate::error::Error;
use crate::input::RunMessages;
use crate::run::Run;

impl Agent {
    /// [`run`](Self::run) for code that is not async; it may also be called within a runtime, whose thread it then keeps (acorn's
    /// `m.run()`). The run has a thread and a runtime of its own, so an agent with MCP servers needs more threads than the one
    /// that waits here: their connections live in the runtime that made them.
    ///
    /// # Errors
    /// The log failed, or the system gives no thread. How the run ended is in its status.
    pub fn run_blocking(&self, input: impl Into<RunMessages>) -> Result<Run, Error> {
        let input = input.into();
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|source| Error::NoThread { source })?.block_on(self.run(input))
        };
        thread::scope(|scope| {
            let started = thread::Builder::new().name("windlass run".to_owned()).spawn_scoped(scope, run);
            let running = started.map_err(|source| Error::NoThread { source })?;
            running.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }
}
