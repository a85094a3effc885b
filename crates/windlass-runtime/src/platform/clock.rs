//! The clock of a run: the environment's, unless that lies behind what the run has seen.
//!
//! A machine's clock may be set back between two processes that drive a run. The run then continues from its latest recorded
//! time and measures its timers from there, so no wait gets longer.

use windlass_core::event::Millis;
use windlass_store::Wake;

use crate::platform::environment::Environment;

/// By how much a run's time is ahead of the environment's, in milliseconds. The environment's clock goes forward only, so this is found
/// once, when a run is taken up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunClock {
    ahead_ms: Millis,
}

impl RunClock {
    /// The clock of a run that has seen that time.
    pub(crate) fn after(seen: Millis, environment: &dyn Environment) -> Self {
        Self { ahead_ms: seen.saturating_sub(environment.now()) }
    }

    /// The run's time.
    pub(crate) fn now(self, environment: &dyn Environment) -> Millis {
        environment.now().saturating_add(self.ahead_ms)
    }

    /// The environment's time for a time of the run.
    pub(crate) fn in_world(self, at: Millis) -> Millis {
        at.saturating_sub(self.ahead_ms)
    }

    /// For who lists runs: when the run goes on by itself, by the clock of the environment.
    pub(crate) fn wake(self, at: Millis, environment: &dyn Environment) -> Wake {
        Wake { from: environment.now(), at: self.in_world(at) }
    }
}
