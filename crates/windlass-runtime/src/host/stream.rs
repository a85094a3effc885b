//! Runs in the background.

use windlass_store::StoreError;

use crate::driver::handle::RunHandle;
use crate::driver::run::Run;
use crate::driver::updates::{Update, Updates};
use crate::platform::error::Error;
use crate::work::prepared::Prepared;

/// A run in the background with its updates.
#[derive(Debug)]
pub struct RunStream {
    updates: Updates,
    handle: RunHandle,
    task: tokio::task::JoinHandle<Result<Run, Error>>,
}

impl RunStream {
    pub(super) fn spawn(prepared: Prepared) -> Self {
        let (updates, handle) = (prepared.updates(), prepared.handle());
        Self { updates, handle, task: tokio::spawn(prepared.drive()) }
    }

    /// The next update; `None` once the run has ended or is suspended.
    pub async fn next(&mut self) -> Option<Update> {
        self.updates.next().await
    }

    /// A handle to reach the run.
    pub fn handle(&self) -> RunHandle {
        self.handle.clone()
    }

    /// Waits for the driver and returns the run in its final or suspended state.
    ///
    /// # Errors
    /// The log failed, or another process took the run over.
    pub async fn finish(self) -> Result<Run, Error> {
        drop(self.updates);
        drop(self.handle);
        match self.task.await {
            Ok(run) => run,
            Err(stopped) => Err(Error::Log(StoreError::Failed(Box::new(stopped)))),
        }
    }
}
