//! Limits a server's requests and notifications, on every transport.
//!
//! Windlass offers servers nothing to ask for, but each request has an answer, and the answer repeats the request's id.
//! So two things are bounded: the length of a message, which each wire looks at before it reads the message, and how
//! many requests wait for their answers to be taken. A server that goes beyond either is cut off. What it tells at too
//! great a length is passed over.

use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{JsonRpcMessage, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use windlass_core::text::steps;

/// Maximum length of a server's request or notification, in bytes (16 KiB). An answer repeats the request's id, so this times
/// [`MAX_UNANSWERED`] bounds the queued answers (16 MiB).
const MAX_ASKING_BYTES: usize = 16 * 1024;

/// Maximum number of queued answers to a server's requests. A server that sends requests and reads no answers is disconnected.
const MAX_UNANSWERED: usize = 1_000;

/// Maximum number of bytes in oversized notifications between two answers of the server (64 MiB).
const MAX_PASSED_OVER: usize = 64 * 1024 * 1024;

/// Timeout for an orderly close.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

pub(super) type Incoming = RxJsonRpcMessage<RoleClient>;

/// Why the connection was ended from this side.
#[derive(Clone, Debug, Default)]
pub(super) struct Fault {
    why: Arc<OnceLock<String>>,
    found: CancellationToken,
    /// Bytes skipped since its last answer.
    passed_over: Arc<AtomicUsize>,
    /// Whether the server no longer knows the session.
    outlived: Arc<AtomicBool>,
}

impl Fault {
    /// The violation, if any.
    pub(super) fn get(&self) -> Option<&String> {
        self.why.get()
    }

    /// Ends the connection. The first reason counts.
    pub(super) fn give_up(&self, why: String) {
        tracing::warn!(%why, "an MCP server violates the protocol");
        let _ = self.why.set(why);
        self.found.cancel();
    }

    /// Takes note that the session is over, which an answer said: the next call gets a new one.
    pub(super) fn outlive_session(&self) {
        self.outlived.store(true, Ordering::Relaxed);
    }

    /// Whether the session is over.
    pub(super) fn has_outlived(&self) -> bool {
        self.outlived.load(Ordering::Relaxed)
    }

    /// Whether a message may be parsed: an answer, or a message below the limit. Others are skipped. An oversized request, or
    /// one oversized notification too many, ends the connection.
    pub(super) fn takes(&self, message: &str) -> bool {
        let bytes = message.len();
        steps::add(bytes);
        // What is no object is broken, which its reader says.
        let Ok(Outline { jsonrpc, method, id }) = serde_json::from_str(message) else { return true };
        let asks = jsonrpc && method && bytes > MAX_ASKING_BYTES;
        if asks && id {
            self.give_up(format!("its request has {bytes} bytes, the maximum is {MAX_ASKING_BYTES}"));
        } else if asks && self.passed_over.fetch_add(bytes, Ordering::Relaxed) + bytes > MAX_PASSED_OVER {
            self.give_up(format!(
                "it sent more than {MAX_PASSED_OVER} bytes of unsolicited messages at once"
            ));
        }
        !asks
    }
}

/// The fields that determine a message's kind: with a method it is a request or notification, with an id it expects an answer.
#[derive(Default)]
struct Outline {
    jsonrpc: bool,
    method: bool,
    id: bool,
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = Outline;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON-RPC message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outline, A::Error> {
                let mut outline = Outline::default();
                while let Some(Name(name)) = map.next_key()? {
                    let is_null = map.next_value::<Option<IgnoredAny>>()?.is_none();
                    outline.jsonrpc |= name == "jsonrpc";
                    outline.method |= name == "method";
                    outline.id |= name == "id" && !is_null;
                }
                Ok(outline)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

#[derive(Deserialize)]
struct Name<'t>(#[serde(borrow)] Cow<'t, str>);

/// A wire that is read only as long as the server takes the answers to what it asks, and no fault was found.
pub(super) struct Bounded<T> {
    /// Gone once it was closed, or a fault was found: what waits on it for a server that does not listen goes with it.
    wire: Option<T>,
    fault: Fault,
    unanswered: Arc<AtomicUsize>,
}

/// An answer that is on its way; once it is written, or cannot be, its request waits no longer.
struct Answer(Arc<AtomicUsize>);

impl Drop for Answer {
    fn drop(&mut self) {
        // A request that the server itself has cancelled may still be answered.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |waiting| waiting.checked_sub(1));
    }
}

impl<T> Bounded<T> {
    pub(super) fn new(wire: T, fault: Fault) -> Self {
        Self { wire: Some(wire), fault, unanswered: Arc::default() }
    }

    /// Takes note of a message of the server.
    fn note(&self, message: &Incoming) {
        match message {
            JsonRpcMessage::Request(_) => {
                if self.unanswered.fetch_add(1, Ordering::Relaxed) >= MAX_UNANSWERED {
                    let why =
                        format!("it does not read the answers to its requests; {MAX_UNANSWERED} are waiting");
                    self.fault.give_up(why);
                }
            }
            JsonRpcMessage::Notification(notification) => {
                if let ServerNotification::CancelledNotification(_) = notification.notification {
                    drop(Answer(self.unanswered.clone()));
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                self.fault.passed_over.store(0, Ordering::Relaxed);
            }
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Bounded<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        let answers = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let answer = answers.then(|| Answer(self.unanswered.clone()));
        let (sent, found) = (self.wire.as_mut().map(|wire| wire.send(item)), self.fault.found.clone());
        async move {
            let Some(sent) = sent else { return Ok(()) };
            // After a fault nothing is waited for: who wants an answer learns that the connection is over.
            let result = tokio::select! {
                biased;
                () = found.cancelled() => Ok(()),
                result = sent => result,
            };
            drop(answer);
            result
        }
    }

    async fn receive(&mut self) -> Option<Incoming> {
        let message = tokio::select! {
            biased;
            () = self.fault.found.cancelled() => {
                self.wire = None;
                None
            }
            message = self.wire.as_mut()?.receive() => message,
        }?;
        self.note(&message);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        let Some(mut wire) = self.wire.take() else { return Ok(()) };
        // A server that talks on keeps rmcp's task busy, which then does not hear that it should end; its drop ends it.
        timeout(CLOSE_LIMIT, wire.close()).await.unwrap_or(Ok(()))
    }
}

#[cfg(test)]
mod tests;
