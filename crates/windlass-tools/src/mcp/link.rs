//! Owns one connection to a server, from the handshake to its end. A server that is started again gets a new one.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, PaginatedRequestParams, ProtocolVersion, Tool as ServerTool,
};
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, RunningService, ServiceError,
    serve_client_with_lifecycle_and_ct,
};
use rmcp::transport::Transport;
use rmcp::{Peer, RoleClient};
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::config::{Lifecycle, McpConfig, McpTransport};
use super::error::McpError;
use super::handler::Handler;
use super::http;
use super::process::{ChildGroup, DRAIN};
use super::secret::{Mask, shown_url};
use super::stdio::{Fault, StdioTransport};

/// How long a server at a URL may be silent to the probe before it gets `initialize` on a new connection; rmcp itself
/// waits for 10 s and then speaks on the same one, which does not help if the first request is stuck.
const PROBE_LIMIT: Duration = Duration::from_secs(12);

/// How long a server has to end by itself when it is closed.
const GRACE: Duration = Duration::from_secs(2);

/// How many pages a list of tools may have.
const MAX_PAGES: usize = 100;

/// How many tools a server may offer.
const MAX_TOOLS: usize = 1_000;

/// How much of what a server said is quoted, in characters.
const QUOTED_CHARS: usize = 500;

/// One connection. Dropping it kills the server's process group, or ends the HTTP session.
pub(super) struct Link {
    peer: Peer<RoleClient>,
    /// Kept for the close; its drop ends the connection.
    service: Mutex<Option<RunningService<RoleClient, Handler>>>,
    process: Option<ChildGroup>,
    fault: Fault,
    /// Ends the connection, and what follows it.
    over: CancellationToken,
    changed: Arc<Notify>,
    served: AtomicBool,
    given_up: OnceLock<Instant>,
}

impl Link {
    /// Starts the server, or connects to it, and shakes hands.
    ///
    /// # Errors
    /// It cannot be started or reached, refuses, breaks the protocol, or is not ready at the deadline.
    pub(super) async fn open(
        config: &McpConfig,
        mask: &Mask,
        lifecycle: Lifecycle,
        deadline: Instant,
    ) -> Result<Self, McpError> {
        let is_probe = lifecycle == Lifecycle::Auto;
        let is_http = matches!(config.transport, McpTransport::Http { .. });
        let first = if is_probe && is_http { deadline.min(Instant::now() + PROBE_LIMIT) } else { deadline };
        match Self::begin(config, mask, lifecycle, first).await {
            // Some old servers do not survive a request before `initialize`.
            Err(error) if is_probe && may_be_the_probe(&error) && Instant::now() < deadline => {
                Self::begin(config, mask, Lifecycle::Initialize, deadline).await
            }
            result => result,
        }
    }

    /// What the server turned out to speak.
    pub(super) fn lifecycle(&self) -> Lifecycle {
        match self.peer.peer_info() {
            Some(info) if !info.protocol_version.has_initialize() => Lifecycle::Discover,
            _ => Lifecycle::Initialize,
        }
    }

    pub(super) fn peer(&self) -> &Peer<RoleClient> {
        &self.peer
    }

    pub(super) fn over(&self) -> &CancellationToken {
        &self.over
    }

    pub(super) fn changed(&self) -> &Arc<Notify> {
        &self.changed
    }

    /// Whether calls can be made.
    pub(super) fn is_alive(&self) -> bool {
        self.given_up.get().is_none()
            && !self.peer.is_transport_closed()
            && self.process.as_ref().is_none_or(|process| process.exit().is_none())
    }

    /// Whether a call was ever answered.
    pub(super) fn has_served(&self) -> bool {
        self.served.load(Ordering::Relaxed)
    }

    /// When the connection ended, if that is known.
    pub(super) fn ended_at(&self) -> Option<Instant> {
        let exit = self.process.as_ref().and_then(ChildGroup::exit).map(|exit| exit.at);
        exit.or_else(|| self.given_up.get().copied())
    }

    /// Calls a tool once. Dropping the future tells the server that the call is cancelled.
    pub(super) async fn call(&self, params: CallToolRequestParams) -> Result<CallToolResponse, ServiceError> {
        let answer = self.peer.call_tool_once(params).await;
        match &answer {
            Ok(_) | Err(ServiceError::McpError(_)) => self.served.store(true, Ordering::Relaxed),
            Err(ServiceError::TransportSend(_) | ServiceError::TransportClosed) => self.give_up(),
            Err(_) => {}
        }
        answer
    }

    /// The server's tools, from all pages.
    ///
    /// # Errors
    /// The connection or the protocol is broken, or there are too many tools.
    pub(super) async fn list(&self, config: &McpConfig, mask: &Mask) -> Result<Vec<ServerTool>, McpError> {
        let broken =
            |what: String| McpError::Protocol { server: config.name.clone(), what: mask.hide(&what) };
        if self.peer.peer_info().is_some_and(|info| info.capabilities.tools.is_none()) {
            return Ok(Vec::new());
        }
        let mut tools = Vec::new();
        let (mut cursor, mut seen) = (None, HashSet::new());
        for _ in 0..MAX_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = match self.peer.list_tools(Some(page)).await {
                Ok(page) => page,
                Err(error) => return Err(self.explain(config, mask, &error).await),
            };
            tools.extend(page.tools);
            if tools.len() > MAX_TOOLS {
                return Err(broken(format!("it offers more than {MAX_TOOLS} tools")));
            }
            match page.next_cursor {
                Some(next) if seen.insert(next.clone()) => cursor = Some(next),
                Some(next) => return Err(broken(format!("its list of tools comes back to page `{next}`"))),
                None => return Ok(tools),
            }
        }
        Err(broken(format!("its list of tools has more than {MAX_PAGES} pages")))
    }

    /// Why a request failed, in terms of the server and not of the library.
    pub(super) async fn explain(&self, config: &McpConfig, mask: &Mask, error: &ServiceError) -> McpError {
        let is_broken = matches!(error, ServiceError::TransportSend(_) | ServiceError::TransportClosed);
        if is_broken && let Some(ended) = epitaph(config, mask, self.process.as_ref(), &self.fault).await {
            return ended;
        }
        let (server, what) = (config.name.clone(), quoted(mask, &error.to_string()));
        if let ServiceError::TransportSend(cause) = error
            && let Some(refusal) = http::diagnose(config, mask, cause)
        {
            return refusal;
        }
        match &config.transport {
            McpTransport::Http { url, .. } if is_broken => {
                let what = "the connection ended before the answer".to_owned();
                McpError::Unreachable { server, url: shown_url(url), what }
            }
            _ => McpError::Protocol { server, what },
        }
    }

    /// The error of a server that is not ready in time.
    pub(super) async fn slow(&self, config: &McpConfig, mask: &Mask) -> McpError {
        slow(config, mask, self.process.as_ref()).await
    }

    /// What to tell of this connection after its end.
    pub(super) fn end(&self) -> String {
        match (self.fault.get(), self.process.as_ref().and_then(ChildGroup::exit)) {
            (Some(fault), _) => fault.clone(),
            (None, Some(exit)) => format!("it ended ({})", exit.how),
            (None, None) => "the connection broke".to_owned(),
        }
    }

    /// No further call is made here. A process is killed; other calls over HTTP may still be answered.
    pub(super) fn give_up(&self) {
        let _ = self.given_up.set(Instant::now());
    }

    /// Kills the process group at once and ends the connection.
    pub(super) fn kill(&self) {
        self.over.cancel();
        if let Some(process) = &self.process {
            process.kill();
        }
    }

    /// Whether this is a child process.
    pub(super) fn is_process(&self) -> bool {
        self.process.is_some()
    }

    /// Ends the connection in good order: stdin is closed and the group told to end, or the HTTP session is deleted.
    pub(super) async fn close(&self) {
        if let Some(mut service) = self.service.lock().await.take() {
            let _ = service.close_with_timeout(GRACE).await;
        }
        if let Some(process) = &self.process {
            process.stop(GRACE).await;
        }
        self.over.cancel();
    }

    async fn begin(
        config: &McpConfig,
        mask: &Mask,
        lifecycle: Lifecycle,
        deadline: Instant,
    ) -> Result<Self, McpError> {
        let start = Start { config, mask, mode: mode(lifecycle), deadline, fault: Fault::default() };
        match &config.transport {
            McpTransport::Stdio { .. } => {
                let (process, pipes) = ChildGroup::spawn(config)?;
                let transport = StdioTransport::new(pipes, start.fault.clone());
                start.run(transport, Some(process)).await
            }
            McpTransport::Http { .. } => start.run(http::transport(config)?, None).await,
        }
    }
}

/// A handshake that is to be made.
struct Start<'a> {
    config: &'a McpConfig,
    mask: &'a Mask,
    mode: ClientLifecycleMode,
    deadline: Instant,
    fault: Fault,
}

impl Start<'_> {
    async fn run<T>(self, transport: T, process: Option<ChildGroup>) -> Result<Link, McpError>
    where
        T: Transport<RoleClient> + 'static,
    {
        let handler = Handler::default();
        let (over, changed) = (CancellationToken::new(), handler.changed.clone());
        let serving = serve_client_with_lifecycle_and_ct(handler, transport, self.mode.clone(), over.clone());
        let served = tokio::select! {
            served = serving => served.map_err(Some),
            () = dead(process.as_ref()) => Err(None),
            () = sleep_until(self.deadline) => return Err(slow(self.config, self.mask, process.as_ref()).await),
        };
        let service = match served {
            Ok(service) => service,
            Err(error) => return Err(self.explain(process.as_ref(), error).await),
        };
        service.set_response_cache_config(ClientCacheConfig::disabled()).await;
        let link = Link {
            peer: service.peer().clone(),
            service: Mutex::new(Some(service)),
            process,
            fault: self.fault,
            over,
            changed,
            served: AtomicBool::new(false),
            given_up: OnceLock::new(),
        };
        link.watch_process();
        Ok(link)
    }

    async fn explain(&self, process: Option<&ChildGroup>, error: Option<ClientInitializeError>) -> McpError {
        let error = error.as_ref().map(innermost);
        let is_broken = matches!(
            error,
            None | Some(
                ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }
            )
        );
        if is_broken && let Some(ended) = epitaph(self.config, self.mask, process, &self.fault).await {
            return ended;
        }
        if let Some(ClientInitializeError::TransportError { error, .. }) = error
            && let Some(refusal) = http::diagnose(self.config, self.mask, error)
        {
            return refusal;
        }
        let what = error.map_or_else(|| "it ended".to_owned(), ToString::to_string);
        McpError::Protocol { server: self.config.name.clone(), what: quoted(self.mask, &what) }
    }
}

impl Link {
    /// Ends the connection some time after the child: something that left its group may hold the pipe open.
    fn watch_process(&self) {
        let Some(process) = &self.process else { return };
        let (over, exit) = (self.over.clone(), process.watch_exit());
        tokio::spawn(async move {
            let gone = async {
                exit.await;
                sleep(DRAIN).await;
            };
            if over.run_until_cancelled(gone).await.is_some() {
                over.cancel();
            }
        });
    }
}

/// Waits until the child is dead and its last output had time to arrive; for ever if there is no child.
async fn dead(process: Option<&ChildGroup>) {
    match process {
        Some(process) => {
            process.ended().await;
            sleep(DRAIN).await;
        }
        None => std::future::pending().await,
    }
}

/// What a broken pipe to a child means: a fault that this side found, or the child's end.
async fn epitaph(
    config: &McpConfig,
    mask: &Mask,
    process: Option<&ChildGroup>,
    fault: &Fault,
) -> Option<McpError> {
    let server = config.name.clone();
    if let Some(fault) = fault.get() {
        return Some(McpError::Protocol { server, what: quoted(mask, fault) });
    }
    let process = process?;
    let how = match timeout(DRAIN, process.ended()).await {
        Ok(exit) => exit.how,
        Err(_) => "it closed its output".to_owned(),
    };
    Some(McpError::Ended { server, how, stderr: mask.hide(&process.last_words().await) })
}

async fn slow(config: &McpConfig, mask: &Mask, process: Option<&ChildGroup>) -> McpError {
    let stderr = match process {
        Some(process) => mask.hide(&process.last_words().await),
        None => String::new(),
    };
    McpError::Slow { server: config.name.clone(), limit_ms: config.start_ms, stderr }
}

/// Whether a start may have failed because of the probe with `server/discover`.
fn may_be_the_probe(error: &McpError) -> bool {
    match error {
        McpError::Http { status, .. } => !matches!(status, 401 | 403 | 404),
        McpError::Ended { .. } | McpError::Protocol { .. } | McpError::Slow { .. } => true,
        _ => false,
    }
}

fn mode(lifecycle: Lifecycle) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match lifecycle {
        Lifecycle::Auto => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Lifecycle::Initialize => ClientLifecycleMode::Initialize,
        Lifecycle::Discover => ClientLifecycleMode::Discover { preferred_versions },
    }
}

/// The failure of the second handshake, where there were two.
fn innermost(error: &ClientInitializeError) -> &ClientInitializeError {
    match error {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => innermost(fallback),
        other => other,
    }
}

fn quoted(mask: &Mask, text: &str) -> String {
    mask.hide(text).chars().take(QUOTED_CHARS).collect()
}
