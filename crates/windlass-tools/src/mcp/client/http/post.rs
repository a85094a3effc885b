//! One message to a server at a URL, and what its response says (MCP 2025-11-25, Streamable HTTP).
//!
//! rmcp has a client of its own, but it believes the ids of answers, so that a call hangs whose error names no id or another
//! one. Here the response to a request belongs to that request, whatever it says.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use futures_core::stream::BoxStream;
use futures_util::StreamExt as _;
use futures_util::future::ready;
use http::header::{ACCEPT, CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, RequestId};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, SseError, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;
use windlass_http::{Answer as Response, Body, HttpError};

use super::events;
use super::exchange::{Failure, SESSION, exchange, request};
use crate::mcp::client::asking::{Fault, Incoming};
use crate::mcp::client::doubt;
use crate::mcp::client::reading::{self, Answer, Heard, Read};
use crate::mcp::client::sent::Sent;
use crate::mcp::url::redacted_url;

/// The longest body of an answer, in bytes; a line over stdio has the same bound.
const MAX_BODY_BYTES: usize = 16 * 1024 * 1024;

pub(super) const EVENTS: &str = "text/event-stream";

/// Why a response is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoAnswer {
    /// A status other than success, and what came with it.
    #[error("HTTP {status}: {what}")]
    Status { status: u16, what: String },
    /// Something that no MCP server says.
    #[error("{0}")]
    NotMcp(String),
}

impl NoAnswer {
    fn failure(self) -> Failure {
        StreamableHttpError::Io(std::io::Error::other(self))
    }
}

/// The requests that were sent once more in a new session.
pub(super) type Renewed = Arc<Mutex<HashSet<RequestId>>>;

/// A message that is to be sent.
pub(super) struct Post<'a> {
    pub(super) url: Arc<str>,
    pub(super) message: ClientJsonRpcMessage,
    pub(super) session: Option<Arc<str>>,
    pub(super) headers: HashMap<HeaderName, HeaderValue>,
    pub(super) fault: Fault,
    pub(super) renewed: &'a Renewed,
}

impl Post<'_> {
    pub(super) async fn send(self) -> Result<StreamableHttpPostResponse, Failure> {
        let request = request(Method::POST, &self.url, self.session.as_deref(), &self.headers)
            .header(ACCEPT, "text/event-stream, application/json")
            .header(CONTENT_TYPE, "application/json");
        let body = serde_json::to_vec(&self.message)?;
        let sent = Sent::of(&self.message);
        if sent.is_some_and(|sent| !sent.begin()) {
            return Err(StreamableHttpError::Io(std::io::Error::other("the call was given up")));
        }
        let response = exchange(request, body).await.inspect_err(|failure| {
            if !is_cut(failure) {
                self.refuse();
            }
        })?;
        if let JsonRpcMessage::Request(request) = &self.message {
            let id = request.id.clone();
            let is_probe = matches!(request.request, ClientRequest::DiscoverRequest(_));
            let answer = self.answer(response, &id, is_probe).await;
            if !matches!(answer, Err(StreamableHttpError::SessionExpired)) {
                lock(self.renewed).remove(&id);
            }
            return answer;
        }
        if let Some(challenge) = challenge(&response) {
            return Err(challenge);
        }
        // What is no request gets no answer, whatever stands in the response.
        let status = response.status;
        if status.is_success() {
            Ok(StreamableHttpPostResponse::Accepted)
        } else if status == StatusCode::NOT_FOUND && self.session.is_some() {
            Err(StreamableHttpError::SessionExpired)
        } else {
            Err(refusal(status, &self.refused_with(response).await?).failure())
        }
    }

    /// Takes note that the call was refused before it began.
    fn refuse(&self) {
        if let Some(sent) = Sent::of(&self.message) {
            sent.refuse();
        }
    }

    /// The answer to a request.
    async fn answer(
        &self,
        response: Response,
        id: &RequestId,
        is_probe: bool,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let status = response.status;
        if !status.is_success() {
            return self.refused(response, id, is_probe).await;
        }
        let session = header(&response, SESSION);
        let kind = header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
        if kind.starts_with(EVENTS) {
            let events = mended(response.body, Some(id.clone()), self.fault.clone());
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        let body = self.whole(response).await?;
        if let Some(page) = web_page(&kind, &body) {
            return Err(NoAnswer::NotMcp(page).failure());
        }
        let text = body.trim_start_matches('\u{feff}').trim();
        // Nothing else answers the request: not even a body that asks or tells something.
        let answer = if text.is_empty() {
            Answer::unreadable(None, "it is empty")
        } else {
            answer_in(text, &self.fault).unwrap_or_else(|| {
                Answer::unreadable(None, &format!("{}, which is no answer", reading::quoted(text)))
            })
        };
        Ok(StreamableHttpPostResponse::Json(answer.to(id.clone()), session))
    }

    /// The meaning, for a request, of a response with another status than success. An answer that names the request is the answer
    /// to it, under whatever status of 4xx: it was heard, so nothing is sent again.
    async fn refused(
        &self,
        response: Response,
        id: &RequestId,
        is_probe: bool,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let status = response.status;
        let is_about_request = status.is_client_error() && status != StatusCode::REQUEST_TIMEOUT;
        let is_about_client = matches!(
            status,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS
        );
        let challenge = challenge(&response);
        // What was cut off may have been the answer.
        let refusal = self.refused_with(response).await?;
        let answer = refusal.answer(&self.fault);
        let is_own = answer.as_ref().is_some_and(|answer| answer.names(id));
        if is_about_request && !is_own {
            self.refuse();
        }
        let may_be_session = matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND);
        if may_be_session && self.session.is_some() {
            if !is_own && lock(self.renewed).insert(id.clone()) {
                return Err(StreamableHttpError::SessionExpired);
            }
            if is_own && answer.as_ref().is_some_and(Answer::blames_session) {
                self.fault.outlive_session();
            }
        }
        match answer {
            Some(answer) if is_about_request && is_own && !(is_about_client && answer.error().is_some()) => {
                Ok(StreamableHttpPostResponse::Json(answer.to(id.clone()), None))
            }
            Some(answer) if is_about_request && !is_about_client && answer.is_error() => {
                Ok(StreamableHttpPostResponse::Json(answer.to(id.clone()), None))
            }
            // An old server refuses the probe in any way; it gets `initialize` then.
            None if is_about_request && !is_about_client && is_probe && self.session.is_none() => {
                let error = ErrorData::invalid_request(format!("HTTP {status}"), None);
                Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::error(error, Some(id.clone())), None))
            }
            answer => {
                let error = answer.as_ref().and_then(Answer::error);
                if is_own && is_about_request && !error.is_some_and(doubt::leaves) {
                    self.refuse();
                }
                if let Some(challenge) = challenge {
                    return Err(challenge);
                }
                let error = answer.as_ref().filter(|answer| answer.is_error()).and_then(Answer::error);
                let refusal = match error {
                    Some(error) => Refusal { body: error.message.to_string(), ..refusal },
                    None => refusal,
                };
                Err(self::refusal(status, &refusal).failure())
            }
        }
    }

    /// # Errors
    /// The body broke off, or is too long.
    async fn refused_with(&self, response: Response) -> Result<Refusal, Failure> {
        let kind = header(&response, CONTENT_TYPE.as_str()).unwrap_or_default();
        let moved = header(&response, LOCATION.as_str());
        let body = self.whole(response).await?;
        Ok(Refusal { kind, moved, body })
    }

    /// The body as text.
    ///
    /// # Errors
    /// It broke off, or is too long.
    async fn whole(&self, mut response: Response) -> Result<String, Failure> {
        let broken = |source: Box<dyn Error + Send + Sync>| {
            StreamableHttpError::Client(HttpError::Broken { host: redacted_url(&self.url), source })
        };
        let (body, is_cut) =
            response.body.read(MAX_BODY_BYTES).await.map_err(|error| broken(error.into()))?;
        if is_cut {
            return Err(StreamableHttpError::ResponseBodyTooLarge { max_size: MAX_BODY_BYTES });
        }
        Ok(String::from_utf8(body)
            .unwrap_or_else(|bytes| String::from_utf8_lossy(bytes.as_bytes()).into_owned()))
    }
}

/// Whether there was a connection, which broke.
pub(super) fn is_cut(failure: &Failure) -> bool {
    match failure {
        StreamableHttpError::Client(error) => !error.is_unsent(),
        failure => {
            matches!(failure, StreamableHttpError::Sse(_) | StreamableHttpError::UnexpectedEndOfStream)
        }
    }
}

/// A response whose status is no success.
struct Refusal {
    kind: String,
    /// Where the request should go.
    moved: Option<String>,
    body: String,
}

impl Refusal {
    /// The answer in the body, or in the first of its events that has one.
    fn answer(&self, fault: &Fault) -> Option<Answer> {
        if self.kind.starts_with(EVENTS) {
            let mut events = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
            return events.find_map(|event| answer_in(event, fault));
        }
        answer_in(self.body.trim_start_matches('\u{feff}'), fault)
    }
}

/// The answer that a text is, if it is one.
fn answer_in(text: &str, fault: &Fault) -> Option<Answer> {
    match reading::heard(text.trim(), fault)?.read {
        Read::Message(message) => Answer::of(*message),
        Read::Answer(answer) => Some(answer),
        Read::Foreign | Read::Stray => None,
    }
}

fn refusal(status: StatusCode, refusal: &Refusal) -> NoAnswer {
    let what = match (&refusal.moved, web_page(&refusal.kind, &refusal.body)) {
        (Some(moved), _) if status.is_redirection() => format!("the address has moved to {moved}"),
        (_, Some(page)) => page,
        _ => refusal.body.trim().to_owned(),
    };
    NoAnswer::Status { status: status.as_u16(), what }
}

/// A message with an answer's id set to that of its request.
fn owned(message: Incoming, id: &RequestId) -> Incoming {
    match message {
        Incoming::Response(mut response) => {
            response.id = id.clone();
            Incoming::Response(response)
        }
        Incoming::Error(mut error) => {
            error.id = Some(id.clone());
            Incoming::Error(error)
        }
        message @ (Incoming::Request(_) | Incoming::Notification(_)) => message,
    }
}

/// The events of a stream as rmcp can read them. On a response's stream each answer belongs to its request.
pub(super) fn mended(
    body: Body,
    owner: Option<RequestId>,
    fault: Fault,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let events = events::of(body, fault.clone());
    let mended = move |event: Result<Sse, SseError>| {
        let mut event = match event {
            Ok(event) => event,
            Err(error) => return ready(Some(Err(error))),
        };
        let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
        if is_message && let Some(data) = event.data.take() {
            let trimmed = data.trim();
            let Some(Heard { read, text, .. }) = reading::heard(trimmed, &fault) else {
                return ready(None);
            };
            let is_whole = text.len() == trimmed.len();
            let text = if is_whole { None } else { Some(text.to_owned()) };
            event.data = message(text.unwrap_or(data), read, owner.as_ref());
        }
        ready(Some(Ok(event)))
    };
    events.filter_map(mended).boxed()
}

/// The message of an event. `None`: it says nothing that can be heard.
fn message(data: String, read: Read, owner: Option<&RequestId>) -> Option<String> {
    let message = match (read, owner) {
        (Read::Message(message), Some(owner)) => {
            let names = match message.as_ref() {
                Incoming::Response(response) => Some(&response.id),
                Incoming::Error(error) => error.id.as_ref(),
                Incoming::Request(_) | Incoming::Notification(_) => return Some(data),
            };
            if names == Some(owner) {
                return Some(data);
            }
            owned(*message, owner)
        }
        (Read::Message(_), None) => return Some(data),
        (Read::Answer(answer), Some(owner)) => answer.to(owner.clone()),
        (Read::Answer(answer), None) => {
            let id = answer.id.clone()?;
            answer.to(id)
        }
        (Read::Foreign | Read::Stray, _) => return None,
    };
    serde_json::to_string(&message).ok()
}

/// The failure that a request for credentials means.
pub(super) fn challenge(response: &Response) -> Option<Failure> {
    let header = header(response, WWW_AUTHENTICATE.as_str())?;
    match response.status {
        StatusCode::UNAUTHORIZED => Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(header))),
        StatusCode::FORBIDDEN => {
            Some(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(header, None)))
        }
        _ => None,
    }
}

/// The message on a web page, which some other program at the address has answered with.
fn web_page(kind: &str, body: &str) -> Option<String> {
    let start: String = body.trim_start().chars().take(15).collect::<String>().to_lowercase();
    if !kind.starts_with("text/html") && !start.starts_with("<!doctype html") && !start.starts_with("<html") {
        return None;
    }
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title>").map(|at| at + "<title>".len());
    let title = title.and_then(|from| {
        let to = lower.get(from..)?.find('<')? + from;
        Some(body.get(from..to)?.trim()).filter(|title| !title.is_empty())
    });
    Some(title.map_or_else(|| "a web page".to_owned(), |title| format!("a web page, {title:?}")))
}

pub(super) fn header(response: &Response, name: &str) -> Option<String> {
    let value = response.headers.get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn lock(renewed: &Renewed) -> std::sync::MutexGuard<'_, HashSet<RequestId>> {
    renewed.lock().unwrap_or_else(PoisonError::into_inner)
}
