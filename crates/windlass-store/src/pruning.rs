//! Removes runs from a log, together with their payloads.

use windlass_core::event::Millis;
use windlass_core::run::RunStatus;
use windlass_core::{RunId, SessionId};

use crate::store::Answer;

/// Filter of runs to remove. Runs with a live holder are never removed, nor are bases and parents of a kept run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prune {
    /// Only runs whose last event is older than this time, in milliseconds since the epoch.
    pub before: Option<Millis>,
    /// Only runs in one of these states. Empty: every run that has ended.
    pub statuses: Vec<RunStatus>,
    /// Only runs of these sessions, and runs that they started. Empty: runs of any session or none.
    pub sessions: Vec<SessionId>,
    /// Runs that stay although they match: something of theirs is still needed.
    pub keep: Vec<RunId>,
}

/// The runs and payloads that pruning takes out, or would take out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The runs, newest first.
    pub runs: Vec<RunId>,
    /// Number of matching runs that stay because a kept run is based on them or was started by them.
    pub kept: u64,
    /// Number of payloads removed because they were no longer referenced.
    pub payloads: u64,
    /// The bytes of those payloads.
    pub payload_bytes: u64,
}

/// Takes runs out of a store.
pub trait Pruning: Send + Sync + std::fmt::Debug {
    /// Dry run of [`prune`](Self::prune), without payloads.
    fn prunable(&self, prune: Prune) -> Answer<'_, Pruned>;

    /// Removes runs permanently, then the payloads that are no longer referenced. A run stays if it was leased or used as a
    /// base in the meantime.
    fn prune(&self, prune: Prune) -> Answer<'_, Pruned>;
}
