//! Owns the beginning of a connection: the start of the process or the first request, and the protocol's handshake.

use std::time::Duration;

use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientCacheConfig, ClientInitializeError, ClientLifecycleMode, serve_client_with_lifecycle_and_ct,
};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::asking::{Bounded, Fault};
use super::error::McpError;
use super::handler::Handler;
use super::http;
use super::link::{Link, Parts, cause_of_end, quoted, slow};
use super::mask::Mask;
use super::process::{ChildGroup, DRAIN};
use super::reading;
use super::stdio::StdioTransport;
use super::wire::Wire;
use crate::mcp::config::{Lifecycle, McpConfig, McpTransport};

/// Maximum time that a server at a URL may take to answer the probe before it gets `initialize` on a new connection. rmcp
/// itself waits for 10 s and then uses the same connection, which does not help if the first request is stuck.
const PROBE_LIMIT: Duration = Duration::from_secs(12);

/// The message on an answer to `initialize` that is something else.
const NO_BEGINNING: &str = "its answer to `initialize` has no `protocolVersion`, `capabilities` and `serverInfo`, as the result must have";

/// Starts the server, or connects to it, and shakes hands.
///
/// # Errors
/// It cannot be started or reached, refuses, breaks the protocol, or is not ready at the deadline.
pub(super) async fn open(
    config: &McpConfig,
    mask: &Mask,
    lifecycle: Lifecycle,
    deadline: Instant,
) -> Result<Link, McpError> {
    let is_probe = lifecycle == Lifecycle::Auto;
    let is_http = matches!(config.transport, McpTransport::Http { .. });
    let first = if is_probe && is_http { deadline.min(Instant::now() + PROBE_LIMIT) } else { deadline };
    let opened = match (Start { config, mask, lifecycle, deadline: first }).run().await {
        // Some old servers do not survive a request before `initialize`.
        Err(error) if is_probe && may_be_the_probe(&error) && Instant::now() < deadline => {
            Start { config, mask, lifecycle: Lifecycle::Initialize, deadline }.run().await
        }
        result => result,
    };
    match opened {
        Err(McpError::Http { server, url, status: 400 | 404 | 405, .. }) if http::is_old(config).await => {
            let what = "it speaks HTTP+SSE, the transport before Streamable HTTP".to_owned();
            Err(McpError::NotMcp { server, url, what })
        }
        opened => opened,
    }
}

/// A handshake that is to be made.
struct Start<'a> {
    config: &'a McpConfig,
    mask: &'a Mask,
    lifecycle: Lifecycle,
    deadline: Instant,
}

impl Start<'_> {
    async fn run(&self) -> Result<Link, McpError> {
        let fault = Fault::default();
        match &self.config.transport {
            McpTransport::Stdio { .. } => {
                let (process, pipes) = ChildGroup::spawn(self.config)?;
                let wire = Wire::Stdio(StdioTransport::new(pipes, fault.clone()));
                self.shake_hands(wire, Some(process), fault).await
            }
            McpTransport::Http { .. } => {
                let wire = Wire::Http(http::transport(self.config, fault.clone())?);
                self.shake_hands(wire, None, fault).await
            }
        }
    }

    async fn shake_hands(
        &self,
        wire: Wire,
        process: Option<ChildGroup>,
        fault: Fault,
    ) -> Result<Link, McpError> {
        let (handler, transport) = (Handler::default(), Bounded::new(wire, fault.clone()));
        let (over, changed) = (CancellationToken::new(), handler.changed.clone());
        let serving =
            serve_client_with_lifecycle_and_ct(handler, transport, mode(self.lifecycle), over.clone());
        let served = tokio::select! {
            served = serving => served.map_err(Some),
            () = dead(process.as_ref()) => Err(None),
            () = sleep_until(self.deadline) => {
                return Err(slow(self.config, self.mask, process.as_ref()).await);
            }
        };
        let service = match served {
            Ok(service) => service,
            Err(error) => return Err(self.explain(process.as_ref(), &fault, error).await),
        };
        // A list of tools is asked for when it changed: an answer from rmcp's cache would be the old one.
        service.set_response_cache_config(ClientCacheConfig::disabled()).await;
        Ok(Link::new(Parts { service, process, fault, over, changed }))
    }

    async fn explain(
        &self,
        process: Option<&ChildGroup>,
        fault: &Fault,
        error: Option<ClientInitializeError>,
    ) -> McpError {
        let error = error.as_ref().map(innermost);
        let is_broken = matches!(
            error,
            None | Some(
                ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. }
            )
        );
        if is_broken && let Some(ended) = cause_of_end(self.config, self.mask, process, fault).await {
            return ended;
        }
        if let Some(ClientInitializeError::TransportError { error, .. }) = error
            && let Some(refusal) = http::diagnose(self.config, self.mask, error)
        {
            return refusal;
        }
        let (server, words) = (self.config.name.clone(), |what: &str| quoted(self.mask, what));
        match error {
            Some(ClientInitializeError::JsonRpcError(error))
                if let Some(why) = reading::unreadable(error) =>
            {
                McpError::Unreadable { server, what: words(why) }
            }
            Some(
                ClientInitializeError::ExpectedInitResult(_) | ClientInitializeError::ExpectedInitResponse(_),
            ) => McpError::Protocol { server, what: NO_BEGINNING.to_owned() },
            Some(error) => McpError::Protocol { server, what: words(&error.to_string()) },
            None => McpError::Protocol { server, what: "it ended".to_owned() },
        }
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

/// Whether a start may have failed because of the probe with `server/discover`.
fn may_be_the_probe(error: &McpError) -> bool {
    match error {
        McpError::Http { status, .. } => !matches!(status, 401 | 403 | 404 | 405),
        McpError::Ended { .. }
        | McpError::Protocol { .. }
        | McpError::Unreadable { .. }
        | McpError::Slow { .. } => true,
        McpError::BadConfig { .. }
        | McpError::NotInstalled { .. }
        | McpError::Spawn { .. }
        | McpError::Unreachable { .. }
        | McpError::ConnectionLost { .. }
        | McpError::NotMcp { .. }
        | McpError::GaveUp { .. }
        | McpError::Closed { .. } => false,
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
    if let ClientInitializeError::LegacyFallbackFailed { fallback, .. } = error {
        innermost(fallback)
    } else {
        error
    }
}
