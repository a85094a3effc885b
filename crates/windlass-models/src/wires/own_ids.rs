//! Owns the ids of calls whose maker is the server itself: they go back as they came, because what else goes back may name them,
//! and because a server takes what it made.

use std::collections::BTreeSet;

use windlass_core::{CallId, Message};

/// Ids that a server made and that would be written otherwise if another one had made them.
#[derive(Debug, Default)]
pub(crate) struct OwnIds(BTreeSet<CallId>);

impl OwnIds {
    /// Notes the ids of a reply that the provider with this label made, as far as they would be changed.
    pub(crate) fn note(&mut self, label: &str, message: &Message, is_changed: impl Fn(&str) -> bool) {
        let Message::Assistant(reply) = message else { return };
        let sealed = reply.reasoning.as_ref().and_then(|reasoning| reasoning.provider_metadata.as_ref());
        if sealed.is_some_and(|sealed| &*sealed.provider == label) {
            let ids = reply.calls.iter().map(|call| &call.id);
            self.0.extend(ids.filter(|id| is_changed(id.as_str())).cloned());
        }
    }

    /// Whether the server made it.
    pub(crate) fn has(&self, id: &CallId) -> bool {
        self.0.contains(id)
    }
}
