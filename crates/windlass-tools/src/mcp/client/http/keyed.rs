//! The HTTP client of a server at a URL, as rmcp asks for it. It says the idempotency key of a call in a header, too.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use futures_core::stream::BoxStream;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, JsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use windlass_http::HttpError;

use super::exchange::{Failure, exchange, request};
use super::post::{EVENTS, Post, Renewed, challenge, header, mended};
use crate::mcp::client::asking::Fault;
use crate::mcp::client::meta::META_IDEMPOTENCY_KEY;

/// The header of the key (draft-ietf-httpapi-idempotency-key-header-07, 2.1): gateways before a server read it.
pub const IDEMPOTENCY_HEADER: &str = "idempotency-key";

/// The headers of a trace's context (W3C Trace Context): gateways before a server read them.
const TRACE_HEADERS: [&str; 2] = ["traceparent", "tracestate"];

/// A client that adds the header to calls of tools.
#[derive(Clone, Debug)]
pub(in crate::mcp::client) struct Keyed {
    /// Why the connection is ended.
    pub(super) fault: Fault,
    pub(super) renewed: Renewed,
}

type Headers = HashMap<HeaderName, HeaderValue>;

impl StreamableHttpClient for Keyed {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        // rmcp has a token only where it is given one.
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let headers = with_key(custom_headers, &message);
        let (fault, renewed) = (self.fault.clone(), &self.renewed);
        let post = Post { url: uri, message, session: session_id, headers, fault, renewed };
        post.send().await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<(), Failure> {
        // What a server says to it changes nothing.
        exchange(request(Method::DELETE, &uri, Some(&session_id), &custom_headers), Vec::new())
            .await
            .map(drop)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let mut request =
            request(Method::GET, &uri, session_id.as_deref(), &custom_headers).header(ACCEPT, EVENTS);
        if let Some(last) = last_event_id {
            request = request.header("last-event-id", last);
        }
        let response = exchange(request, Vec::new()).await?;
        if let Some(challenge) = challenge(&response) {
            return Err(challenge);
        }
        let kind = header(&response, CONTENT_TYPE.as_str());
        match response.status {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            status if !status.is_success() => Err(HttpStatusError::new(status.as_u16(), None).into()),
            _ if !kind.as_ref().is_some_and(|kind| kind.starts_with(EVENTS)) => {
                Err(StreamableHttpError::UnexpectedContentType(kind))
            }
            _ => Ok(mended(response.body, None, self.fault.clone())),
        }
    }
}

fn with_key(mut headers: Headers, message: &ClientJsonRpcMessage) -> Headers {
    let key = meta(message, META_IDEMPOTENCY_KEY);
    if let Some(value) = key.and_then(|key| HeaderValue::from_str(&quoted(key)).ok()) {
        headers.insert(HeaderName::from_static(IDEMPOTENCY_HEADER), value);
    }
    for name in TRACE_HEADERS {
        if let Some(value) = meta(message, name).and_then(|value| HeaderValue::from_str(value).ok()) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
    headers
}

/// The value under `name` in the metadata of a tool call.
fn meta<'m>(message: &'m ClientJsonRpcMessage, name: &str) -> Option<&'m str> {
    let JsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::CallToolRequest(call) = &request.request else { return None };
    let own = call.params.meta.as_ref().and_then(|meta| meta.get(name));
    own.or_else(|| request.request.get_meta().get(name))?.as_str()
}

/// A string as structured fields have it (RFC 9651, 3.3.3): printable ASCII in quotes. Anything else in a call's id is
/// percent-encoded.
fn quoted(key: &str) -> String {
    let mut text = String::from('"');
    for byte in key.bytes() {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            0x20..=0x7e => text.push(char::from(byte)),
            _ => {
                // Writing to a string cannot fail.
                let _ = write!(text, "%{byte:02x}");
            }
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_key_is_a_string_of_structured_fields() {
        assert_eq!(quoted("018f:call_1"), "\"018f:call_1\"");
        assert_eq!(quoted("a\"b\\ü\n"), "\"a\\\"b\\\\%c3%bc%0a\"");
    }
}
