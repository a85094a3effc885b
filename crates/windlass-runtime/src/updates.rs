//! Updates: what subscribers of a run see. Facts come after they are durable; pieces of replies are ephemeral.

use std::sync::Arc;

use tokio::sync::broadcast;
use windlass_core::{ActionId, Event, LogLine, RunId};
use windlass_store::{Batch, EventLog};

/// How many updates a subscriber may lag behind before it loses pieces (never facts: those are read from the log).
pub const UPDATES_KEPT: usize = 1024;

/// Something that a subscriber of a run sees.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// A piece of the model's text.
    Text {
        /// The model call.
        action: ActionId,
        /// The piece.
        text: Arc<str>,
    },
    /// A piece of the model's reasoning.
    Reasoning {
        /// The model call.
        action: ActionId,
        /// The piece.
        text: Arc<str>,
    },
    /// A piece of a tool call.
    Call {
        /// The model call.
        action: ActionId,
        /// The call's place in the reply, if the provider says it.
        index: Option<u32>,
        /// The tool's name, once.
        name: Option<Arc<str>>,
        /// More of its arguments.
        args: Arc<str>,
    },
    /// The earlier pieces of this model call are void: it broke and is tried again, or failed.
    Void {
        /// The model call.
        action: ActionId,
    },
    /// Facts that are durable now.
    Events(Batch),
    /// A line that the agent's preset logs.
    Log(LogLine),
    /// An input was refused: somebody sent something that did not fit. The run goes on.
    Refused {
        /// Why.
        violation: Arc<windlass_core::Violation>,
    },
}

/// The sending side: never waits for anybody.
#[derive(Clone, Debug)]
pub(crate) struct Publisher {
    sender: broadcast::Sender<Update>,
}

impl Publisher {
    pub(crate) fn new() -> Self {
        Self { sender: broadcast::Sender::new(UPDATES_KEPT) }
    }

    /// Whether anybody listens: otherwise nothing needs to be made.
    pub(crate) fn heard(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    pub(crate) fn send(&self, update: Update) {
        // An error means that nobody listens: that is fine.
        let _unheard = self.sender.send(update);
    }

    pub(crate) fn subscribe(&self, run: RunId, log: Arc<dyn EventLog>) -> Updates {
        Updates { receiver: self.sender.subscribe(), run, log, seen: 0, late: Vec::new() }
    }
}

/// A subscriber's view of a run: every fact once and in order, and as many of the pieces as it keeps up with.
#[derive(Debug)]
pub struct Updates {
    receiver: broadcast::Receiver<Update>,
    run: RunId,
    log: Arc<dyn EventLog>,
    seen: u64,
    late: Vec<Batch>,
}

impl Updates {
    /// The next update; `None` once the run is no longer driven here.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            if !self.late.is_empty() {
                let batch = self.late.remove(0);
                if batch.last() > self.seen {
                    self.seen = batch.last();
                    return Some(Update::Events(batch));
                }
                continue;
            }
            match self.receiver.recv().await {
                Ok(Update::Events(batch)) if batch.last() <= self.seen => {}
                Ok(Update::Events(batch)) => {
                    self.seen = batch.last();
                    return Some(Update::Events(batch));
                }
                Ok(update) => return Some(update),
                Err(broadcast::error::RecvError::Closed) => return None,
                // Too slow for the pieces: the facts are in the log.
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    self.late =
                        self.log.read(self.run, self.seen + 1, UPDATES_KEPT).await.unwrap_or_default();
                }
            }
        }
    }

    /// Facts up to this one are known already.
    #[must_use]
    pub fn after(mut self, seen: u64) -> Self {
        self.seen = seen;
        self
    }
}

/// One event of a batch with its number, for those who take them one by one.
pub fn numbered(batch: &Batch) -> impl Iterator<Item = (u64, &Event)> {
    (batch.first..).zip(batch.events.iter())
}
