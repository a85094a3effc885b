//! A connection that ends when its peer takes nothing of what is sent for too long.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A connection with a limit on the time without progress in sending.
#[derive(Debug)]
pub(crate) struct Paced<S> {
    stream: S,
    limit: Duration,
    /// Runs while the peer takes nothing.
    stuck: Option<Pin<Box<Sleep>>>,
    /// Whether bytes have come since the last ones were sent.
    within_request: bool,
    /// The status of hyper's own reply to a head that it could not read, which was held back.
    refused_head: Option<u16>,
}

impl<S> Paced<S> {
    pub(crate) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, stuck: None, within_request: false, refused_head: None }
    }

    /// Whether a request has begun to come and nothing was sent since.
    pub(crate) fn is_within_request(&self) -> bool {
        self.within_request
    }

    /// The status of hyper's reply to a head that it could not read. It has no body, so it was not sent.
    pub(crate) fn refused_head(&self) -> Option<u16> {
        self.refused_head
    }

    /// Holds back the reply of hyper itself, if these bytes are one.
    fn holds_back(&mut self, bytes: &[u8]) -> bool {
        let status = empty_refusal(bytes);
        self.refused_head = self.refused_head.or(status);
        status.is_some()
    }

    /// The outcome of sending, or a fault if it takes too long.
    fn watched<T>(&mut self, context: &mut Context<'_>, sent: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if sent.is_ready() {
            self.stuck = None;
            return sent;
        }
        let limit = self.limit;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(stuck.as_mut().poll(context));
        // A later attempt has its own time.
        stuck.as_mut().reset(Instant::now() + limit);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the reader takes nothing of what is sent")))
    }
}

/// The status of a reply that refuses and has no body, as hyper makes it for a head that it cannot read. No reply of a route is one.
fn empty_refusal(bytes: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(bytes.strip_prefix(b"HTTP/1.1 ")?.strip_suffix(b"\r\n\r\n")?).ok()?;
    let mut lines = text.split("\r\n");
    let status: u16 = lines.next()?.split(' ').next()?.parse().ok()?;
    let is_empty = lines.any(|line| line == "content-length: 0");
    ((400..500).contains(&status) && is_empty && !text.contains("\r\n\r\n")).then_some(status)
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.within_request |= buffer.filled().len() > before;
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.holds_back(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        self.within_request = false;
        let sent = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watched(context, sent)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = bytes
            && self.holds_back(only)
        {
            return Poll::Ready(Ok(only.len()));
        }
        self.within_request = false;
        let sent = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.watched(context, sent)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sent = Pin::new(&mut self.stream).poll_flush(context);
        self.watched(context, sent)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let sent = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watched(context, sent)
    }
}
