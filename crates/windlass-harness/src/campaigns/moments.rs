//! When a process is killed: at a random moment of its life.

use std::io;
use std::time::Duration;

use windlass_testing::{Moment, run_and_kill};

use crate::chance::Chance;
use crate::home::{Home, Step};
use crate::life::{Lived, PATIENCE};

/// Time of the latest kill, in percent of the duration of an undisturbed process.
const LATEST_PERCENT: u64 = 110;
/// By how much later the latest kill comes with each process of a run, in percent: on a machine that has become busy
/// since, a run must come to its end too.
const LATER_PERCENT: u64 = 5;

/// The moments at which the processes of a life are killed.
pub(super) struct Moments {
    chance: Chance,
    longest: Duration,
    percent: u64,
}

impl Moments {
    pub(super) fn new(seed: u64, longest: Duration) -> Self {
        Self { chance: Chance::new(seed), longest, percent: LATEST_PERCENT }
    }

    /// A moment of the next process, which has `times` the time of an undisturbed one.
    pub(super) fn next(&mut self, times: u64) -> Duration {
        let latest = self.longest.as_micros() as u64 * times * self.percent / 100;
        self.percent += LATER_PERCENT;
        Duration::from_micros(self.chance.below(latest))
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.chance.below(end)
    }

    /// Lets a process live until its moment.
    pub(super) fn live(&mut self, home: &Home, step: &Step) -> io::Result<Lived> {
        let moment = Moment::After(self.next(1));
        run_and_kill(&mut home.command(step, &[]), moment, PATIENCE).map(Lived::ended)
    }
}
