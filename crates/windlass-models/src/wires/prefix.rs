//! Owns what a run's [`PrefixCell`] holds: the encoded conversation, which each turn only adds to, and the encoded tools.
//!
//! A wire says how messages and tools become bytes ([`Conversation`]); when the kept bytes are the beginning of a request, and
//! when they are not, is the same for all wires.

use std::any::{Any, TypeId};
use std::sync::{Arc, PoisonError};

use windlass_core::Message;
use windlass_core::model::Messages;

use super::Dialect;
use crate::model::prefix::Encoded;
use crate::{ModelRequest, PrefixCell};

/// The encoded messages of one wire.
pub(crate) trait Conversation: Send + 'static {
    /// No messages yet; `bytes` is about how many the conversation has.
    fn start(bytes: usize) -> Self;

    /// Adds a message behind the others.
    fn add(&mut self, dialect: &Dialect, message: &Message);

    /// Encodes the tools of a request; empty where none is offered. It goes by the tools and by whether strict schemas are asked
    /// for, by nothing else.
    fn tools(request: &ModelRequest) -> Vec<u8>;
}

/// A conversation with what tells whether it is the beginning of a request.
pub(crate) struct Kept<C> {
    dialect: Dialect,
    prompt: Arc<Vec<Arc<Message>>>,
    /// Empty; in the same encoding as the kept messages.
    worded: Messages,
    edits: u64,
    /// Number of history messages in `messages`, and the last of them.
    pub(crate) count: usize,
    last: Option<Arc<Message>>,
    /// The encoded messages.
    pub(crate) messages: C,
    tools: Arc<[u8]>,
}

/// The encoded tools of a request, which runs of one agent share.
fn encoded_tools<C: Conversation>(request: &ModelRequest) -> Arc<[u8]> {
    let (by, strict) = (TypeId::of::<C>(), request.model.strict);
    // A panic leaves whole lists.
    let kept = || request.prefix.schemas.tools.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = kept().of(by, strict, &request.tools) {
        return bytes;
    }
    let bytes: Arc<[u8]> = C::tools(request).into();
    kept().put(Encoded { by, strict, tools: request.tools.clone(), bytes: bytes.clone() });
    bytes
}

/// Brings the kept conversation up to the request and uses it.
pub(crate) fn with_kept<C: Conversation, T>(
    cell: &PrefixCell,
    dialect: &Dialect,
    request: &ModelRequest,
    use_it: impl FnOnce(&Kept<C>) -> T,
) -> T {
    // A panic between two whole writes leaves a cell that the checks below still judge rightly.
    let mut slot = cell.conversation.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = slot.take().and_then(|any: Box<dyn Any + Send>| any.downcast::<Kept<C>>().ok());
    let mut kept = match kept {
        Some(kept) if kept.fits(dialect, request) => kept,
        _ => Box::new(Kept::start(dialect, request)),
    };
    kept.go_on(request);
    let result = use_it(&kept);
    *slot = Some(kept);
    result
}

impl<C: Conversation> Kept<C> {
    /// The encoded tools, empty where none is offered.
    pub(crate) fn tools(&self) -> &[u8] {
        &self.tools
    }

    fn start(dialect: &Dialect, request: &ModelRequest) -> Self {
        let mut kept = Self {
            dialect: dialect.clone(),
            prompt: request.prompt.clone(),
            worded: request.messages.emptied(),
            edits: request.messages.edits(),
            count: 0,
            last: None,
            messages: C::start(usize::try_from(request.messages.bytes()).unwrap_or(0)),
            tools: Arc::default(),
        };
        for text in request.prompt.iter() {
            kept.messages.add(&kept.dialect, text);
        }
        kept
    }

    /// Whether what is kept is the beginning of this request.
    fn fits(&self, dialect: &Dialect, request: &ModelRequest) -> bool {
        let messages = &request.messages;
        let same_last = match (&self.last, self.count.checked_sub(1)) {
            (Some(last), Some(at)) => messages.at(at).is_some_and(|now| Arc::ptr_eq(last, now)),
            _ => true,
        };
        self.edits == messages.edits()
            && self.count <= messages.len()
            && same_last
            && (Arc::ptr_eq(&self.prompt, &request.prompt) || self.prompt == request.prompt)
            && self.worded.is_worded_as(messages)
            && self.dialect == *dialect
    }

    fn go_on(&mut self, request: &ModelRequest) {
        for new in request.messages.since(self.count) {
            self.messages.add(&self.dialect, &new);
        }
        self.count = request.messages.len();
        self.last = request.messages.last().cloned();
        self.tools = encoded_tools::<C>(request);
    }
}

#[cfg(test)]
mod tests;
