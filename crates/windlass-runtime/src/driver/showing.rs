//! Updates about a run while it is driven.

use windlass_core::run::{LogLevel, log_line, overshot};
use windlass_core::{State, evolve};
use windlass_store::Batch;

use super::Driver;
use super::work::Work;
use crate::driver::updates::Update;

impl<W: Work> Driver<W> {
    /// Tells subscribers, and the log of the process, what is durable now.
    pub(super) fn show(&self, batch: Batch, after: &State) {
        let _lines = self.trace.as_ref().map(|trace| trace.enter());
        if self.publisher.heard() || tracing::enabled!(tracing::Level::INFO) {
            let mut state = self.state.clone();
            for event in batch.events.iter() {
                let before = state.clone();
                state = evolve(state, event);
                let over = overshot(&before, &state);
                for line in log_line(&state, event).into_iter().chain(over) {
                    if line.level == LogLevel::Info {
                        tracing::info!(run = %after.run(), "{}", line.text);
                    } else {
                        tracing::warn!(run = %after.run(), "{}", line.text);
                    }
                    self.publisher.send(Update::Log(line));
                }
            }
            self.publisher.send(Update::Events(batch));
        } else if let Some(line) = overshot(&self.state, after) {
            tracing::warn!(run = %after.run(), "{}", line.text);
        }
    }
}
