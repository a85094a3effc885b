//! One request to a server at a URL, wherever within its origin the server has moved.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use http::header::LOCATION;
use http::request::Builder;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use url::Url;
use windlass_http::{Answer, HttpClient, HttpError, Reach};

/// Failure of a request.
pub(super) type Failure = StreamableHttpError<HttpError>;

/// Timeout for making a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// Maximum number of redirects, all within one origin: headers are secrets of that origin.
const MAX_REDIRECTS: usize = 5;

/// The header with the id of a session.
pub(super) const SESSION: &str = "mcp-session-id";

/// A request with the headers that all have.
pub(super) fn request(
    method: Method,
    url: &str,
    session: Option<&str>,
    headers: &HashMap<HeaderName, HeaderValue>,
) -> Builder {
    let mut request = Request::builder().method(method).uri(url);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match session {
        Some(session) => request.header(SESSION, session),
        None => request,
    }
}

/// Sends a request and waits for the head of the answer.
pub(super) async fn exchange(request: Builder, body: Vec<u8>) -> Result<Answer, Failure> {
    let body = Bytes::from(body);
    let mut request = request.body(body).map_err(std::io::Error::other)?;
    let client = HttpClient::new(CONNECT_LIMIT, Reach::Proxied);
    let mut followed = 0;
    loop {
        let answer = client.open(request.clone()).await.map_err(StreamableHttpError::Client)?;
        match moved(request.uri(), &answer) {
            Some(to) if followed < MAX_REDIRECTS => *request.uri_mut() = to,
            _ => return Ok(answer),
        }
        followed += 1;
    }
}

/// Where a request should go within its origin. The other redirects would make a request without a message of it.
fn moved(from: &Uri, answer: &Answer) -> Option<Uri> {
    if !matches!(answer.status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
        return None;
    }
    let from = Url::parse(&from.to_string()).ok()?;
    let to = from.join(answer.headers.get(LOCATION)?.to_str().ok()?).ok()?;
    if to.origin() == from.origin() { to.as_str().parse().ok() } else { None }
}
