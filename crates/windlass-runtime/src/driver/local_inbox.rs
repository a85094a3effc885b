//! Inputs of a run from this process, and the request to detach from it.

use std::sync::OnceLock;
use std::task::{Context, Poll};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Sent;

/// Maximum number of inputs that wait for a driver that is busy appending.
const INBOX: usize = 64;

// Boxed, because a queue sets aside room for 32 of them.
type Sender = mpsc::Sender<Box<Sent>>;

/// The inputs of this process. The queue is made with the first handle of the run: a run without one costs none.
#[derive(Debug, Default)]
pub(crate) struct LocalInbox(OnceLock<Queue>);

#[derive(Debug)]
struct Queue {
    sender: Sender,
    receiver: mpsc::Receiver<Box<Sent>>,
}

impl LocalInbox {
    pub(crate) fn sender(&self) -> Sender {
        let queue = self.0.get_or_init(|| {
            let (sender, receiver) = mpsc::channel(INBOX);
            Queue { sender, receiver }
        });
        queue.sender.clone()
    }

    /// Takes no more inputs: their senders turn to the durable inbox.
    pub(crate) fn close(&mut self) {
        if let Some(queue) = self.0.get_mut() {
            queue.receiver.close();
        }
    }

    /// The next input, if one has come.
    pub(crate) fn try_recv(&mut self) -> Option<Box<Sent>> {
        self.0.get_mut()?.receiver.try_recv().ok()
    }

    /// Waits for the next input; for ever where none can come.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Box<Sent>> {
        let Some(queue) = self.0.get_mut() else { return Poll::Pending };
        match queue.receiver.poll_recv(context) {
            Poll::Ready(Some(sent)) => Poll::Ready(sent),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

/// The request to detach from a run and from those that it hands tasks to. The token is made for the first who asks for it.
#[derive(Debug, Default)]
pub(crate) struct Detach(OnceLock<CancellationToken>);

impl Detach {
    pub(crate) fn token(&self) -> &CancellationToken {
        self.0.get_or_init(CancellationToken::new)
    }

    /// The token, if anybody has asked for it.
    pub(crate) fn made(&self) -> Option<&CancellationToken> {
        self.0.get()
    }
}

impl From<CancellationToken> for Detach {
    fn from(token: CancellationToken) -> Self {
        Self(token.into())
    }
}
