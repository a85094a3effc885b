//! Ctrl-C.

use std::future::Future;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::failure::{Exit, Failure};

/// Listens for Ctrl-C (SIGINT), from here on to the end of the process.
#[derive(Debug)]
pub(crate) struct Interrupts(Signal);

impl Interrupts {
    pub(crate) fn listen() -> Result<Self, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(Exit::Internal, "cannot listen for Ctrl-C").cause(error.to_string())
        };
        signal(SignalKind::interrupt()).map(Self).map_err(failed)
    }

    /// Ends at the next Ctrl-C.
    pub(crate) async fn next(&mut self) {
        // `None` would mean that no signal can come any more.
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Does this unless Ctrl-C comes first: for what is done before there is a run.
    pub(crate) async fn or<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Failure> {
        tokio::select! {
            done = work => Ok(done),
            () = self.next() => Err(Failure::new(Exit::Cancelled, "cancelled")),
        }
    }
}
