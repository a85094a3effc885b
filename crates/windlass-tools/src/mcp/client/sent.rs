//! Whether a call's request may have reached its server. The note travels with the request through rmcp to the wire, which
//! alone knows when the send begins.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use futures_util::FutureExt as _;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResponse, CancelledNotification,
    CancelledNotificationParam, ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId, ServerResult,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use rmcp::{Peer, RoleClient};

/// It has not been sent, or was refused before the call began.
const UNSENT: u8 = 0;
/// It may have arrived.
const SENT: u8 = 1;
/// It was given up before it was sent, and is not sent any more.
const GIVEN_UP: u8 = 2;

/// The state of one request.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent(Arc<AtomicU8>);

impl Sent {
    /// The note that a message carries, if it is a call.
    pub(super) fn of(message: &ClientJsonRpcMessage) -> Option<&Self> {
        let JsonRpcMessage::Request(request) = message else { return None };
        let ClientRequest::CallToolRequest(call) = &request.request else { return None };
        call.extensions.get()
    }

    /// The send begins. `false`: the call was given up and may not be sent.
    pub(super) fn begin(&self) -> bool {
        let begun = self.0.compare_exchange(UNSENT, SENT, Ordering::SeqCst, Ordering::SeqCst);
        begun.is_ok() || begun == Err(SENT)
    }

    /// The server refused it as a whole, or there was no connection.
    pub(super) fn refuse(&self) {
        let _ = self.0.compare_exchange(SENT, UNSENT, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Whether it may have arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.0.load(Ordering::SeqCst) == SENT
    }

    /// Nobody waits for the call any more: it is not sent from now on. Whether it may have arrived.
    pub(super) fn give_up(&self) -> bool {
        self.0.compare_exchange(UNSENT, GIVEN_UP, Ordering::SeqCst, Ordering::SeqCst) == Err(SENT)
    }
}

/// Sends a call with its note, as rmcp's `call_tool_once` does without one.
#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
pub(super) async fn call(
    peer: &Peer<RoleClient>,
    params: CallToolRequestParams,
    sent: &Sent,
) -> Result<CallToolResponse, ServiceError> {
    let mut call = CallToolRequest::new(params);
    call.extensions.insert(sent.clone());
    let request = ClientRequest::CallToolRequest(call);
    let handle = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
    let mut waiting = Waiting { peer, sent, id: Some(handle.id.clone()) };
    let answer = handle.await_response().await;
    waiting.id = None;
    match answer? {
        ServerResult::CallToolResult(result) => Ok(CallToolResponse::Complete(result)),
        ServerResult::InputRequiredResult(result) => Ok(CallToolResponse::InputRequired(result)),
        ServerResult::CreateTaskResult(result) => Ok(CallToolResponse::Task(result)),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

/// A call that waits for its answer. One that is dropped before is given up, and the server is told.
struct Waiting<'a> {
    peer: &'a Peer<RoleClient>,
    sent: &'a Sent,
    id: Option<RequestId>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        self.sent.give_up();
        let reason = Some("request abandoned by the caller".to_owned());
        let notification = CancelledNotification::new(CancelledNotificationParam::new(Some(id), reason));
        // One poll puts it into the queue; nobody waits until it is written.
        let _ = self.peer.send_notification(notification.into()).now_or_never();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e30_a_call_that_was_given_up_before_its_send_is_not_sent() {
        let sent = Sent::default();
        assert!(!sent.has_begun() && sent.begin() && sent.has_begun());
        sent.refuse();
        assert!(!sent.has_begun() && sent.begin(), "it is sent again in a new session");
        assert!(sent.give_up() && sent.has_begun());
        let sent = Sent::default();
        assert!(!sent.give_up() && !sent.begin() && !sent.has_begun());
    }
}
