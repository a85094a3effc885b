//! Owns one connection to a server, from after the handshake to its end. A server that is started again gets a new one.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResponse, PaginatedRequestParams, Tool as ServerTool};
use rmcp::service::{RunningService, ServiceError};
use rmcp::{Peer, RoleClient};
use tokio::sync::{Mutex, Notify};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::asking::Fault;
use super::error::McpError;
use super::handler::Handler;
use super::http;
use super::mask::Mask;
use super::process::{ChildGroup, DRAIN};
use super::reading;
use super::sent::{self, Sent};
use crate::mcp::config::{Lifecycle, McpConfig, McpTransport};
use crate::mcp::url::redacted_url;

/// Time for a server to exit by itself when it is closed.
const GRACE: Duration = Duration::from_secs(2);

/// Maximum number of pages of a tool list.
const MAX_PAGES: usize = 100;

/// Maximum number of tools of a server.
const MAX_TOOLS: usize = 1_000;

/// Maximum number of characters quoted from a server's message.
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

/// Result of a handshake.
pub(super) struct Parts {
    pub(super) service: RunningService<RoleClient, Handler>,
    pub(super) process: Option<ChildGroup>,
    pub(super) fault: Fault,
    /// Ends the connection.
    pub(super) over: CancellationToken,
    /// Told when the list of tools changed.
    pub(super) changed: Arc<Notify>,
}

impl Link {
    /// The connection after its handshake.
    pub(super) fn new(parts: Parts) -> Self {
        let link = Self {
            peer: parts.service.peer().clone(),
            service: Mutex::new(Some(parts.service)),
            process: parts.process,
            fault: parts.fault,
            over: parts.over,
            changed: parts.changed,
            served: AtomicBool::new(false),
            given_up: OnceLock::new(),
        };
        link.watch_process();
        link
    }

    /// The protocol that the server speaks.
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
            && !self.fault.has_outlived()
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
    pub(super) async fn call(
        &self,
        params: CallToolRequestParams,
        sent: &Sent,
    ) -> Result<CallToolResponse, ServiceError> {
        let answer = sent::call(&self.peer, params, sent).await;
        match &answer {
            Ok(_) | Err(ServiceError::McpError(_)) => self.served.store(true, Ordering::Relaxed),
            // A server that refuses one call is still there, with all that it knows.
            Err(ServiceError::TransportSend(error)) if http::is_refusal(error) => {}
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
        let mut tools: Vec<ServerTool> = Vec::new();
        let (mut cursor, mut seen, mut pages) = (None, HashSet::new(), HashSet::new());
        for _ in 0..MAX_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let page = match self.peer.list_tools(Some(page)).await {
                Ok(page) => page,
                // What came before is good without the rest.
                Err(ServiceError::McpError(error)) if !tools.is_empty() => {
                    tracing::warn!(%error, "an MCP server's list of tools breaks off");
                    return Ok(tools);
                }
                Err(ServiceError::UnexpectedResponse) => {
                    tracing::warn!(
                        server = config.name,
                        "an MCP server answers a request for its tools without a list"
                    );
                    return Ok(tools);
                }
                Err(error) => return Err(self.explain(config, mask, &error).await),
            };
            let names: Vec<_> = page.tools.iter().map(|tool| tool.name.clone()).collect();
            if !names.is_empty() && !pages.insert(names) {
                tracing::warn!(server = config.name, "an MCP server's list of tools repeats a page");
                return Ok(tools);
            }
            tools.extend(page.tools);
            if tools.len() > MAX_TOOLS {
                return Err(broken(format!("it offers more than {MAX_TOOLS} tools")));
            }
            // An empty cursor is asked for like any other, once.
            match page.next_cursor {
                Some(next) if seen.insert(next.clone()) => cursor = Some(next),
                Some(_) | None => return Ok(tools),
            }
        }
        Err(broken(format!("its list of tools has more than {MAX_PAGES} pages")))
    }

    /// Why a request failed, in terms of the server and not of the library.
    pub(super) async fn explain(&self, config: &McpConfig, mask: &Mask, error: &ServiceError) -> McpError {
        let is_broken = matches!(error, ServiceError::TransportSend(_) | ServiceError::TransportClosed);
        if is_broken && let Some(ended) = cause_of_end(config, mask, self.process.as_ref(), &self.fault).await
        {
            return ended;
        }
        let (server, what) = (config.name.clone(), quoted(mask, &error.to_string()));
        if let Some(why) = reading::unreadable_answer(error) {
            return McpError::Unreadable { server, what: quoted(mask, why) };
        }
        if let ServiceError::TransportSend(cause) = error
            && let Some(refusal) = http::diagnose(config, mask, cause)
        {
            return refusal;
        }
        if let McpTransport::Http { url, .. } = &config.transport
            && is_broken
        {
            McpError::ConnectionLost { server, url: redacted_url(url), what: String::new() }
        } else {
            McpError::Protocol { server, what }
        }
    }

    /// The error of a server that is not ready in time.
    pub(super) async fn slow(&self, config: &McpConfig, mask: &Mask) -> McpError {
        slow(config, mask, self.process.as_ref()).await
    }

    /// Why this connection ended.
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

/// Cause of a broken pipe to a child: an error found on this side, or the child's exit.
pub(super) async fn cause_of_end(
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

/// The error of a server that is not ready in time.
pub(super) async fn slow(config: &McpConfig, mask: &Mask, process: Option<&ChildGroup>) -> McpError {
    let stderr = match process {
        Some(process) => mask.hide(&process.last_words().await),
        None => String::new(),
    };
    McpError::Slow { server: config.name.clone(), limit_ms: config.start_ms, stderr }
}

/// A server's or library's message, shortened and with secrets masked.
pub(super) fn quoted(mask: &Mask, text: &str) -> String {
    mask.hide(text).chars().take(QUOTED_CHARS).collect()
}
