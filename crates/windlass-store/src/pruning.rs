//! Which runs are taken out of a log, and what went with them.

use windlass_core::event::Millis;
use windlass_core::{RunId, SessionId, Text};

use crate::store::Answer;

/// Which runs may go. Runs that somebody alive holds never do, nor do those that a kept run is based on or was started by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prune {
    /// Only runs whose last event is older than this time, in milliseconds since the epoch.
    pub before: Option<Millis>,
    /// Only runs in one of these states, by name (`answered`, `limit`, `suspended`, …). Empty: every run that has
    /// ended.
    pub statuses: Vec<Text>,
    /// Only runs of these sessions, and those that they started. Empty: of all, and of none.
    pub sessions: Vec<SessionId>,
}

/// The runs and payloads that pruning takes out, or would take out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The runs, newest first.
    pub runs: Vec<RunId>,
    /// How many runs fitted, but stay because a kept run is based on them or was started by them.
    pub kept: u64,
    /// How many payloads went because nothing refers to them any more.
    pub payloads: u64,
    /// The bytes of those payloads.
    pub payload_bytes: u64,
}

/// Takes runs out of a store.
pub trait Pruning: Send + Sync + std::fmt::Debug {
    /// What [`prune`](Self::prune) would take out now, without payloads. Nothing is changed.
    fn prunable(&self, prune: Prune) -> Answer<'_, Pruned>;

    /// Takes runs out for good, then the payloads that nothing refers to any more. A run that somebody took the lease of, or
    /// based another one on, in the meantime stays.
    fn prune(&self, prune: Prune) -> Answer<'_, Pruned>;
}
