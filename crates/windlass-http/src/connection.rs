//! Owns a connection to a server, and the step that drives it.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Waker};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use tokio::task::unconstrained;

use super::connect::Io;

/// A request with its whole body, on its way. Boxed: each future that hands it on would have room for it twice.
pub type Outgoing = Box<Request<Full<Bytes>>>;

/// A connection to a server, with at most one exchange on it.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    io: http1::Connection<Box<dyn Io>, Full<Bytes>>,
    /// It was closed, and is not to be polled any more.
    over: bool,
}

impl Connection {
    /// The connection over a stream on which nothing was sent yet.
    pub(crate) async fn over(stream: Box<dyn Io>) -> hyper::Result<Self> {
        let (sender, io) = http1::handshake(stream).await?;
        Ok(Self { sender, io, over: false })
    }

    /// Reads and writes what can be.
    pub(crate) fn drive(&mut self, context: &mut Context<'_>) {
        // The error is reported to the caller that waits for the reply or its body.
        self.over = self.over || Pin::new(&mut self.io).poll(context).is_ready();
    }

    /// Whether it can take a request.
    pub(crate) fn is_open(&mut self, context: &mut Context<'_>) -> bool {
        self.drive(context);
        !self.over && self.sender.is_ready()
    }

    /// Sends a request and waits for the head of its reply.
    pub(crate) async fn ask(
        &mut self,
        request: Outgoing,
    ) -> Result<Response<hyper::body::Incoming>, Refused> {
        // A waker that wakes nobody must not be what a task's used-up budget is told to.
        let mut reply = pin!(unconstrained(self.sender.try_send_request(*request)));
        let (io, over) = (&mut self.io, &mut self.over);
        poll_fn(|context| {
            *over = *over || Pin::new(&mut *io).poll(context).is_ready();
            // Only the connection's progress brings the reply: it is asked after each step, and wakes nobody itself.
            reply.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        })
        .await
    }
}

/// A request that got no reply, given back where nothing of it was sent.
pub(crate) type Refused = hyper::client::conn::TrySendError<Request<Full<Bytes>>>;

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("over", &self.over).finish_non_exhaustive()
    }
}
