//! The HTTP client of a server at a URL, as rmcp asks for it. It says the idempotency key of a call in a header, too.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use futures_core::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, JsonRpcMessage};
use rmcp::transport::streamable_http_client::{SseError, StreamableHttpClient, StreamableHttpPostResponse};
use sse_stream::Sse;

use super::post::{Failure, Post, Renewed, mended};
use crate::mcp::asking::Fault;
use crate::mcp::meta::META_IDEMPOTENCY_KEY;

/// The header of the key (draft-ietf-httpapi-idempotency-key-header-07, 2.1): gateways before a server read it.
pub const IDEMPOTENCY_HEADER: &str = "idempotency-key";

/// The headers of a trace's context (W3C Trace Context): gateways before a server read them.
const TRACE_HEADERS: [&str; 2] = ["traceparent", "tracestate"];

/// The longest event, in bytes; a line over stdio has the same bound.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// A client that adds the header to calls of tools.
#[derive(Clone, Debug)]
pub(in crate::mcp) struct Keyed {
    pub(super) client: reqwest::Client,
    /// Why the connection is ended.
    pub(super) fault: Fault,
    pub(super) renewed: Renewed,
}

type Headers = HashMap<HeaderName, HeaderValue>;

impl StreamableHttpClient for Keyed {
    type Error = reqwest::Error;

    fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> impl Future<Output = Result<StreamableHttpPostResponse, Failure>> + Send + '_ {
        let max = MAX_EVENT_BYTES;
        self.post_message_with_max_sse_event_size(uri, message, session_id, auth_header, custom_headers, max)
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        // rmcp has a token only where it is given one.
        _auth_header: Option<String>,
        custom_headers: Headers,
        max: usize,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let headers = with_key(custom_headers, &message);
        let (fault, renewed) = (self.fault.clone(), &self.renewed);
        let post = Post {
            client: &self.client,
            url: uri,
            message,
            session: session_id,
            headers,
            max,
            fault,
            renewed,
        };
        post.send().await
    }

    fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> impl Future<Output = Result<(), Failure>> + Send + '_ {
        self.client.delete_session(uri, session_id, auth_header, custom_headers)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let stream =
            self.client.get_stream(uri, session_id, last_event_id, auth_header, custom_headers).await;
        Ok(mended(stream?, None, self.fault.clone()))
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: Headers,
        max: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let client = &self.client;
        let stream = client
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                max,
            )
            .await;
        Ok(mended(stream?, None, self.fault.clone()))
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
