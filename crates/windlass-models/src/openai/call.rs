//! Owns one HTTP call: from the request to the pieces of its reply, or to a failure sorted by kind.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::mem::take;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt;
use opentelemetry::global;
use opentelemetry::trace::TraceContextExt;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};
use tokio::time::Instant;
use windlass_core::{FailureKind, ModelFailure, Text, Usage, mask};
use windlass_threads::{LARGE_BYTES, off_thread};

use super::Server;
use super::classify::kind_of;
use super::decode::{DecodeError, Decoder, decode, estimate};
use super::sse::SseParser;
use super::trouble::{causes, chain, read_refusal, unsent};
use super::watch::{Expired, Watch};
use crate::Delta;

/// How much longer a reply may be in JSON than it is: an escape takes up to six bytes for two.
const MAX_ESCAPED: u64 = 3;

/// The most bytes that a body, or an event of a stream, may have around the reply in it (1 MiB).
const MAX_WRAPPING_BYTES: u64 = 1024 * 1024;

/// The most bytes of a streamed reply's body: each token comes in some hundred bytes of wrapping.
const MAX_STREAM_BYTES: usize = 512 * 1024 * 1024;

/// What a call knows of itself.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) server: Arc<Server>,
    /// The model, by the name that was asked for.
    pub(super) model: Text,
    pub(super) content_bytes: usize,
    pub(super) stream: bool,
    /// The most bytes of the reply.
    pub(super) max_reply_bytes: u64,
}

/// A large event that is being decoded elsewhere: what was lent comes back, with what was found.
type Away =
    Pin<Box<dyn Future<Output = (SseParser, Decoder, VecDeque<Delta>, Result<(), DecodeError>)> + Send>>;

type Body = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// Sends the request and waits for the head of the reply, or for all of it if it is not streamed.
pub(super) async fn open(call: Call, body: Vec<u8>) -> Result<Reading, ModelFailure> {
    let mut watch = Watch::start(call.server.timeouts, call.stream);
    let client = call.server.client().map_err(|error| call.failure(FailureKind::Connect, chain(&error)))?;
    let mut request = reqwest::Request::new(Method::POST, call.server.endpoint.chat.clone());
    request.headers_mut().clone_from(call.server.headers());
    trace(request.headers_mut());
    *request.body_mut() = Some(body.into());
    let response = match watch.guard(client.execute(request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(call.unsent(&error)),
        Err(expired) => return Err(call.expired(expired)),
    };
    if !response.status().is_success() {
        return Err(call.refused(response, &mut watch).await);
    }
    if comes_in_events(&response, call.stream) {
        return Ok(Reading::events(call, Box::pin(response.bytes_stream()), watch));
    }
    let data = call.read_whole(response, &mut watch).await?;
    let (model, seal, content_bytes) = (call.model.clone(), call.server.seal(), call.content_bytes);
    let heft = data.len() as u64;
    let decoded = off_thread(heft, move || decode(&data, &model, seal, content_bytes)).await;
    let reply = decoded.map_err(|error| call.undecoded(error, Usage::default()))?;
    Ok(Reading::whole(call, Delta::Whole(Box::new(reply)), watch))
}

/// Says which span the call belongs to, if there is one (W3C Trace Context).
fn trace(headers: &mut HeaderMap) {
    if !opentelemetry::Context::map_current(TraceContextExt::has_active_span) {
        return;
    }
    let mut carrier: HashMap<String, String> = HashMap::new();
    global::get_text_map_propagator(|propagator| propagator.inject(&mut carrier));
    for (name, value) in carrier {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
}

/// Whether the body is a stream of events: by its type, else by what was asked for.
fn comes_in_events(response: &Response, asked: bool) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim() {
        "text/event-stream" => true,
        "application/json" | "text/html" => false,
        _ => asked,
    }
}

/// The reading of a reply: a stream of its pieces.
pub(super) struct Reading {
    call: Call,
    body: Option<Body>,
    watch: Watch,
    parser: SseParser,
    decoder: Decoder,
    queue: VecDeque<Delta>,
    arrived: Instant,
    read: usize,
    events: usize,
    /// While there is one, the parser and the decoder are with it.
    away: Option<Away>,
    /// Nothing more will be read.
    over: bool,
}

impl Reading {
    fn events(call: Call, body: Body, watch: Watch) -> Self {
        let decoder = Decoder::new(call.server.seal());
        let parser = SseParser::bounded(call.max_body_bytes());
        Self {
            call,
            body: Some(body),
            watch,
            parser,
            decoder,
            queue: VecDeque::new(),
            arrived: Instant::now(),
            read: 0,
            events: 0,
            away: None,
            over: false,
        }
    }

    fn whole(call: Call, delta: Delta, watch: Watch) -> Self {
        let mut reading = Self::events(call, Box::pin(futures_util::stream::empty()), watch);
        reading.body = None;
        reading.over = true;
        reading.queue.push_back(delta);
        reading
    }

    /// Decodes the next whole event, if there is one: at once, or elsewhere if it is large.
    fn decode_next(&mut self) -> Result<bool, ModelFailure> {
        if self.decoder.is_done() {
            return Ok(false);
        }
        let Some(bytes) = self.parser.next_event() else { return Ok(false) };
        self.events += 1;
        if (bytes as u64) < LARGE_BYTES {
            let decoded = self.decoder.chunk(self.parser.data(), &mut self.queue);
            return self.decoded(decoded).map(|()| true);
        }
        let (parser, mut decoder) = (take(&mut self.parser), take(&mut self.decoder));
        self.away = Some(Box::pin(off_thread(bytes as u64, move || {
            let mut queue = VecDeque::new();
            let decoded = decoder.chunk(parser.data(), &mut queue);
            (parser, decoder, queue, decoded)
        })));
        Ok(true)
    }

    fn decoded(&mut self, decoded: Result<(), DecodeError>) -> Result<(), ModelFailure> {
        if !self.queue.is_empty() {
            self.watch.token(self.arrived);
        }
        decoded.map_err(|error| self.call.undecoded(error, self.paid()))
    }

    fn paid(&self) -> Usage {
        self.decoder.usage(self.call.content_bytes)
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), ModelFailure> {
        self.arrived = Instant::now();
        self.read = self.read.saturating_add(bytes.len());
        if let Some(expired) = self.watch.total_over(self.arrived).filter(|_| !self.decoder.is_finished()) {
            return Err(ModelFailure { usage: self.paid(), ..self.call.expired(expired) });
        }
        let too_long = if self.read > MAX_STREAM_BYTES {
            format!("the stream is longer than {MAX_STREAM_BYTES} bytes")
        } else if self.decoder.is_done() || self.parser.push(bytes).is_ok() {
            return Ok(());
        } else {
            let most = self.call.max_body_bytes();
            format!("an event of the stream is longer than {most} bytes ({})", self.call.bound())
        };
        Err(ModelFailure { usage: self.paid(), ..self.call.failure(FailureKind::TooLarge, too_long) })
    }

    /// The body is over, for whatever reason: whole if a reason for the end came before.
    fn end(&mut self, broken: Option<String>) -> Result<(), ModelFailure> {
        self.over = true;
        self.body = None;
        if self.decoder.end(self.call.content_bytes, &mut self.queue) {
            return Ok(());
        }
        let host = &self.call.server.endpoint.host;
        let (kind, message) = match broken {
            Some(why) => (FailureKind::Cut, format!("the stream from {host} broke: {why}")),
            None if self.read > 0 && self.events == 0 => {
                (FailureKind::Protocol, format!("the reply from {host} is no stream of events"))
            }
            None => (FailureKind::Cut, format!("the stream from {host} ended before the reply did")),
        };
        Err(ModelFailure { usage: self.paid(), ..self.call.failure(kind, message) })
    }

    /// One step towards the next piece. `Ready(Ok(()))`: look again.
    fn step(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), ModelFailure>> {
        if let Some(away) = &mut self.away {
            let (parser, decoder, queue, decoded) = ready!(away.as_mut().poll(cx));
            (self.parser, self.decoder, self.away) = (parser, decoder, None);
            self.queue.extend(queue);
            return Poll::Ready(self.decoded(decoded));
        }
        match self.decode_next() {
            Ok(true) => return Poll::Ready(Ok(())),
            Ok(false) => {}
            Err(failure) => return Poll::Ready(Err(failure)),
        }
        if self.decoder.is_done() {
            self.watch.linger();
        }
        let Some(body) = self.body.as_mut() else { return Poll::Ready(self.end(None)) };
        match body.as_mut().poll_next(cx) {
            Poll::Ready(Some(Ok(bytes))) => Poll::Ready(self.add(&bytes)),
            Poll::Ready(Some(Err(error))) => Poll::Ready(self.end(Some(causes(&error)))),
            Poll::Ready(None) => {
                // The last event may lack its blank line.
                self.parser.end();
                self.body = None;
                Poll::Ready(Ok(()))
            }
            Poll::Pending => self.watch.poll(cx).map(|expired| {
                if self.decoder.is_finished() {
                    return self.end(None);
                }
                Err(ModelFailure { usage: self.paid(), ..self.call.expired(expired) })
            }),
        }
    }
}

impl Stream for Reading {
    type Item = Result<Delta, ModelFailure>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(delta) = self.queue.pop_front() {
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
                    self.queue.clear();
                    return Poll::Ready(Some(Err(failure)));
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl Call {
    fn failure(&self, kind: FailureKind, message: impl AsRef<str>) -> ModelFailure {
        ModelFailure {
            kind,
            status: None,
            message: mask(message.as_ref()).into(),
            retry_after_ms: None,
            usage: Usage::default(),
            model: self.model.clone(),
        }
    }

    /// The most bytes of a body, or of one event of it.
    fn max_body_bytes(&self) -> usize {
        let most = self.max_reply_bytes.saturating_mul(MAX_ESCAPED).saturating_add(MAX_WRAPPING_BYTES);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Where the bound on bodies comes from.
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

    fn expired(&self, expired: Expired) -> ModelFailure {
        self.failure(FailureKind::Timeout, format!("{expired} from {}", self.server.endpoint.host))
    }

    /// The request got no reply.
    fn unsent(&self, error: &reqwest::Error) -> ModelFailure {
        self.failure(FailureKind::Connect, unsent(&self.server, error))
    }

    fn undecoded(&self, error: DecodeError, usage: Usage) -> ModelFailure {
        ModelFailure { status: error.status, usage, ..self.failure(error.kind, error.message) }
    }

    /// The provider answered with an error.
    async fn refused(&self, response: Response, watch: &mut Watch) -> ModelFailure {
        let (status, retry_after_ms, report) = read_refusal(response, watch).await;
        let kind = kind_of(status, &report);
        let words = match (report.message.as_str(), kind) {
            (said, FailureKind::NotFound) => {
                format!("{said} (model `{}` at {})", self.model, self.server.endpoint.chat)
            }
            (said, _) => said.to_owned(),
        };
        ModelFailure { status: Some(status), retry_after_ms, ..self.failure(kind, words) }
    }

    pub(super) async fn read_whole(
        &self,
        response: Response,
        watch: &mut Watch,
    ) -> Result<Vec<u8>, ModelFailure> {
        let most = self.max_body_bytes();
        if response.content_length().is_some_and(|length| length > most as u64) {
            return Err(self.body_too_large(most, 0));
        }
        let mut data = Vec::new();
        let mut body = Box::pin(response.bytes_stream());
        loop {
            watch.token(Instant::now());
            match watch.guard(body.next()).await {
                Ok(None) => return Ok(data),
                Ok(Some(Ok(bytes))) if data.len() + bytes.len() <= most => {
                    data.extend_from_slice(&bytes);
                }
                Ok(Some(Ok(_))) => {
                    return Err(self.body_too_large(most, data.len()));
                }
                Ok(Some(Err(error))) => {
                    let words =
                        format!("the reply from {} broke: {}", self.server.endpoint.host, causes(&error));
                    return Err(self.failure(FailureKind::Cut, words));
                }
                Err(expired) => return Err(self.expired(expired)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
