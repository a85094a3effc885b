//! Updates about a run while it is driven.

use std::sync::Arc;

use windlass_core::policy::LimitKind;
use windlass_core::run::{LogLevel, log_line, overshot};
use windlass_core::{State, evolve};
use windlass_store::Batch;

use super::Driver;
use super::work::Work;
use crate::driver::updates::Update;
use crate::platform::error::Error;

/// The parts of the state before an append that are needed.
pub(super) struct Before {
    /// `None`: nobody is told of each event.
    pub(super) state: Option<Arc<State>>,
    /// The limits that it had overshot.
    overshot: Vec<LimitKind>,
}

impl<W: Work> Driver<W> {
    /// The parts of the state that are needed later. Where nobody listens they are few, so that the state can change in place.
    pub(super) fn before(&self) -> Before {
        Before { state: self.tells().then(|| self.state.clone()), overshot: self.state.overshot_limits() }
    }

    fn tells(&self) -> bool {
        self.publisher.heard() || tracing::enabled!(tracing::Level::INFO)
    }

    /// Tells subscribers, and the log of the process, what is durable now.
    pub(super) async fn show(&mut self, batch: Batch, before: Before) -> Result<(), Error> {
        if !self.tells() {
            if let Some(line) = overshot(&before.overshot, &self.state) {
                let _lines = self.trace.as_ref().map(|trace| trace.enter());
                tracing::warn!(run = %self.state.run(), "{}", line.text);
            }
            self.publisher.send(Update::Events(batch));
            return Ok(());
        }
        let state = match before.state {
            Some(state) => state,
            // Somebody has subscribed during the append.
            None => self.read_state(batch.first - 1).await?,
        };
        self.tell(batch, Arc::unwrap_or_clone(state));
        Ok(())
    }

    fn tell(&self, batch: Batch, mut state: State) {
        let _lines = self.trace.as_ref().map(|trace| trace.enter());
        let run = self.state.run();
        for event in batch.events.iter() {
            let known = state.overshot_limits();
            state = evolve(state, event);
            let over = overshot(&known, &state);
            for line in log_line(&state, event).into_iter().chain(over) {
                if line.level == LogLevel::Info {
                    tracing::info!(%run, "{}", line.text);
                } else {
                    tracing::warn!(%run, "{}", line.text);
                }
                self.publisher.send(Update::Log(line));
            }
        }
        self.publisher.send(Update::Events(batch));
    }
}
