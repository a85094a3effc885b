//! Removes runs from a log, together with their payloads.

use windlass_core::event::Millis;
use windlass_core::run::RunStatus;
use windlass_core::{RunId, SessionId};

use crate::error::{Answer, StoreError};

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

/// The runs that may go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prunable {
    /// The runs, newest first: each before those that it is based on or was started by.
    pub runs: Vec<RunId>,
    /// Number of matching runs that stay because a kept run is based on them or was started by them.
    pub kept: u64,
}

/// Payloads that were taken out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reclaimed {
    /// Their number.
    pub payloads: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The runs and payloads that pruning has taken out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The runs, newest first.
    pub runs: Vec<RunId>,
    /// Number of matching runs that stayed.
    pub kept: u64,
    /// The payloads that nothing referred to any more.
    pub payloads: Reclaimed,
}

/// The most runs, and the most payloads, that are taken out in one step: others write in between.
pub const PRUNE_CHUNK: usize = 256;

/// Takes runs out of a store, a chunk at a time.
pub trait Pruning: Send + Sync + std::fmt::Debug {
    /// The runs that fit and may go. Changes nothing.
    fn prunable(&self, prune: Prune) -> Answer<'_, Prunable>;

    /// Removes these runs permanently, in their order, and gives those that went. A run stays if it is leased, or another one is
    /// based on it or was started by it. The head of a session moves to its base.
    fn remove(&self, runs: &[RunId]) -> Answer<'_, Vec<RunId>>;

    /// Removes up to so many payloads that no run refers to and that no living process has just stored. None removed: there is no
    /// other one.
    fn reclaim(&self, most: usize) -> Answer<'_, Reclaimed>;
}

/// Removes what fits permanently, in chunks of [`PRUNE_CHUNK`], and then the payloads that nothing refers to any more. `progress` is
/// told after each chunk of runs how many of how many were looked at. After an error, what was taken out until then is gone.
///
/// # Errors
/// The store failed.
pub async fn prune(
    store: &dyn Pruning,
    prune: Prune,
    mut progress: impl FnMut(usize, usize),
) -> Result<Pruned, StoreError> {
    let Prunable { runs, kept } = store.prunable(prune).await?;
    let (total, mut looked_at) = (runs.len(), 0);
    let mut pruned = Pruned { runs: Vec::with_capacity(total), kept, ..Pruned::default() };
    for chunk in runs.chunks(PRUNE_CHUNK) {
        let gone = store.remove(chunk).await?;
        pruned.kept += (chunk.len() - gone.len()) as u64;
        pruned.runs.extend(gone);
        looked_at += chunk.len();
        progress(looked_at, total);
    }
    loop {
        let Reclaimed { payloads, bytes } = store.reclaim(PRUNE_CHUNK).await?;
        pruned.payloads.payloads += payloads;
        pruned.payloads.bytes += bytes;
        if payloads == 0 {
            return Ok(pruned);
        }
    }
}
