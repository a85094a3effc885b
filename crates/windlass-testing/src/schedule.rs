//! The decisions of a seed about a pass: the order of ready work, where the process dies or the log fails, and how people reach
//! the run.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::crash::Interruption;
use crate::sim::yield_now;

/// The most times that something ready lets others go first.
const MOST_TURNS: u64 = 3;
/// The most interruptions of one pass.
const MOST_INTERRUPTIONS: u64 = 3;

/// Chance that is the same each time: the numbers that follow from a seed (SplitMix64: Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below that bound; 0 for a bound of 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }
}

/// The decisions of a seed before a pass begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The events at which the process dies or the log fails, counted over all runs.
    pub(crate) interruptions: BTreeMap<u64, Interruption>,
    /// Whether people reach the run through the log's durable inbox rather than in process.
    pub(crate) by_post: bool,
}

impl Plan {
    /// The plan of a seed for a case that has so many events when nothing disturbs it. Half of the plans interrupt it.
    pub(crate) fn of(seed: u64, events: u64) -> Self {
        let mut dice = Dice::of(seed);
        let by_post = dice.below(2) == 1;
        let count = if dice.below(2) == 0 { 0 } else { 1 + dice.below(MOST_INTERRUPTIONS) };
        let interruptions = (0..count)
            .map(|_| {
                let event = 1 + dice.below(events.max(1));
                let how = if dice.below(3) == 0 { Interruption::FailedAppend } else { Interruption::Crash };
                (event, how)
            })
            .collect();
        Self { interruptions, by_post }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (event, how) in &self.interruptions {
            match how {
                Interruption::Crash => write!(f, ", restarted after event {event}")?,
                Interruption::FailedAppend => write!(f, ", event {event} not written at first")?,
            }
        }
        if self.by_post { f.write_str(", people by post") } else { Ok(()) }
    }
}

/// Decides during a pass which ready work goes first. Clones share its state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    /// `None`: everybody goes on at once, in the order in which they were started.
    dice: Option<Arc<Mutex<Dice>>>,
}

impl Turns {
    pub(crate) fn of(seed: u64) -> Self {
        // Other numbers than those of the plan.
        Self { dice: Some(Arc::new(Mutex::new(Dice::of(!seed)))) }
    }

    /// Lets others go first, as often as the seed says. Takes no virtual time.
    pub(crate) async fn rest(&self) {
        let turns = self
            .dice
            .as_ref()
            .map_or(0, |dice| dice.lock().unwrap_or_else(PoisonError::into_inner).below(MOST_TURNS + 1));
        for _ in 0..turns {
            yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_are_of_every_kind_and_the_same_each_time() {
        let plans: Vec<Plan> = (1..200).map(|seed| Plan::of(seed, 9)).collect();
        assert_eq!(plans, (1..200).map(|seed| Plan::of(seed, 9)).collect::<Vec<_>>());
        let with = |count: usize| plans.iter().filter(|plan| plan.interruptions.len() == count).count();
        assert!((0..=3).all(|count| with(count) > 5), "{plans:?}");
        assert!(plans.iter().filter(|plan| plan.by_post).count() > 50);
        let events: std::collections::BTreeSet<u64> =
            plans.iter().flat_map(|plan| plan.interruptions.keys().copied()).collect();
        assert_eq!(events, (1..=9).collect());
        let failed = |how: &&Interruption| **how == Interruption::FailedAppend;
        assert!(plans.iter().flat_map(|plan| plan.interruptions.values()).filter(failed).count() > 10);
    }
}
