//! Connections: HTTP/1.1 within bounds, and their end with the server's.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::IntoResponse as _;
use futures_util::FutureExt as _;
use http::Request;
use http_body_util::{BodyExt as _, Collected};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Semaphore;
use tower_service::Service as _;
use windlass_error::in_full;

use super::paced::Paced;
use super::peer::Peer;
use super::server::Server;
use crate::error::Error;

/// The most bytes of a request's head, and of what is kept before it is sent.
const BUFFER_BYTES: usize = 64 << 10;
/// The most headers of a request.
const HEADERS: usize = 100;

/// The connections of a server.
#[derive(Clone, Debug)]
pub(crate) struct Connections {
    server: Server,
    app: Router,
    places: Arc<Semaphore>,
    most: usize,
}

impl Connections {
    pub(crate) fn new(server: &Server, app: Router) -> Self {
        let most = server.settings().requests.connections.min(Semaphore::MAX_PERMITS);
        Self { server: server.clone(), app, places: Arc::new(Semaphore::new(most)), most }
    }

    /// Serves a connection in the background. One too many is told so and closed.
    pub(crate) fn serve(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, peer: Peer) {
        let connections = self.clone();
        let place = self.places.clone().try_acquire_owned().ok();
        tokio::spawn(async move {
            let send_ms = connections.server.settings().requests.send_ms;
            let stream = Paced::new(stream, Duration::from_millis(send_ms));
            if connections.server.closing().is_cancelled() {
                refused(stream, Error::Closing).await;
            } else if place.is_some() {
                connections.served(stream, peer).await;
            } else {
                refused(stream, Error::Connections { max: connections.most }).await;
            }
            drop(place);
        });
    }

    /// Waits until all connections have ended.
    pub(crate) async fn ended(&self) {
        let all = u32::try_from(self.most).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        let _all = self.places.acquire_many(all).await;
    }

    async fn served<S>(self, stream: Paced<S>, peer: Peer)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let Self { server, app, .. } = self;
        server.metrics().connections.inc();
        let service = service_fn(move |request: Request<Incoming>| {
            let mut app = app.clone();
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            async move { app.call(request).await }.boxed()
        });
        let mut connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_millis(server.settings().requests.head_ms))
            .max_buf_size(BUFFER_BYTES)
            .max_headers(HEADERS)
            // A client that has sent all that it will is answered; one that is gone is noticed at the next sign of life.
            .half_close(true)
            .serve_connection(TokioIo::new(stream), service);
        let closing = server.closing().clone();
        let mut asked = false;
        let end = loop {
            tokio::select! {
                end = poll_fn(|context| connection.poll_without_shutdown(context)) => break end,
                () = closing.cancelled(), if !asked => {
                    asked = true;
                    std::pin::Pin::new(&mut connection).graceful_shutdown();
                }
            }
        };
        let mut stream = connection.into_parts().io.into_inner();
        match unanswered(&server, &stream, end.err()) {
            Some(error) => refused(stream, error).await,
            // Whoever is gone is told nothing.
            None => drop(stream.shutdown().await),
        }
        server.metrics().connections.dec();
    }
}

/// The error of a request whose head was not read, so that no route has answered it; `None`: there is none.
fn unanswered<S>(server: &Server, stream: &Paced<S>, end: Option<hyper::Error>) -> Option<Error> {
    let fault = end.as_ref().map(|end| in_full(end)).unwrap_or_default();
    match (stream.refused_head(), end) {
        (Some(431), _) => Some(Error::HeadTooLarge),
        (Some(414), _) => Some(Error::PathTooLong),
        (Some(_), _) => Some(Error::Head { fault }),
        (None, Some(_)) if !stream.is_within_request() => None,
        (None, Some(end)) if end.is_timeout() => {
            Some(Error::Slow { seconds: server.settings().requests.head_ms / 1_000 })
        }
        // hyper says nothing to a client that begins with HTTP/2.
        (None, Some(end)) if end.is_parse() => Some(Error::Version),
        (None, Some(end)) if end.is_incomplete_message() => Some(Error::Head { fault }),
        (None, _) => None,
    }
}

/// Sends an error to a connection without a request, and closes it.
async fn refused<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, error: Error) {
    use std::fmt::Write as _;
    let (parts, body) = error.into_response().into_parts();
    let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    let mut head = format!("HTTP/1.1 {}\r\ncontent-length: {}\r\n", parts.status, body.len());
    for (name, value) in &parts.headers {
        // Writing to a string cannot fail.
        let _infallible = write!(head, "{name}: {}\r\n", value.to_str().unwrap_or_default());
    }
    head.push_str("\r\n");
    // Whoever is gone is told nothing.
    let _sent = stream.write_all(&[head.as_bytes(), &body].concat()).await;
    let _closed = stream.shutdown().await;
}
