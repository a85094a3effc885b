//! When content came last: pieces of replies, of which the log knows nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::event::Millis;
use windlass_models::Delta;

/// The time of the last content of a run, in the world's time.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContentClock(Arc<AtomicU64>);

impl ContentClock {
    /// When content came last; 0: never.
    pub(crate) fn last(&self) -> Millis {
        self.0.load(Ordering::Relaxed)
    }

    /// Content came.
    pub(super) fn note(&self, now: Millis) {
        self.0.fetch_max(now, Ordering::Relaxed);
    }
}

/// Whether a piece is content or usage: empty pieces are no progress.
pub(super) fn is_progress(delta: &Delta) -> bool {
    match delta {
        Delta::Text(text) | Delta::Reasoning(text) => !text.is_empty(),
        Delta::Call { name, args, .. } => name.as_ref().is_some_and(|name| !name.is_empty()) || !args.is_empty(),
        Delta::Usage(usage) => usage.total() > 0,
        Delta::Sealed(_) | Delta::Media(_) | Delta::Whole(_) => true,
        Delta::Stop(_) | Delta::Thought => false,
    }
}
