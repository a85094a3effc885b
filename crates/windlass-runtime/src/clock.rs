//! The clock of a run: the world's, unless that lies behind what the run has seen.
//!
//! The clock of a machine may be set back between two processes that drive a run. The run goes on from its latest time, and
//! all that it waits for is measured from there: no wait gets longer by the jump.

use windlass_core::{Millis, RunId};
use windlass_store::Wake;

use crate::environment::Environment;

/// By how much a run's time is ahead of the world's, in milliseconds. The world's clock goes forward only, so this is found
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

    /// What the world's clock says at a time of the run.
    pub(crate) fn in_world(self, at: Millis) -> Millis {
        at.saturating_sub(self.ahead_ms)
    }

    /// For who lists runs: when the run goes on by itself, by the clock of the world.
    pub(crate) fn wake(self, at: Millis, environment: &dyn Environment) -> Wake {
        Wake { from: environment.now(), at: self.in_world(at) }
    }
}

/// The bits of a UUIDv7 below its time (RFC 9562, 5.7).
const BELOW_TIME: u32 = 80;

/// A fresh id for a run on a base. It comes after the base's, also where the clock was set back since: the last run of a
/// session is the one whose id is greatest.
pub(crate) fn new_run(environment: &dyn Environment, base: Option<RunId>) -> RunId {
    let fresh = environment.new_run();
    match base {
        Some(base) if fresh <= base => {
            let time = (base.0.as_u128() >> BELOW_TIME).saturating_add(1) << BELOW_TIME;
            let rest = fresh.0.as_u128() & ((1 << BELOW_TIME) - 1);
            RunId::from_number(time | rest)
        }
        _ => fresh,
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::RunId;

    use super::new_run;
    use crate::environment::{Environment as _, SystemEnvironment};

    #[test]
    fn an_id_comes_after_its_base_whatever_the_clock_says() {
        let before = SystemEnvironment.new_run();
        assert!(new_run(&SystemEnvironment, Some(before)) > before);
        // The base was made a thousand years from now.
        let later = RunId::from_number(before.0.as_u128() + (32_000_000_000_000 << 80));
        let (first, second) =
            (new_run(&SystemEnvironment, Some(later)), new_run(&SystemEnvironment, Some(later)));
        assert!(first > later && second > later && first != second);
        assert_eq!(first.0.get_version_num(), 7);
        assert!(new_run(&SystemEnvironment, Some(first)) > first);
    }
}
