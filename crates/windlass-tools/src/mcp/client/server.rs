//! Owns a server over its whole life: the connection of the moment, when to make a new one, and the end.

mod follow;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};
use tokio_util::sync::CancellationToken;

use super::catalog::Catalog;
use super::error::McpError;
use super::handshake;
use super::link::Link;
use super::mask::Mask;
use super::tool::Remote;
use crate::binding::Bound;
use crate::mcp::config::{Lifecycle, McpConfig, Restart};
use crate::tool::Tool;
use crate::warning::ToolWarning;
use follow::follow;

/// An MCP server that is in use. Dropping it kills its process group at once and fails the calls that are going
/// on; [`close`](Self::close) gives it time to end by itself.
pub struct McpServer {
    shared: Arc<Shared>,
}

impl McpServer {
    /// Starts the server or connects to it, and reads its list of tools. Dropping the future kills what was started.
    ///
    /// # Errors
    /// The config makes no sense; the command is not installed, ends or is too slow; the URL cannot be reached or
    /// refuses; the server breaks the protocol; or two of its tools would have one name.
    pub async fn connect(config: McpConfig) -> Result<Self, McpError> {
        let server = Self { shared: Arc::new(Shared::new(config)) };
        // The handshake's future is large.
        Box::pin(server.shared.start()).await?;
        Ok(server)
    }

    /// The same for a server that an agent can do without: one that cannot be used now offers no tools until a later
    /// start succeeds, which [`seek`](Self::seek) tries. The error says why it is absent.
    pub async fn connect_or_absent(config: McpConfig) -> (Self, Option<McpError>) {
        let server = Self { shared: Arc::new(Shared::new(config)) };
        let absent = Box::pin(server.shared.start()).await.err();
        (server, absent)
    }

    /// Looks in the background for a server that offers nothing and is not connected, once the wait after its last
    /// failure is over. If it is found, [`changes`](Self::changes) fires. Needs a Tokio runtime; without one nothing
    /// happens.
    pub fn seek(&self) {
        let there = self.is_alive() || !self.shared.catalog().tools.is_empty();
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        // The holder of the gate is already starting it.
        if there || self.shared.gate.try_lock().is_err() {
            return;
        }
        let shared = self.shared.clone();
        runtime.spawn(async move {
            if let Err(error) = shared.link().await {
                tracing::debug!(server = shared.config.name, %error, "an optional tool server is still unavailable");
            }
        });
    }

    /// The server's name in the config.
    pub fn name(&self) -> &str {
        &self.shared.config.name
    }

    /// Binding of its tools, whichever they are: the identity of the server and the settings for its tools.
    pub fn binding(&self) -> Vec<Bound> {
        self.shared.config.binding()
    }

    /// The tools that it offers now, in its order, named `{prefix}__{tool}`. They do not keep the server alive.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let catalog = self.shared.catalog();
        catalog.tools.iter().map(|tool| Arc::clone(tool) as Arc<dyn Tool>).collect()
    }

    /// Warnings about the tools that it lists now: the ones that are left out or only partly checked, and why.
    pub fn warnings(&self) -> Vec<ToolWarning> {
        self.shared.catalog().warnings.clone()
    }

    /// Fires when [`tools`](Self::tools) gives other tools than before: the server said that its list changed,
    /// or was started again with another one. The value counts the changes.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    /// Whether there is an unbroken connection now. Without one, the next call makes a new one.
    pub fn is_alive(&self) -> bool {
        self.shared.state().link.as_ref().is_some_and(|link| link.is_alive())
    }

    /// The protocol that the server speaks: never [`Lifecycle::Auto`] after a connect. In the next config of the same server it
    /// saves the probe.
    pub fn lifecycle(&self) -> Lifecycle {
        self.shared.state().lifecycle
    }

    /// The server's instructions, if any (MCP 2025-11-25, `InitializeResult.instructions`).
    pub fn instructions(&self) -> Option<String> {
        let link = self.shared.state().link.clone()?;
        link.peer().peer_info()?.instructions.clone()
    }

    /// Ends the server: stdin is closed, its process group gets SIGTERM, and SIGKILL after 2 s; an HTTP session is
    /// deleted. Calls that are going on fail. A later call fails too. Closing twice does no harm.
    pub async fn close(&self) {
        if let Some(link) = self.shared.shut() {
            link.close().await;
        }
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        if let Some(link) = self.shared.shut() {
            link.kill();
        }
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer").field("config", &self.shared.config).finish_non_exhaustive()
    }
}

/// Shared state of the handle, its tools' calls and its background tasks.
pub(super) struct Shared {
    pub(super) config: McpConfig,
    pub(super) mask: Mask,
    /// Cancelled when the server is closed.
    pub(super) closed: CancellationToken,
    catalog: Mutex<Arc<Catalog>>,
    changes: watch::Sender<u64>,
    state: Mutex<State>,
    /// Locked during a start of the server.
    gate: tokio::sync::Mutex<()>,
}

struct State {
    link: Option<Arc<Link>>,
    lifecycle: Lifecycle,
    closed: bool,
    /// Failures in a row.
    failures: u32,
    /// When and how the last one was.
    last: Option<(Instant, String)>,
    /// Number of starts tried.
    starts: u64,
}

impl Shared {
    fn new(config: McpConfig) -> Self {
        let lifecycle = config.lifecycle;
        let state = State { link: None, lifecycle, closed: false, failures: 0, last: None, starts: 0 };
        Self {
            mask: Mask::of(&config),
            config,
            closed: CancellationToken::new(),
            catalog: Mutex::default(),
            changes: watch::Sender::new(0),
            state: Mutex::new(state),
            gate: tokio::sync::Mutex::default(),
        }
    }

    /// The connection of the moment; a dead one is replaced, after the wait that its failures ask for.
    ///
    /// # Errors
    /// The server was closed, cannot be started, or failed too often in a row.
    pub(super) async fn link(self: &Arc<Self>) -> Result<Arc<Link>, McpError> {
        if let Some(link) = self.living()? {
            return Ok(link);
        }
        let (shared, seen) = (self.clone(), self.state().starts);
        // A task of its own: a start goes on when the call that wanted it is given up, so that a slow server with
        // impatient callers gets ready some time.
        let start = tokio::spawn(async move {
            let closed = shared.closed.clone();
            tokio::select! {
                biased;
                () = closed.cancelled() => Err(shared.closed_error()),
                started = shared.restart(seen) => started,
            }
        });
        start.await.unwrap_or_else(|_| Err(self.closed_error()))
    }

    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes a list of tools over, and tells who waits for changes. Schemas are compiled on a thread for blocking work.
    ///
    /// # Errors
    /// The server was closed.
    pub(super) async fn adopt(self: &Arc<Self>, listed: Vec<rmcp::model::Tool>) -> Result<(), McpError> {
        let (shared, before) = (self.clone(), self.catalog());
        let made = move || {
            let server: Weak<dyn Remote> = Arc::downgrade(&shared) as _;
            Catalog::new(&shared.config, listed, &before, &server)
        };
        let next = tokio::task::spawn_blocking(made).await.map_err(|_| self.closed_error())?;
        let mut catalog = self.catalog.lock().unwrap_or_else(PoisonError::into_inner);
        if !next.is_as(&catalog) {
            *catalog = Arc::new(next);
            drop(catalog);
            self.changes.send_modify(|changes| *changes += 1);
        }
        Ok(())
    }

    /// Whether this is the connection of the moment.
    pub(super) fn holds(&self, link: &Arc<Link>) -> bool {
        self.state().link.as_ref().is_some_and(|current| Arc::ptr_eq(current, link))
    }

    pub(super) fn closed_error(&self) -> McpError {
        McpError::Closed { server: self.config.name.clone() }
    }

    /// How it failed last, if it is not connected.
    pub(super) fn last_failure(&self) -> Option<String> {
        let state = self.state();
        if state.link.is_some() { None } else { state.last.as_ref().map(|(_, why)| why.clone()) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes it for good and gives the connection back, for its end.
    fn shut(&self) -> Option<Arc<Link>> {
        let link = {
            let mut state = self.state();
            state.closed = true;
            state.link.take()
        };
        self.closed.cancel();
        link
    }

    /// The connection, if it is alive. One that died is put aside and counted.
    fn living(&self) -> Result<Option<Arc<Link>>, McpError> {
        let mut state = self.state();
        if state.closed {
            return Err(self.closed_error());
        }
        match state.link.take() {
            Some(link) if link.is_alive() => {
                state.link = Some(link.clone());
                Ok(Some(link))
            }
            Some(link) => {
                if link.has_served() {
                    state.failures = 0;
                }
                state.fail(link.ended_at().unwrap_or_else(Instant::now), self.mask.hide(&link.end()));
                if link.is_process() {
                    link.kill();
                }
                Ok(None)
            }
            None => Ok(None),
        }
    }

    /// Starts the server again when it is its turn. Who waited while another's start failed takes that failure, so
    /// that many calls at once do not each wait for a start of their own.
    async fn restart(self: &Arc<Self>, seen: u64) -> Result<Arc<Link>, McpError> {
        let _gate = self.gate.lock().await;
        if let Some(link) = self.living()? {
            return Ok(link);
        }
        let wait = {
            let state = self.state();
            state.turn(self.config.restart).filter(|_| state.starts == seen).ok_or_else(|| {
                let last = state.last.as_ref().map(|(_, why)| why.clone()).unwrap_or_default();
                McpError::GaveUp { server: self.config.name.clone(), failures: state.failures, last }
            })?
        };
        sleep(wait).await;
        self.start().await
    }

    /// Makes a connection and reads the list of tools.
    async fn start(self: &Arc<Self>) -> Result<Arc<Link>, McpError> {
        let lifecycle = {
            let mut state = self.state();
            state.starts += 1;
            state.lifecycle
        };
        let opened = self.open(lifecycle).await;
        let mut state = self.state();
        match opened {
            Ok(_) if state.closed => Err(self.closed_error()),
            Ok(link) => {
                state.lifecycle = link.lifecycle();
                state.link = Some(link.clone());
                drop(state);
                follow(self, &link);
                Ok(link)
            }
            Err(error) => {
                state.lifecycle = self.config.lifecycle;
                state.fail(Instant::now(), error.to_string());
                Err(error)
            }
        }
    }

    async fn open(self: &Arc<Self>, lifecycle: Lifecycle) -> Result<Arc<Link>, McpError> {
        let deadline = Instant::now() + Duration::from_millis(self.config.start_ms);
        let link = handshake::open(&self.config, &self.mask, lifecycle, deadline).await?;
        let Ok(listed) = timeout_at(deadline, link.list(&self.config, &self.mask)).await else {
            return Err(link.slow(&self.config, &self.mask).await);
        };
        self.adopt(listed?).await?;
        Ok(Arc::new(link))
    }
}

impl State {
    fn fail(&mut self, at: Instant, why: String) {
        self.failures = self.failures.saturating_add(1);
        self.last = Some((at, why));
    }

    /// Delay before the next start; `None`: no start now.
    fn turn(&self, restart: Restart) -> Option<Duration> {
        let Some((at, _)) = &self.last else { return Some(Duration::ZERO) };
        let max = Duration::from_millis(restart.max_ms);
        let since = at.elapsed();
        if self.failures >= restart.tries.max(1) {
            return (since >= max).then_some(Duration::ZERO);
        }
        let doublings = self.failures.saturating_sub(1).min(u64::BITS - 1);
        let wait = Duration::from_millis(restart.first_ms.saturating_mul(1 << doublings)).min(max);
        Some(wait.saturating_sub(since))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("config", &self.config).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
