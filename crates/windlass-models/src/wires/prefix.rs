//! Owns what a run's [`PrefixCell`] holds: the encoded conversation, which each turn only adds to.
//!
//! A wire says how messages and tools become bytes ([`Conversation`]); when the kept bytes are the beginning of a request, and
//! when they are not, is the same for all wires.

use std::any::Any;
use std::sync::{Arc, PoisonError};

use windlass_core::model::Messages;
use windlass_core::{Message, ToolSpec};

use super::Dialect;
use crate::{ModelRequest, PrefixCell};

/// The encoded messages of one wire.
pub(crate) trait Conversation: Send + 'static {
    /// No messages yet; `bytes` is about how many the conversation has.
    fn start(bytes: usize) -> Self;

    /// Adds a message behind the others.
    fn add(&mut self, dialect: &Dialect, message: &Message);

    /// Encodes the tools of a request; empty where none is offered.
    fn tools(specs: &[ToolSpec]) -> Vec<u8>;
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
    tools: Option<(Arc<Vec<ToolSpec>>, Vec<u8>)>,
}

/// Brings the kept conversation up to the request and uses it.
pub(crate) fn with_kept<C: Conversation, T>(
    cell: &PrefixCell,
    dialect: &Dialect,
    request: &ModelRequest,
    use_it: impl FnOnce(&Kept<C>) -> T,
) -> T {
    // A panic between two whole writes leaves a cell that the checks below still judge rightly.
    let mut slot = cell.0.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = slot.take().and_then(|any: Box<dyn Any + Send>| any.downcast::<Kept<C>>().ok());
    let mut kept = match kept {
        Some(kept) if kept.fits(dialect, request) => kept,
        other => Box::new(Kept::start(dialect, request, other.and_then(|old| old.tools))),
    };
    kept.go_on(request);
    let result = use_it(&kept);
    *slot = Some(kept);
    result
}

impl<C: Conversation> Kept<C> {
    /// The encoded tools, empty where none is offered.
    pub(crate) fn tools(&self) -> &[u8] {
        self.tools.as_ref().map_or(&[], |(_, bytes)| bytes)
    }

    fn start(
        dialect: &Dialect,
        request: &ModelRequest,
        tools: Option<(Arc<Vec<ToolSpec>>, Vec<u8>)>,
    ) -> Self {
        let mut kept = Self {
            dialect: dialect.clone(),
            prompt: request.prompt.clone(),
            worded: request.messages.emptied(),
            edits: request.messages.edits(),
            count: 0,
            last: None,
            messages: C::start(usize::try_from(request.messages.bytes()).unwrap_or(0)),
            tools,
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
        if !self.tools.as_ref().is_some_and(|(kept, _)| Arc::ptr_eq(kept, &request.tools)) {
            self.tools = Some((request.tools.clone(), C::tools(&request.tools)));
        }
    }
}
