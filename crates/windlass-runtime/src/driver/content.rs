//! When content came last: pieces of replies, of which the log knows nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_core::event::Millis;

/// The time of the last content of a run, in the world's time.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContentClock(Arc<AtomicU64>);

impl ContentClock {
    /// When content came last; 0: never.
    pub(crate) fn last(&self) -> Millis {
        self.0.load(Ordering::Relaxed)
    }

    /// Content came.
    pub(crate) fn note(&self, now: Millis) {
        self.0.fetch_max(now, Ordering::Relaxed);
    }
}
