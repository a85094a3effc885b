//! The ways of running a case: with or without a subscriber, a restart, an interruption, a seed.

use std::collections::BTreeMap;
use std::fmt;

use crate::schedule::Plan;

/// One way of running a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pass {
    pub(crate) mode: Mode,
    /// The event after which everything is dropped and started again; 0: none.
    pub(crate) crash: u64,
    /// Whether the crash is part of the case, so that its people know about it.
    pub(crate) scripted: bool,
    /// The event after which the run is cancelled; 0: none.
    pub(crate) cancel: u64,
    /// The event after which [`STEERED`] is sent to the run; 0: none.
    pub(crate) steer: u64,
    /// The event after which the run is paused; 0: none. A person ends the pause as soon as one is asked.
    pub(crate) pause: u64,
    /// Whether the pause is ended before anybody is asked.
    pub(crate) at_once: bool,
    /// The seed of the schedule and its interruptions; `None`: a deterministic pass.
    pub(crate) seed: Option<Seed>,
}

/// A seed, and what a plan must know of the case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seed {
    pub(crate) number: u64,
    /// Number of events of an undisturbed case; 0: it is not interrupted.
    pub(crate) events: u64,
    /// Whether the case is cancelled during some work: a cancel that lies in the inbox over a restart would come before it.
    pub(crate) cancelled: bool,
}

impl Pass {
    /// A pass without a crash or cancel of its own.
    pub(crate) fn plain(mode: Mode) -> Self {
        Self { mode, crash: 0, scripted: true, cancel: 0, steer: 0, pause: 0, at_once: false, seed: None }
    }

    pub(crate) fn plan(&self) -> Option<Plan> {
        self.seed.map(|seed| {
            let Plan { interruptions, by_post } = Plan::of(seed.number, seed.events);
            let interruptions = if seed.events == 0 { BTreeMap::new() } else { interruptions };
            Plan { by_post: by_post && (interruptions.is_empty() || !seed.cancelled), interruptions }
        })
    }

    /// Maximum number of restarts from the log.
    pub(crate) fn restarts(&self) -> usize {
        usize::from(self.crash > 0) + self.plan().map_or(0, |plan| plan.interruptions.len())
    }
}

/// Whether a subscriber listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Blocking,
    Streaming,
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.mode {
            Mode::Blocking => "blocking",
            Mode::Streaming => "streaming",
        })?;
        let places = [
            ("restarted", self.crash),
            ("cancelled", self.cancel),
            ("steered", self.steer),
            (if self.at_once { "paused and resumed" } else { "paused" }, self.pause),
        ];
        for (what, event) in places.into_iter().filter(|(_, event)| *event > 0) {
            write!(f, ", {what} after event {event}")?;
        }
        match (self.seed, self.plan()) {
            (Some(seed), Some(plan)) => write!(f, ", seed {}{plan}", seed.number),
            _ => Ok(()),
        }
    }
}
