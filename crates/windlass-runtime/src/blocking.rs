//! Runs for callers that are not async.

use std::panic::resume_unwind;
use std::thread;

use crate::agent::Agent;
use crate::error::Error;
use crate::input::RunMessages;
use crate::run::Run;

impl Agent {
    /// [`run`](Self::run) for synchronous code; inside a runtime it blocks the current thread (acorn's `m.run()`). The run gets
    /// its own thread and runtime. An agent with MCP servers therefore needs a multi-threaded runtime: its connections belong
    /// to the runtime that made them.
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
            let started = thread::Builder::new().name("windlass-run".to_owned()).spawn_scoped(scope, run);
            let running = started.map_err(|source| Error::NoThread { source })?;
            running.join().unwrap_or_else(|panic| resume_unwind(panic))
        })
    }
}
