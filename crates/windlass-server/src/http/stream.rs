//! Event streams (HTML Living Standard, 9.2): one writer for all doors. A stream is never silent for long, says why it ends, and gives
//! with each event the position to come back to.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::header::CACHE_CONTROL;
use http::{HeaderName, HeaderValue, StatusCode};
use schemars::SchemaGenerator;
use tokio::time::{Instant, Interval, MissedTickBehavior};

use super::reply::{Described, Reply, with_type};
use super::server::Server;

const EVENT_STREAM: &str = "text/event-stream";
/// A comment, which clients skip.
const HEARTBEAT: &[u8] = b":\n\n";

/// The end of an event.
const END: &[u8] = b"\n\n";
/// The most bytes of a long event that are given to a connection at once.
const PIECE_BYTES: usize = 16 << 10;

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamEvent {
    /// The position behind it.
    pub(crate) id: String,
    /// Its name.
    pub(crate) name: &'static str,
    /// Its data: a line of JSON, which many readers of a run may share.
    pub(crate) data: Bytes,
}

/// The next event of a source.
pub(crate) enum Next {
    /// An event.
    Event(StreamEvent),
    /// The last event.
    Last(StreamEvent),
}

/// A source of events. Its `next` is not dropped before it is done, but with the stream.
pub(crate) trait Source: Send + Sized + 'static {
    /// The next event. It may wait for ever.
    fn next(self) -> impl Future<Output = (Self, Next)> + Send;

    /// The last event of a stream that ends although its source has not.
    fn cut(position: &str, why: Cut) -> StreamEvent;
}

/// Why a stream ends although its source has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server ends.
    Closing,
    /// It has lasted as long as one may.
    Expired,
}

/// An event stream as a reply.
pub(crate) struct EventStream(Body);

impl Reply for EventStream {
    fn describe(generator: &mut SchemaGenerator) -> Described {
        let update = generator.subschema_for::<windlass_api::Update>();
        let end = generator.subschema_for::<windlass_api::StreamEnd>();
        let schema = schemars::json_schema!({
            "type": "object",
            "description": "Server-sent events. The last one is `end`.",
            "properties": {
                "id": { "type": "string", "description": "A position." },
                "event": { "type": "string", "description": "The update's `type`, or `end`." },
                "data": {
                    "type": "string",
                    "contentMediaType": "application/json",
                    "contentSchema": { "anyOf": [update, end] },
                },
            },
            "required": ["id", "event", "data"],
        });
        Described { status: StatusCode::OK, media_type: EVENT_STREAM, schema }
    }

    fn respond(self) -> Response {
        let mut reply = with_type(StatusCode::OK, EVENT_STREAM, self.0);
        let headers = reply.headers_mut();
        // Proxies neither keep nor change it, and hold nothing back.
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store, no-transform"));
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
        reply
    }
}

/// The state of a stream between two of its pieces.
struct Open<S: Source> {
    server: Server,
    /// The future that is waited for.
    next: Pin<Box<dyn Future<Output = (S, Next)> + Send>>,
    /// The rest of an event that is being sent.
    sending: VecDeque<Bytes>,
    /// Whether that event is the last one.
    is_last: bool,
    /// Where a reader goes on that comes back now.
    position: String,
    beats: Interval,
    ends_at: Instant,
    _counted: Counted,
}

/// Counts an open stream until it is dropped.
struct Counted(Server);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.metrics().streams.dec();
    }
}

impl EventStream {
    /// The stream of a source, from a position on.
    pub(crate) fn of<S: Source>(server: &Server, source: S, position: String) -> Self {
        server.metrics().streams.inc();
        let settings = server.settings();
        let mut beats = tokio::time::interval(settings.heartbeat());
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let open = Open {
            server: server.clone(),
            next: Box::pin(source.next()),
            sending: VecDeque::new(),
            is_last: false,
            position,
            beats,
            ends_at: Instant::now() + Duration::from_secs(settings.stream_seconds),
            _counted: Counted(server.clone()),
        };
        let pieces = stream::unfold(Some(open), |open| async { piece(open?).await });
        Self(Body::from_stream(pieces.map(Ok::<_, Infallible>)))
    }
}

/// The next piece of a stream. The first one is a sign of life, so that clients see the head of the reply at once. A long event goes out
/// in pieces, each once the reader has room for it: what waits for a reader is shared with the others (E69).
async fn piece<S: Source>(mut open: Open<S>) -> Option<(Bytes, Option<Open<S>>)> {
    if let Some(piece) = open.sending.pop_front() {
        let ends = open.is_last && open.sending.is_empty();
        return Some((piece, (!ends).then_some(open)));
    }
    let closing = open.server.closing().clone();
    let ready = tokio::select! {
        biased;
        ready = &mut open.next => Ok(ready),
        _ = open.beats.tick() => return Some((Bytes::from_static(HEARTBEAT), Some(open))),
        () = closing.cancelled() => Err(Cut::Closing),
        () = tokio::time::sleep_until(open.ends_at) => Err(Cut::Expired),
    };
    let event = match ready {
        Ok((source, Next::Event(event))) => {
            open.position.clone_from(&event.id);
            open.next = Box::pin(source.next());
            open.beats.reset();
            event
        }
        Ok((_, Next::Last(event))) => {
            open.is_last = true;
            event
        }
        Err(why) => {
            open.is_last = true;
            S::cut(&open.position, why)
        }
    };
    open.sending = written(&event);
    let piece = open.sending.pop_front()?;
    let ends = open.is_last && open.sending.is_empty();
    Some((piece, (!ends).then_some(open)))
}

/// An event as it is sent. Its data has no line ends, since JSON escapes them. A short one is one piece.
fn written(event: &StreamEvent) -> VecDeque<Bytes> {
    let StreamEvent { id, name, data } = event;
    let head = format!("id: {id}\nevent: {name}\ndata: ");
    if data.len() <= PIECE_BYTES {
        return VecDeque::from([[head.as_bytes(), data, END].concat().into()]);
    }
    let mut pieces = VecDeque::from([head.into()]);
    let mut rest = data.clone();
    while rest.len() > PIECE_BYTES {
        pieces.push_back(rest.split_to(PIECE_BYTES));
    }
    pieces.extend([rest, Bytes::from_static(END)]);
    pieces
}
