//! Owns one call: from the request to the pieces of its reply, or to a failure sorted by kind.

mod first;
mod permit;

use std::borrow::Cow;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use tokio::time::Instant;
use windlass_core::model::{FailureKind, ModelFailure, Reply, Usage};
use windlass_core::secret::{Secret, mask};
use windlass_core::{Text, ToolSpec};
use windlass_error::in_full;
use windlass_http::{Answer, Body};
use windlass_threads::{LARGE_BYTES, off_thread};

use super::betas::ask_for;
use super::blaming::blamed;
use super::events::EventReader;
use super::failure::is_passing;
use super::frames::Frames;
use super::hints;
use super::keys::{Kept, KeyCommand};
use super::limiters::limiter::Permit;
use super::mending::tolerant;
use super::received::{Received, of_body};
use super::server::{Addressed, Server, sign};
use super::timeouts::{Expired, Watch};
use super::trouble::{Refused, read_refusal, unanswered};
use crate::trace::fields;
use crate::wires::{Asked, DecodeError, estimate};
use crate::{Delta, ModelError};
use first::{comes_in_events, shows_events};

/// Maximum growth of a reply in JSON: an escape takes up to six bytes for two.
const MAX_ESCAPED: u64 = 3;

/// The most bytes that a body, or an event of a stream, may have around the reply in it (1 MiB).
const MAX_WRAPPING_BYTES: u64 = 1024 * 1024;

/// The most bytes of a streamed reply's body: each token comes in some hundred bytes of wrapping.
const MAX_STREAM_BYTES: usize = 512 * 1024 * 1024;

/// State of a call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) server: Arc<Server>,
    /// The model, by the name that was asked for.
    pub(super) model: Text,
    pub(super) content_bytes: usize,
    pub(super) stream: bool,
    /// Whether the model reasons before it answers.
    pub(super) reasons: bool,
    /// The tools of the request.
    pub(super) tools: Arc<Vec<ToolSpec>>,
    /// The most bytes of the reply.
    pub(super) max_reply_bytes: u64,
    /// An estimate of its tokens, for its permit.
    pub(super) tokens: u64,
    /// Its permit, where tokens are counted.
    pub(super) permit: Option<Permit>,
}

/// Sends the request and waits for the head of the reply, or for all of it if it is not streamed.
pub(super) async fn open(mut call: Call, body: Vec<u8>) -> Result<Reading, ModelFailure> {
    call.wait_for_permit().await?;
    let mut watch = Watch::start(call.server.timeouts, call.stream, call.reasons);
    let (answer, address) = call.send(body, &mut watch).await?;
    if !answer.status.is_success() {
        let reply = Box::pin(call.refused(answer, &address, &mut watch)).await?;
        return Ok(Reading::Whole(Some(Box::new(reply))));
    }
    let Answer { headers, mut body, .. } = answer;
    call.learn(&headers);
    watch.head();
    let framing = call.server.wire.facts().framing;
    let named = comes_in_events(&headers, framing, call.stream);
    let first = call.first_bytes(&mut body, named, &mut watch).await?;
    if shows_events(framing, &first).unwrap_or(named) {
        return Ok(Reading::Events(Box::new(Events::new(call, body, watch, &first)?)));
    }
    let data = call.read_whole(body, first, &mut watch).await?;
    if data.trim_ascii().is_empty() {
        let host = &call.server.endpoint.host;
        return Err(call.failure(FailureKind::Cut, format!("the reply from {host} is empty")));
    }
    let asked = call.asked();
    let (server, bytes) = (call.server.clone(), data.len() as u64);
    let page = hints::web_page(&data);
    let decode = move || {
        let decoded = tolerant(&data, |data| server.wire.decode(&server.dialect, data, &asked));
        (decoded, data)
    };
    let (reply, data) =
        if bytes < LARGE_BYTES { decode() } else { Box::pin(off_thread(bytes, decode)).await };
    let reply = reply.map_err(|error| {
        let failure = match page {
            Some(page) => call.failure(FailureKind::Protocol, hints::page_words(&page)),
            None => call.undecoded(error, Usage::default()),
        };
        of_body(failure, &data)
    })?;
    call.took(&reply.usage);
    Ok(Reading::Whole(Some(Box::new(reply))))
}

/// Says which span the call belongs to, if there is one (W3C Trace Context).
fn trace(headers: &mut HeaderMap) {
    for (name, value) in fields() {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
}

/// The reading of a reply: a stream of its pieces.
pub(super) enum Reading {
    /// All of it at once; `None`: it was given.
    Whole(Option<Box<Reply>>),
    /// Piece by piece.
    Events(Box<Events>),
}

impl Stream for Reading {
    type Item = Result<Delta, ModelFailure>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match &mut *self {
            Self::Whole(reply) => Poll::Ready(reply.take().map(|reply| Ok(Delta::Whole(reply)))),
            Self::Events(events) => events.poll_next(context),
        }
    }
}

/// The reading of a streamed reply.
pub(super) struct Events {
    call: Call,
    /// `None`: nothing more will be read.
    body: Option<Body>,
    watch: Watch,
    reader: EventReader,
    received: Received,
    arrived: Instant,
    read: usize,
    over: bool,
}

impl Drop for Events {
    fn drop(&mut self) {
        // However it ended: what was paid counts.
        let paid = if self.call.permit.is_some() { self.paid() } else { Usage::default() };
        if paid.total() > 0 {
            self.call.took(&paid);
        }
    }
}

impl Events {
    /// The reading of a body, whose `first` bytes were read already.
    fn new(call: Call, body: Body, watch: Watch, first: &[u8]) -> Result<Self, ModelFailure> {
        let wire = call.server.wire;
        let frames = Frames::bounded(wire.facts().framing, call.max_body_bytes());
        let reader = EventReader::new(frames, wire.decoder(&call.server.dialect));
        let (body, arrived) = (Some(body), Instant::now());
        let mut events =
            Self { call, body, watch, reader, received: Received::default(), arrived, read: 0, over: false };
        match if first.is_empty() { Ok(()) } else { events.add(first) } {
            Ok(()) => Ok(events),
            Err(failure) => Err(events.with_body(failure)),
        }
    }

    fn paid(&self) -> Usage {
        self.reader.usage(self.call.content_bytes)
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), ModelFailure> {
        self.arrived = Instant::now();
        self.read = self.read.saturating_add(bytes.len());
        self.received.add(bytes);
        if let Some(expired) = self.watch.total_over(self.arrived).filter(|_| !self.reader.is_finished()) {
            return Err(ModelFailure { usage: self.paid(), ..self.call.expired(expired) });
        }
        let too_long = if self.read > MAX_STREAM_BYTES {
            format!("the stream is longer than {MAX_STREAM_BYTES} bytes")
        } else if self.reader.push(bytes).is_ok() {
            return Ok(());
        } else {
            let most = self.call.max_body_bytes();
            format!("an event of the stream is longer than {most} bytes ({})", self.call.bound())
        };
        Err(ModelFailure { usage: self.paid(), ..self.call.failure(FailureKind::TooLarge, too_long) })
    }

    fn with_body(&self, failure: ModelFailure) -> ModelFailure {
        let server = &self.call.server;
        self.received.of_stream(failure, server.wire, &server.dialect)
    }

    /// Ends the body. The reply is complete if its stop reason came before.
    fn end(&mut self, broken: Option<String>) -> Result<(), ModelFailure> {
        self.over = true;
        self.body = None;
        if self.reader.end(self.call.content_bytes) {
            return Ok(());
        }
        let host = &self.call.server.endpoint.host;
        let (kind, message) = match broken {
            Some(why) => (FailureKind::Cut, format!("the stream from {host} broke off: {why}")),
            None if self.reader.is_foreign() => {
                (FailureKind::Protocol, format!("the reply from {host} is not a stream of events"))
            }
            None => (FailureKind::Cut, format!("the stream from {host} ended before the reply did")),
        };
        Err(ModelFailure { usage: self.paid(), ..self.call.failure(kind, message) })
    }

    /// One step towards the next piece. `Ready(Ok(()))`: look again.
    fn step(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ModelFailure>> {
        let decoded = ready!(self.reader.poll_event(cx));
        let progress = self.reader.makes_progress();
        match (progress, self.reader.thinks()) {
            (true, false) => self.watch.token(self.arrived),
            (true, true) => self.watch.thought(Some(self.arrived)),
            (false, true) => self.watch.thought(None),
            (false, false) => {}
        }
        match decoded {
            Ok(true) => return Poll::Ready(Ok(())),
            Ok(false) => {}
            Err(error) => return Poll::Ready(Err(self.call.undecoded(error, self.paid()))),
        }
        if self.reader.is_done() {
            self.watch.linger();
        } else if self.reader.is_finished() {
            self.watch.close();
        }
        let Some(body) = self.body.as_mut() else { return Poll::Ready(self.end(None)) };
        match body.poll_next(cx) {
            Poll::Ready(Some(Ok(bytes))) => Poll::Ready(self.add(&bytes)),
            Poll::Ready(Some(Err(error))) => Poll::Ready(self.end(Some(in_full(&error)))),
            Poll::Ready(None) => {
                self.reader.close();
                self.body = None;
                Poll::Ready(Ok(()))
            }
            Poll::Pending => self.watch.poll(cx).map(|expired| {
                self.reader.release();
                if self.reader.is_finished() {
                    return self.end(None);
                }
                Err(ModelFailure { usage: self.paid(), ..self.call.expired(expired) })
            }),
        }
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Delta, ModelFailure>>> {
        loop {
            if let Some(delta) = self.reader.pop() {
                return Poll::Ready(Some(Ok(delta)));
            }
            if self.over {
                self.body = None;
                return Poll::Ready(None);
            }
            match self.step(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(failure)) => {
                    self.over = true;
                    self.body = None;
                    self.reader.clear();
                    let failure = blamed(self.with_body(failure), &self.call.tools);
                    return Poll::Ready(Some(Err(failure)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl Call {
    /// Sends the request. Gives the head of the reply, and the address that was asked.
    async fn send(&self, body: Vec<u8>, watch: &mut Watch) -> Result<(Answer, Addressed), ModelFailure> {
        let body = Bytes::from(body);
        match &self.server.key_command {
            None => self.send_with(body, None, watch).await,
            // Boxed, as all that few calls need: the room for it would be copied with each call.
            Some(command) => Box::pin(self.send_with_key_of(command, body, watch)).await,
        }
    }

    /// A key that a command printed may be refused before it should expire: the command is run again, and the request sent once
    /// more. A refused key of the settings is final (E42).
    async fn send_with_key_of(
        &self,
        command: &KeyCommand,
        body: Bytes,
        watch: &mut Watch,
    ) -> Result<(Answer, Addressed), ModelFailure> {
        let (key, made) = self.key_of(command, watch).await?;
        let sent = self.send_with(body.clone(), Some(&key.key), watch).await?;
        if sent.0.status == StatusCode::FORBIDDEN {
            // The next call, which a person may have made good by then, takes a new key.
            command.forget(&key).await;
        }
        if sent.0.status != StatusCode::UNAUTHORIZED {
            return Ok(sent);
        }
        command.forget(&key).await;
        if made {
            return Ok(sent);
        }
        let (key, _) = self.key_of(command, watch).await?;
        let sent = self.send_with(body, Some(&key.key), watch).await?;
        if sent.0.status == StatusCode::UNAUTHORIZED {
            command.forget(&key).await;
        }
        Ok(sent)
    }

    async fn key_of(&self, command: &KeyCommand, watch: &mut Watch) -> Result<(Kept, bool), ModelFailure> {
        match watch.guard(pin!(command.key())).await {
            Ok(key) => key.map_err(|failure| ModelFailure { model: self.model.clone(), ..failure }),
            Err(expired) => Err(self.expired(expired)),
        }
    }

    async fn send_with(
        &self,
        body: Bytes,
        key: Option<&Secret>,
        watch: &mut Watch,
    ) -> Result<(Answer, Addressed), ModelFailure> {
        let server = &self.server;
        let unusable = |error: ModelError| self.failure(FailureKind::Connect, in_full(&error));
        let (route, headers) = server.ready().map_err(unusable)?;
        let path = server.wire.path(server.dialect.plain_name(&self.model), self.stream);
        let address = match path {
            Cow::Borrowed(path) => server.at_fixed(path),
            Cow::Owned(path) => server.at(&path),
        };
        let address = address.map_err(unusable)?;
        let mut request = Box::new(Request::new(Full::new(body)));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = address.line.clone();
        *request.headers_mut() = headers.clone();
        if let Some(key) = key {
            sign(request.headers_mut(), server.wire.facts(), key).map_err(unusable)?;
        }
        ask_for(request.headers_mut(), server.wire.facts(), &self.tools);
        trace(request.headers_mut());
        match watch.guard(pin!(route.send(request, server.connect_limit()))).await {
            Ok(Ok(answer)) => Ok((answer, address)),
            Ok(Err(error)) => Err(self.failure(FailureKind::Connect, unanswered(&error))),
            Err(expired) => Err(self.expired(expired)),
        }
    }

    pub(super) fn failure(&self, kind: FailureKind, message: impl AsRef<str>) -> ModelFailure {
        ModelFailure::new(kind, mask(message.as_ref()), self.model.clone())
    }

    /// The most bytes of a body, or of one event of it.
    fn max_body_bytes(&self) -> usize {
        let most = self.max_reply_bytes.saturating_mul(MAX_ESCAPED).saturating_add(MAX_WRAPPING_BYTES);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Origin of the bound on bodies.
    fn bound(&self) -> String {
        format!("the model's max_reply_bytes is {}", self.max_reply_bytes)
    }

    /// A body beyond its bound; `read`: how much of it came, for an estimate of what it cost.
    fn body_too_large(&self, most: usize, read: usize) -> ModelFailure {
        let words = format!("the body of the reply is longer than {most} bytes ({})", self.bound());
        ModelFailure {
            usage: estimate(self.content_bytes, read),
            ..self.failure(FailureKind::TooLarge, words)
        }
    }

    pub(super) fn expired(&self, expired: Expired) -> ModelFailure {
        let key = expired.key().map(|key| format!(" (`timeouts.{key}`)")).unwrap_or_default();
        let words = format!("{expired} from {}{key}", self.server.endpoint.host);
        let after_ms = expired.limit_ms().map(|ms| u32::try_from(ms).unwrap_or(u32::MAX));
        ModelFailure { after_ms, ..self.failure(FailureKind::Timeout, words) }
    }

    fn undecoded(&self, error: DecodeError, usage: Usage) -> ModelFailure {
        let DecodeError { kind, status, retry_after_ms, refuses, message, usage: counted } = error;
        self.refused_for(kind, retry_after_ms);
        let usage = if usage == Usage::default() { counted } else { usage };
        ModelFailure { status, retry_after_ms, refuses, usage, ..self.failure(kind, message) }
    }

    fn asked(&self) -> Asked {
        Asked { model: self.model.clone(), content_bytes: self.content_bytes }
    }

    /// The provider answered with an error. It may report a malformed call, which is a reply.
    async fn refused(
        &self,
        answer: Answer,
        address: &Addressed,
        watch: &mut Watch,
    ) -> Result<Reply, ModelFailure> {
        let refused = read_refusal(answer, watch).await;
        let server = &self.server;
        if let Some(reply) = server.wire.reply_in_error(&server.dialect, refused.read(), &self.asked()) {
            return Ok(reply);
        }
        let words = self.server.wire.facts().errors;
        let known = self.server.wire.failure_kind(&refused.report);
        let kind = known.unwrap_or_else(|| words.kind(refused.status, &refused.report));
        let retry_after_ms = refused.retry_after_ms(kind);
        self.took(&Usage::default());
        self.refused_for(kind, retry_after_ms);
        let Refused { status, report, data, .. } = refused;
        let refuses = words.refusal(kind, Some(status), &report.message);
        let key = server.key_source.as_deref();
        let key = key.filter(|_| kind == FailureKind::Auth && matches!(status, 401 | 403));
        let message = if kind == FailureKind::NotFound {
            let near = hints::near(&server.dialect.label, &self.model);
            format!("{} (model `{}` at {}){near}", report.message, self.model, address.url)
        } else if let Some(source) = key {
            format!("{}; the key is that of {source}", report.message)
        } else {
            report.message
        };
        // Its words may be the proxy's own.
        let route = server.ready().ok().filter(|_| matches!(status, 407 | 502..=504));
        let message = match route.and_then(|(route, _)| route.forwarding_proxy()) {
            Some(proxy) => format!("{message}; it was asked through the proxy {proxy}"),
            None => message,
        };
        let is_final = report.is_final && is_passing(kind);
        let failure = of_body(self.failure(kind, message), &data);
        Err(ModelFailure { status: Some(status), retry_after_ms, is_final, refuses, ..failure })
    }

    /// Reads a body to its end, whose `first` bytes were read already.
    pub(super) async fn read_whole(
        &self,
        mut body: Body,
        mut first: Bytes,
        watch: &mut Watch,
    ) -> Result<Bytes, ModelFailure> {
        let most = self.max_body_bytes();
        if body.promised().is_some_and(|length| length > most as u64) {
            return Err(self.body_too_large(most, 0));
        }
        // A small reply comes in one piece, which is read where it is.
        if first.len() > most {
            return Err(of_body(self.body_too_large(most, first.len()), &first));
        }
        let mut data = Vec::new();
        while !body.is_over() {
            watch.token(Instant::now());
            let so_far = if data.is_empty() { &first[..] } else { &data };
            match watch.guard(pin!(body.next())).await {
                Ok(None) => break,
                Ok(Some(Ok(bytes))) if so_far.len() + bytes.len() > most => {
                    return Err(of_body(self.body_too_large(most, so_far.len()), so_far));
                }
                Ok(Some(Ok(bytes))) if so_far.is_empty() => first = bytes,
                Ok(Some(Ok(bytes))) => {
                    data.extend_from_slice(&std::mem::take(&mut first));
                    data.extend_from_slice(&bytes);
                }
                Ok(Some(Err(error))) => {
                    let words = format!(
                        "the reply from {} broke off: {}",
                        self.server.endpoint.host,
                        in_full(&error)
                    );
                    return Err(of_body(self.failure(FailureKind::Cut, words), so_far));
                }
                Err(expired) => return Err(of_body(self.expired(expired), so_far)),
            }
        }
        body.finish();
        Ok(if data.is_empty() { first } else { data.into() })
    }
}
