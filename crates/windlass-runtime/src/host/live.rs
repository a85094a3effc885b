//! The runs that are driven in this process, and those that people follow from here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use windlass_core::{RunId, RunState};
use windlass_store::Store;

use super::follower::Follower;
use super::hub::Hub;
use super::position::Position;
use crate::error::Error;
use crate::run::{Prepared, RunHandle};
use crate::updates::Publisher;

/// The runs of this process.
#[derive(Debug)]
pub(super) struct Live {
    log: Arc<dyn Store>,
    /// Whether each run that is driven here is followed from its beginning.
    keeps_pieces: bool,
    runs: Mutex<Runs>,
}

#[derive(Debug, Default)]
struct Runs {
    driven: BTreeMap<RunId, Driven>,
    followed: BTreeMap<RunId, Weak<Hub>>,
    /// Runs of messages that were queued here and that have not begun.
    queued: BTreeSet<RunId>,
}

/// A run that is driven here.
#[derive(Debug)]
struct Driven {
    handle: RunHandle,
    publisher: Publisher,
    /// Kept for those who come later.
    _hub: Option<Arc<Hub>>,
}

/// The mark of a run that is driven here; it is gone when this is dropped.
#[derive(Debug)]
pub(super) struct DrivenHere {
    live: Arc<Live>,
    run: RunId,
}

impl Drop for DrivenHere {
    fn drop(&mut self) {
        self.live.lock().driven.remove(&self.run);
    }
}

impl Live {
    pub(super) fn new(log: Arc<dyn Store>, keeps_pieces: bool) -> Arc<Self> {
        Arc::new(Self { log, keeps_pieces, runs: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run is about to be driven here: those who follow it already see it from its driver.
    pub(super) fn drives(self: &Arc<Self>, prepared: &Prepared) -> DrivenHere {
        let (run, publisher) = (prepared.id(), prepared.publisher());
        let mut runs = self.lock();
        let mut hub = runs.followed.get(&run).and_then(Weak::upgrade);
        if let (None, true) = (&hub, self.keeps_pieces) {
            let fresh = Hub::new(self.log.clone(), run, prepared.version(), false);
            runs.followed.insert(run, Arc::downgrade(&fresh));
            hub = Some(fresh);
        }
        if let Some(hub) = &hub {
            hub.feed_from(&publisher);
        }
        runs.queued.remove(&run);
        let kept = hub.filter(|_| self.keeps_pieces);
        runs.driven.insert(run, Driven { handle: prepared.handle(), publisher, _hub: kept });
        DrivenHere { live: self.clone(), run }
    }

    /// The handle of a run that is driven here.
    pub(super) fn handle(&self, run: RunId) -> Option<RunHandle> {
        self.lock().driven.get(&run).map(|driven| driven.handle.clone())
    }

    /// The runs that are driven here.
    pub(super) fn driven(&self) -> Vec<RunId> {
        self.lock().driven.keys().copied().collect()
    }

    /// A message was queued here, and that run is to answer it.
    pub(super) fn queues(&self, run: RunId) {
        self.lock().queued.insert(run);
    }

    /// Whether the message that this run is to answer was queued here.
    pub(super) fn queued_here(&self, run: RunId) -> bool {
        self.lock().queued.contains(&run)
    }

    /// Asks all drivers to leave their runs.
    pub(super) fn leave(&self) {
        self.lock().driven.values().for_each(|driven| driven.handle.leave());
    }

    /// Follows a run from a position on, wherever it is driven.
    ///
    /// # Errors
    /// The run is unknown, it has fewer events, or the log failed.
    pub(super) async fn follow(self: &Arc<Self>, run: RunId, from: Position) -> Result<Follower, Error> {
        let known = self.lock().followed.get(&run).and_then(Weak::upgrade);
        let hub = match known {
            Some(hub) => hub,
            None => self.hub(run).await?,
        };
        let version = hub.version();
        if from.version > version {
            // A hub that is fed from the log may be a moment behind it.
            let version = self.log.summary(run).await?.version;
            if from.version > version {
                return Err(Error::NoSuchEvent { run, at: from.version, version });
            }
        }
        Ok(Follower::new(hub, from))
    }

    async fn hub(self: &Arc<Self>, run: RunId) -> Result<Arc<Hub>, Error> {
        let summary = self.log.summary(run).await?;
        let mut runs = self.lock();
        // Another follower may have come meanwhile.
        if let Some(hub) = runs.followed.get(&run).and_then(Weak::upgrade) {
            return Ok(hub);
        }
        let ended = matches!(summary.run_state, RunState::Ended(_));
        let hub = Hub::new(self.log.clone(), run, summary.version, ended);
        runs.followed.retain(|_, hub| hub.strong_count() > 0);
        runs.followed.insert(run, Arc::downgrade(&hub));
        match runs.driven.get(&run) {
            Some(driven) => hub.feed_from(&driven.publisher),
            None => hub.feed_from_log(),
        }
        Ok(hub)
    }
}
