//! Serving: listening, taking up due runs, and the end of a server.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_error::in_full;
use windlass_runtime::host::{Outcome, Report};

use crate::error::Error;
use crate::http::admission::app;
use crate::http::connections::Connections;
use crate::http::listening::Listeners;
use crate::http::server::Server;
use crate::settings::Settings;

/// The rest before a supervisor that failed looks again.
const SUPERVISOR_REST: Duration = Duration::from_millis(500);
/// How long a supervisor goes on after a failure until it counts as working.
const WORKS_AGAIN: Duration = Duration::from_millis(1_500);

/// A server that listens.
#[derive(Debug)]
#[must_use = "it serves nobody until `run`"]
pub struct Listening {
    server: Server,
    listeners: Listeners,
    connections: Connections,
    socket: Option<PathBuf>,
}

impl Server {
    /// Listens as its settings say.
    ///
    /// # Errors
    /// An address or socket cannot be listened on.
    pub async fn listen(&self) -> Result<Listening, Error> {
        self.settings().check()?;
        let Settings { listen, socket, .. } = self.settings();
        let listeners = Listeners::bind(listen, socket.as_deref()).await?;
        let connections = Connections::new(self, app(self, crate::routes()));
        Ok(Listening { server: self.clone(), listeners, connections, socket: socket.clone() })
    }

    fn reported(&self, report: &Report) {
        let run = report.run;
        match &report.outcome {
            Outcome::Driven(driven) => {
                tracing::info!(%run, state = %driven.run_state(), "a run was taken up");
            }
            Outcome::GivenUp(lost) => {
                tracing::warn!(%run, attempts = lost.attempts, "a run is given up: its model call was lost too often");
                self.given_up().given_up(run);
            }
            Outcome::Failed(error) => tracing::error!(%run, "a run is not taken up: {}", in_full(error)),
        }
    }

    /// Takes up due runs until the server ends. A log that fails is tried again.
    async fn supervise(&self) {
        while !self.closing().is_cancelled() {
            let supervised = self.host().supervise(self.closing(), |report| {
                self.reported(&report);
                Ok::<_, windlass_runtime::Error>(())
            });
            tokio::pin!(supervised);
            let ended = loop {
                tokio::select! {
                    ended = &mut supervised => break ended,
                    // It has gone on for as long as it takes to look twice.
                    () = tokio::time::sleep(WORKS_AGAIN), if self.supervisor_fault().is_some() => {
                        self.set_supervisor_fault(None);
                    }
                }
            };
            if let Err(error) = ended {
                let fault = in_full(&error);
                tracing::error!("due runs are not taken up: {fault}");
                self.set_supervisor_fault(Some(fault));
                tokio::time::sleep(SUPERVISOR_REST).await;
            }
        }
    }
}

impl Listening {
    /// The addresses, as the system gave them.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.addresses()
    }

    /// Serves until `stop` is cancelled. Then nothing more is begun, runs are left at a durable point, readers are told where to come
    /// back, and connections end, all within the grace of the settings. Its listeners are closed when it returns: another server may
    /// listen at their addresses.
    pub async fn run(self, stop: CancellationToken) {
        let Self { server, listeners, connections, socket } = self;
        let supervisor = tokio::spawn({
            let server = server.clone();
            async move { server.supervise().await }
        });
        let serving = tokio::spawn({
            let (server, connections) = (server.clone(), connections.clone());
            async move { listeners.serve(&server, &connections).await }
        });
        stop.cancelled().await;
        let grace = Duration::from_millis(server.settings().grace_ms);
        let parked = tokio::time::timeout(grace, server.host().close()).await;
        if parked.is_err() {
            tracing::warn!(
                "runs were left in the midst of a step: they did not come to a durable point within {grace:?}"
            );
        }
        server.closing().cancel();
        if let Err(error) = serving.await {
            tracing::error!("connections were not taken to the end: {error}");
        }
        // The last words of streams and replies are on their way.
        let _ended = tokio::time::timeout(grace, connections.ended()).await;
        let _supervised = tokio::time::timeout(grace, supervisor).await;
        if let Some(path) = socket {
            // Whoever comes next may have taken it away already.
            let _removed = std::fs::remove_file(path);
        }
    }
}
