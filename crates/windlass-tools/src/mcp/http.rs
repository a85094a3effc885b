//! Owns the wire to a server at a URL: the HTTP client, its headers, and what its failures mean.

mod events;
pub(super) mod keyed;
mod post;

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use windlass_core::secret::Secret;
use windlass_threads::background_runtime;

use super::asking::Fault;
use super::config::{McpConfig, McpTransport};
use super::error::McpError;
use super::mask::Mask;
use super::url::redacted_url;
use keyed::{IDEMPOTENCY_HEADER, Keyed};
use post::{Failure, NoAnswer, Renewed};

/// Timeout for making a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Timeout for finding out whether a server speaks an old transport.
const OLD_LIMIT: Duration = Duration::from_secs(5);

/// Maximum number of redirects, all within one origin: headers are secrets of that origin.
const MAX_REDIRECTS: usize = 5;

/// Maximum number of times that a broken event stream is resumed; with the delays below, over 7.5 s.
const MAX_STREAM_RETRIES: usize = 4;

/// The first wait before a broken event stream is taken up again; it doubles.
const STREAM_RETRY: Duration = Duration::from_millis(500);

/// The longest such wait.
const MAX_STREAM_RETRY: Duration = Duration::from_secs(4);

/// Maximum number of concurrent requests to one server.
const MAX_REQUESTS: usize = 64;

/// Maximum number of characters quoted from an error response.
const QUOTED_CHARS: usize = 300;

/// Headers that the protocol, HTTP or Windlass itself sets (MCP 2025-11-25, Streamable HTTP).
const RESERVED_HEADERS: [&str; 9] = [
    "accept",
    "content-length",
    "content-type",
    "host",
    IDEMPOTENCY_HEADER,
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

/// A transport for a config with a URL.
///
/// # Errors
/// The URL or a header is malformed, or TLS cannot be set up (for `https:` alone).
pub(super) fn transport(
    config: &McpConfig,
    fault: Fault,
) -> Result<StreamableHttpClientTransport<Keyed>, McpError> {
    let bad = |what: String| McpError::BadConfig { server: config.name.clone(), what };
    let McpTransport::Http { url, headers } = &config.transport else {
        return Err(bad("it has no URL".to_owned()));
    };
    let parsed = reqwest::Url::parse(url)
        .map_err(|error| bad(format!("`{}` is not a URL: {error}", redacted_url(url))))?;
    if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
        return Err(bad(format!("`{}` is not an http or https URL", redacted_url(url))));
    }
    let headers = headers
        .iter()
        .map(|(name, value)| header(name, value).map_err(&bad))
        .collect::<Result<HashMap<_, _>, _>>()?;
    let client = client(&parsed).map_err(|error| bad(format!("cannot create an HTTP client: {error}")))?;
    let mut backoff = ExponentialBackoff::default();
    backoff.max_times = Some(MAX_STREAM_RETRIES);
    backoff.base_duration = STREAM_RETRY;
    backoff.max_delay = Some(MAX_STREAM_RETRY);
    let mut settings = StreamableHttpClientTransportConfig::with_uri(url.as_str())
        .custom_headers(headers)
        .max_concurrent_requests(MAX_REQUESTS);
    settings.retry_config = Arc::new(backoff);
    // Its task reads what the server sends, however long that takes: not on the threads that drive runs.
    let background_runtime =
        background_runtime().map_err(|error| bad(format!("cannot start a thread: {error}")))?;
    let _context = background_runtime.enter();
    Ok(StreamableHttpClientTransport::with_client(
        Keyed { client, fault, renewed: Renewed::default() },
        settings,
    ))
}

/// Classifies a failure of this transport by the types in its chain of causes.
///
/// `None`: the error is not of HTTP.
pub(super) fn diagnose(config: &McpConfig, mask: &Mask, error: &(dyn Error + 'static)) -> Option<McpError> {
    let McpTransport::Http { url, .. } = &config.transport else { return None };
    let (server, url) = (config.name.clone(), redacted_url(url));
    let failure = failure(error)?;
    if let Some(NoAnswer::NotMcp(what)) = no_answer(failure) {
        return Some(McpError::NotMcp { server, url, what: format!("it answers with {what}") });
    }
    if let Some((status, what)) = status(failure) {
        let what = mask.hide(&what).chars().take(QUOTED_CHARS).collect();
        return Some(McpError::Http { server, url, status, what });
    }
    let what = mask.hide(&chain(failure));
    Some(if let StreamableHttpError::ResponseBodyTooLarge { .. } = failure {
        McpError::Unreadable { server, what }
    } else if is_cut(failure) {
        McpError::ConnectionLost { server, url, what }
    } else {
        McpError::Unreachable { server, url, what }
    })
}

/// Whether a server answered with a status that leaves the connection as it is.
pub(super) fn is_refusal(error: &(dyn Error + 'static)) -> bool {
    failure(error).and_then(status).is_some_and(|(status, _)| !matches!(status, 400 | 404))
}

/// Whether there was a connection, which broke.
fn is_cut(failure: &Failure) -> bool {
    if let StreamableHttpError::Client(error) = failure {
        return !error.is_connect() && !error.is_builder();
    }
    matches!(failure, StreamableHttpError::Sse(_) | StreamableHttpError::UnexpectedEndOfStream)
}

/// The failure of the transport in a chain of causes.
fn failure<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Failure> {
    let mut cause = Some(error);
    while let Some(current) = cause {
        if let Some(failure) = current.downcast_ref::<Failure>() {
            return Some(failure);
        }
        cause = current.source();
    }
    None
}

/// An error's text with those of its causes, each told once.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(current) = cause {
        let more = current.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = current.source();
    }
    text
}

/// The status code of a refusal, and what the server said with it.
#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
fn status(error: &Failure) -> Option<(u16, String)> {
    match error {
        StreamableHttpError::AuthRequired(challenge) => {
            Some((401, challenge.www_authenticate_header.clone()))
        }
        StreamableHttpError::InsufficientScope(challenge) => {
            Some((403, challenge.www_authenticate_header.clone()))
        }
        StreamableHttpError::SessionExpired => Some((404, "the session is over".to_owned())),
        StreamableHttpError::HttpStatus(status) => Some((status.status, String::new())),
        StreamableHttpError::Client(error) => error.status().map(|status| (status.as_u16(), String::new())),
        _ => match no_answer(error)? {
            NoAnswer::Status { status, what } => Some((*status, what.clone())),
            NoAnswer::NotMcp(_) => None,
        },
    }
}

/// What a response was that is no answer.
fn no_answer(error: &Failure) -> Option<&NoAnswer> {
    let StreamableHttpError::Io(error) = error else { return None };
    error.get_ref()?.downcast_ref()
}

/// Whether a server that refuses messages speaks the transport before Streamable HTTP: a request without a message gets
/// a stream of events (MCP 2025-11-25, Streamable HTTP, Backwards Compatibility).
pub(super) async fn is_old(config: &McpConfig) -> bool {
    let McpTransport::Http { url, headers } = &config.transport else { return false };
    let Some(client) = reqwest::Url::parse(url).ok().and_then(|url| client(&url).ok()) else { return false };
    let mut request = client.get(url).header(ACCEPT, "text/event-stream").timeout(OLD_LIMIT);
    for (name, value) in headers.iter().filter_map(|(name, value)| header(name, value).ok()) {
        request = request.header(name, value);
    }
    let Ok(response) = request.send().await else { return false };
    let kind = response.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    response.status().is_success() && kind.starts_with(b"text/event-stream")
}

fn header(name: &str, value: &Secret) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("`{name}` is not a valid header name"))?;
    if RESERVED_HEADERS.contains(&parsed.as_str()) {
        return Err(format!("the header `{name}` is set by the protocol"));
    }
    let mut value = HeaderValue::from_str(value.expose())
        .map_err(|_| format!("the value of the header `{name}` contains invalid characters"))?;
    value.set_sensitive(true);
    Ok((parsed, value))
}

/// An HTTP client for one server. TLS is set up only if the URL wants it.
fn client(url: &reqwest::Url) -> Result<reqwest::Client, String> {
    let (origin, loopback) = (url.origin(), is_loopback(url));
    let policy = Policy::custom(move |attempt| {
        // The other redirects would make a request without a message of it.
        let keeps_message =
            matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        let is_near = attempt.previous().len() <= MAX_REDIRECTS && attempt.url().origin() == origin;
        if !keeps_message || !is_near { attempt.stop() } else { attempt.follow() }
    });
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_LIMIT)
        .redirect(policy)
        .user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")));
    if loopback {
        builder = builder.no_proxy();
    }
    if url.scheme() == "https" {
        // An error says that a provider is there already.
        let _ = rustls::crypto::ring::default_provider().install_default();
    } else {
        builder = builder.tls_backend_preconfigured(no_tls()?);
    }
    builder.build().map_err(|error| chain(&error))
}

/// A TLS setup without trust anchors: plain HTTP never uses it, but reqwest requires one.
fn no_tls() -> Result<rustls::ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(builder.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(config: &McpConfig) -> String {
        transport(config, Fault::default()).err().expect("the config is refused").to_string()
    }

    #[tokio::test]
    async fn malformed_settings_are_refused_without_their_secrets() {
        let refusal = refused(&McpConfig::http("s", "ftp://host/mcp"));
        assert_eq!(
            refusal,
            "invalid configuration of the MCP server `s`: `ftp://host/mcp` is not an http or https URL"
        );
        let config = McpConfig::http("s", "http://host/mcp").header("X-Key", "abc\ndef-secret");
        let refusal = refused(&config);
        assert!(refusal.contains("`X-Key`") && !refusal.contains("secret"), "{refusal}");
        let config = McpConfig::http("s", "http://host/mcp").header("Mcp-Session-Id", "1");
        assert!(refused(&config).contains("set by the protocol"));
    }

    #[tokio::test]
    async fn plain_http_needs_no_tls_provider() {
        // reqwest panics here if it is left to look for a provider.
        assert!(transport(&McpConfig::http("s", "http://127.0.0.1:1/mcp"), Fault::default()).is_ok());
    }

    #[test]
    fn loopback_addresses_go_past_the_proxy() {
        let loopback = |url: &str| is_loopback(&reqwest::Url::parse(url).expect("a URL"));
        assert!(
            loopback("http://127.0.0.1:9/") && loopback("http://[::1]:9/") && loopback("http://localhost/")
        );
        assert!(!loopback("http://example.org/") && !loopback("http://10.0.0.1/"));
    }
}
