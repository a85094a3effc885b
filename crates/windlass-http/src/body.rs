//! Owns the body of a reply. Reading it also drives the connection.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};

use super::connection::Connection;
use super::pool::Pool;

/// The body of a reply. A body that is dropped before its end takes the connection with it.
#[derive(Debug)]
pub struct Body {
    incoming: Incoming,
    /// `None`: the end was reached.
    connection: Option<Box<Connection>>,
    pool: Arc<Pool>,
}

impl Body {
    pub(crate) fn new(incoming: Incoming, connection: Box<Connection>, pool: Arc<Pool>) -> Self {
        Self { incoming, connection: Some(connection), pool }
    }

    /// The length that the head of the reply promises.
    pub fn promised(&self) -> Option<u64> {
        self.incoming.size_hint().exact()
    }

    /// The next piece, `None` at the end.
    pub async fn next(&mut self) -> Option<hyper::Result<Bytes>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// At most so many bytes of what is left, and whether there are more, which are left.
    ///
    /// # Errors
    /// The reply breaks off.
    pub async fn read(&mut self, most: usize) -> hyper::Result<(Vec<u8>, bool)> {
        let mut data = Vec::new();
        while let Some(piece) = self.next().await {
            let piece = piece?;
            let room = most - data.len();
            data.extend_from_slice(piece.get(..room).unwrap_or(&piece));
            if piece.len() > room {
                return Ok((data, true));
            }
        }
        Ok((data, false))
    }

    /// Whether nothing more comes, as far as it is known without waiting.
    pub fn is_over(&self) -> bool {
        self.connection.is_none() || self.incoming.is_end_stream()
    }

    /// Lets the connection be used again, if the end was reached.
    pub fn finish(&mut self) {
        if self.is_over()
            && let Some(connection) = self.connection.take()
        {
            self.pool.put(connection);
        }
    }

    /// One step towards the next piece.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<hyper::Result<Bytes>>> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(None) };
        // Only the connection's progress brings pieces: its waker is the one that counts, and the body needs none.
        let mut quiet = Context::from_waker(Waker::noop());
        let mut driven = false;
        loop {
            match Pin::new(&mut self.incoming).poll_frame(&mut quiet) {
                Poll::Ready(Some(Ok(frame))) => {
                    // Trailers say nothing that is wanted.
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    self.connection = None;
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(None) => {
                    if let Some(connection) = self.connection.take() {
                        self.pool.put(connection);
                    }
                    return Poll::Ready(None);
                }
                Poll::Pending if driven => return Poll::Pending,
                Poll::Pending => {
                    connection.drive(context);
                    driven = true;
                }
            }
        }
    }
}
