//! Updates: what subscribers of a run see. Facts come after they are durable; pieces of replies are ephemeral.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use windlass_core::run::{LogLevel, LogLine};
use windlass_core::{ActionId, RunId};
use windlass_error::Diagnostic as _;
use windlass_read::numbered;
use windlass_store::{Batch, Log};

use crate::driver::partial::Partially;

/// The number of updates that a subscriber may lag behind before it loses pieces. It never loses events, which are read from
/// the log.
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
    /// The partial output while the model writes it. Within a model call, members only appear or grow. The last partial of a
    /// run that ends with a model's output equals it, and is sent once the output is durable.
    Partial {
        /// The model call.
        action: ActionId,
        /// The output so far.
        output: Arc<Value>,
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
    /// An invalid input was refused. The run continues.
    Refused {
        /// Why.
        invalid: Arc<windlass_core::InvalidInput>,
    },
}

impl Update {
    /// The partial output as a `T`. `None`: this is another update, or the value does not deserialize yet.
    pub fn partial_as<T: Partially>(&self) -> Option<T::Partial> {
        if let Self::Partial { output, .. } = self { T::Partial::deserialize(&**output).ok() } else { None }
    }

    /// As JSON: one object, or one for each event of an append.
    pub fn to_json(&self) -> Vec<Value> {
        let value = match self {
            Self::Text { action, text } => json!({ "type": "text", "action": action.seq, "text": text }),
            Self::Reasoning { action, text } => {
                json!({ "type": "reasoning", "action": action.seq, "text": text })
            }
            Self::Call { action, index, name, args } => {
                json!({ "type": "call", "action": action.seq, "index": index, "name": name, "args": args })
            }
            Self::Partial { action, output } => {
                json!({ "type": "partial", "action": action.seq, "output": output })
            }
            Self::Void { action } => json!({ "type": "void", "action": action.seq }),
            Self::Log(line) => {
                json!({ "type": "log", "warning": line.level != LogLevel::Info, "text": line.text })
            }
            Self::Refused { invalid } => {
                json!({ "type": "refused", "code": invalid.code(), "message": invalid.to_string() })
            }
            Self::Events(batch) => {
                return numbered(batch).map(|(seq, event)| windlass_read::json::event(seq, event)).collect();
            }
        };
        vec![value]
    }
}

/// Takes facts and pieces the moment they come, where they come from: it waits for nothing.
pub(crate) trait Listener: fmt::Debug + Send + Sync {
    /// Takes an update.
    fn hear(&self, update: Update);
}

/// The sending side: never waits for anybody. Its queue takes about 100 KiB, so it is made for the first subscriber. A clone reaches
/// the same subscribers, and the same listener.
#[derive(Clone, Debug, Default)]
pub(crate) struct Publisher {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    sender: OnceLock<broadcast::Sender<Update>>,
    /// The last model call of which pieces have come, whether or not anybody listened.
    spoken: AtomicU64,
    /// Whether there ever was a listener: most runs have none, and ask at each piece.
    was_heard: AtomicBool,
    listener: Mutex<Option<Weak<dyn Listener>>>,
}

impl Shared {
    fn slot(&self) -> Option<MutexGuard<'_, Option<Weak<dyn Listener>>>> {
        let heard = self.was_heard.load(Ordering::Acquire);
        heard.then(|| self.listener.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn listener(&self) -> Option<Arc<dyn Listener>> {
        self.slot()?.as_ref()?.upgrade()
    }
}

impl Publisher {
    /// Whether anybody subscribes: otherwise lines for people and partial outputs need not be made.
    pub(crate) fn heard(&self) -> bool {
        self.shared.sender.get().is_some_and(|sender| sender.receiver_count() > 0)
    }

    /// Whether anybody sees pieces: a subscriber or a listener. Otherwise they need not be made.
    pub(crate) fn shows_pieces(&self) -> bool {
        self.heard()
            || self.shared.slot().is_some_and(|slot| slot.as_ref().is_some_and(|one| one.strong_count() > 0))
    }

    pub(crate) fn send(&self, update: Update) {
        // An error means that there are no subscribers, which is fine.
        match (self.shared.listener(), self.shared.sender.get()) {
            (Some(listener), Some(sender)) => {
                listener.hear(update.clone());
                let _unheard = sender.send(update);
            }
            (Some(listener), None) => listener.hear(update),
            (None, Some(sender)) => drop(sender.send(update)),
            (None, None) => {}
        }
    }

    /// From now on, this one hears each update, in place of the one before; `None`: nobody.
    pub(crate) fn set_listener(&self, listener: Option<Weak<dyn Listener>>) {
        *self.shared.listener.lock().unwrap_or_else(PoisonError::into_inner) = listener;
        self.shared.was_heard.store(true, Ordering::Release);
    }

    /// A piece of a model call has come, and is sent to subscribers after this.
    pub(crate) fn speaks(&self, action: ActionId) {
        self.shared.spoken.store(action.seq, Ordering::Release);
    }

    /// The last model call of which somebody who subscribed or listened before this may have missed pieces; 0: none.
    pub(crate) fn spoken(&self) -> u64 {
        self.shared.spoken.load(Ordering::Acquire)
    }

    pub(crate) fn subscribe(&self, run: RunId, log: Arc<dyn Log>) -> Updates {
        Updates {
            receiver: self.shared.sender.get_or_init(|| broadcast::Sender::new(UPDATES_KEPT)).subscribe(),
            run,
            log,
            seen: 0,
            late: VecDeque::new(),
            missing: 0,
            lagged: false,
        }
    }
}

/// A subscriber's view of a run: every fact once and in order, and as many of the pieces as it keeps up with.
#[derive(Debug)]
pub struct Updates {
    receiver: broadcast::Receiver<Update>,
    run: RunId,
    log: Arc<dyn Log>,
    seen: u64,
    /// Facts that were missed and read from the log since.
    late: VecDeque<Batch>,
    /// Facts up to this one are to be read from the log before anything else.
    missing: u64,
    /// Whether something was missed since the last fact.
    lagged: bool,
}

impl Updates {
    /// The next update; `None` once the run is no longer driven here.
    ///
    /// A reader that lags by more than [`UPDATES_KEPT`] loses the pieces up to the next fact, so that no text ever has a hole.
    pub async fn next(&mut self) -> Option<Update> {
        loop {
            if let Some(batch) = self.late.pop_front() {
                self.seen = self.seen.max(batch.last());
                return Some(Update::Events(batch));
            }
            if self.missing > self.seen {
                self.catch_up().await;
                continue;
            }
            match self.receiver.recv().await {
                Ok(Update::Events(batch)) if batch.last() <= self.seen => {}
                Ok(Update::Events(batch)) if batch.first > self.seen + 1 => {
                    self.missing = batch.last();
                    self.lagged = false;
                }
                Ok(Update::Events(batch)) => {
                    self.lagged = false;
                    let batch = batch.starting_at(self.seen + 1);
                    self.seen = batch.last();
                    return Some(Update::Events(batch));
                }
                Ok(_) if self.lagged => {}
                Ok(update) => return Some(update),
                Err(broadcast::error::RecvError::Lagged(_)) => self.lagged = true,
                // What was missed at the very end is still in the log.
                Err(broadcast::error::RecvError::Closed) if self.lagged => {
                    self.missing = u64::MAX;
                    self.lagged = false;
                }
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }

    /// Reads some of what was missed from the log.
    async fn catch_up(&mut self) {
        match self.log.read(self.run, self.seen + 1, UPDATES_KEPT).await {
            Ok(batches) if batches.is_empty() => self.missing = 0,
            Ok(batches) => self.late.extend(batches),
            Err(error) => {
                tracing::warn!(run = %self.run, "a slow subscriber lost updates: {error}");
                // The next fact tries again.
                self.missing = 0;
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
