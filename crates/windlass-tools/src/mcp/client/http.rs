//! Owns the wire to a server at a URL: the HTTP client, its headers, and what its failures mean.

mod events;
mod exchange;
pub(super) mod keyed;
mod post;

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method};
use percent_encoding::percent_decode_str;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};
use url::Url;
use windlass_core::secret::Secret;
use windlass_error::{causes, in_full};
use windlass_threads::background_runtime;

use super::asking::Fault;
use super::error::McpError;
use super::mask::Mask;
use crate::mcp::config::{McpConfig, McpTransport};
use crate::mcp::url::redacted_url;
use exchange::{Failure, exchange, request};
use keyed::{IDEMPOTENCY_HEADER, Keyed};
use post::{EVENTS, NoAnswer, Renewed, is_cut};

/// Timeout for finding out whether a server speaks an old transport.
const OLD_LIMIT: Duration = Duration::from_secs(5);

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
/// The URL or a header is malformed.
pub(super) fn transport(
    config: &McpConfig,
    fault: Fault,
) -> Result<StreamableHttpClientTransport<Keyed>, McpError> {
    let bad = |what: String| McpError::BadConfig { server: config.name.clone(), what };
    let (url, headers) = address(config).map_err(&bad)?;
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
    Ok(StreamableHttpClientTransport::with_client(Keyed { fault, renewed: Renewed::default() }, settings))
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
    let what = mask.hide(&in_full(failure));
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

/// The failure of the transport in a chain of causes.
fn failure<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Failure> {
    std::iter::once(error).chain(causes(error)).find_map(<dyn Error>::downcast_ref::<Failure>)
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
        _ => match no_answer(error)? {
            NoAnswer::Status { status, what } => Some((*status, what.clone())),
            NoAnswer::NotMcp(_) => None,
        },
    }
}

/// The kind of a response that is no answer.
fn no_answer(error: &Failure) -> Option<&NoAnswer> {
    let StreamableHttpError::Io(error) = error else { return None };
    error.get_ref()?.downcast_ref()
}

/// Whether a server that refuses messages speaks the transport before Streamable HTTP: a request without a message gets
/// a stream of events (MCP 2025-11-25, Streamable HTTP, Backwards Compatibility).
pub(super) async fn is_old(config: &McpConfig) -> bool {
    let Ok((url, headers)) = address(config) else { return false };
    let request = request(Method::GET, url.as_str(), None, &headers).header(ACCEPT, EVENTS);
    let Ok(Ok(response)) = tokio::time::timeout(OLD_LIMIT, exchange(request, Vec::new())).await else {
        return false;
    };
    let kind = post::header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
    response.status.is_success() && kind.starts_with(EVENTS)
}

/// The URL of a server without its login, and the headers of all requests, among which is the login.
fn address(config: &McpConfig) -> Result<(Url, HashMap<HeaderName, HeaderValue>), String> {
    let McpTransport::Http { url, headers } = &config.transport else {
        return Err("it has no URL".to_owned());
    };
    let mut parsed =
        Url::parse(url).map_err(|error| format!("`{}` is not a URL: {error}", redacted_url(url)))?;
    if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
        return Err(format!("`{}` is not an http or https URL", redacted_url(url)));
    }
    let given = headers.iter().map(|(name, value)| header(name, value));
    let mut headers = given.collect::<Result<HashMap<_, _>, _>>()?;
    if !parsed.username().is_empty() || parsed.password().is_some() {
        let part = |part: &str| percent_decode_str(part).collect::<Vec<u8>>();
        let words = [part(parsed.username()), part(parsed.password().unwrap_or_default())].join(&b':');
        let login = Secret::from(format!("Basic {}", BASE64_STANDARD.encode(words)));
        let (name, value) = header(AUTHORIZATION.as_str(), &login)?;
        headers.entry(name).or_insert(value);
        // These fail only for URLs that can have neither.
        let _ = parsed.set_username("");
        let _ = parsed.set_password(None);
    }
    Ok((parsed, headers))
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

    #[test]
    fn the_login_of_a_url_is_a_header_unless_there_is_one() {
        let config = McpConfig::http("s", "http://me:p%40ss@host/mcp?x=1");
        let login = |config: &McpConfig| {
            let (url, headers) = address(config).expect("a URL");
            assert_eq!(url.as_str(), "http://host/mcp?x=1");
            headers[&AUTHORIZATION].to_str().expect("text").to_owned()
        };
        // `me:p@ss`
        assert_eq!(login(&config), "Basic bWU6cEBzcw==");
        assert_eq!(login(&config.header("Authorization", "Bearer abcdefgh12345")), "Bearer abcdefgh12345");
    }
}
