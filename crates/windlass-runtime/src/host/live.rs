//! The runs that are driven in this process, and those that people follow from here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use windlass_core::{RunId, RunState};
use windlass_store::Store;

use super::follower::Follower;
use super::hub::Hub;
use super::position::Position;
use crate::driver::handle::RunHandle;
use crate::driver::updates::Publisher;
use crate::platform::error::Error;
use crate::work::prepared::Prepared;

/// The fewest hubs among which those without followers are looked for.
const SWEPT: usize = 64;
/// The most queued messages that are known to have come by this process. One that is not known is answered a second later.
const QUEUED: usize = 1_024;

/// The runs of this process.
#[derive(Debug)]
pub(super) struct Live {
    log: Arc<dyn Store>,
    runs: Mutex<Runs>,
}

#[derive(Debug, Default)]
struct Runs {
    driven: BTreeMap<RunId, Driven>,
    /// How often a run was driven here.
    times: u64,
    /// At most twice as many as have followers now, and [`SWEPT`].
    followed: BTreeMap<RunId, Weak<Hub>>,
    /// How many hubs there are when those without followers are forgotten.
    swept_at: usize,
    /// Runs of messages that were queued here and that have not begun; the newest stands last. Others may have begun elsewhere.
    queued: VecDeque<RunId>,
}

impl Runs {
    /// The hub of a run that is followed.
    fn hub(&self, run: RunId) -> Option<Arc<Hub>> {
        self.followed.get(&run).and_then(Weak::upgrade)
    }

    fn follow(&mut self, run: RunId, hub: &Arc<Hub>) {
        if self.followed.len() >= self.swept_at.max(SWEPT) {
            self.followed.retain(|_, hub| hub.strong_count() > 0);
            self.swept_at = 2 * self.followed.len();
        }
        self.followed.insert(run, Arc::downgrade(hub));
    }
}

/// A run that is driven here.
#[derive(Debug)]
struct Driven {
    /// Which time it is: a run that waited may be driven again before its former driver is forgotten.
    time: u64,
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
    time: u64,
}

impl Drop for DrivenHere {
    fn drop(&mut self) {
        let mut runs = self.live.lock();
        if runs.driven.get(&self.run).is_none_or(|driven| driven.time != self.time) {
            return;
        }
        let (driven, hub) = (runs.driven.remove(&self.run), runs.followed.get(&self.run).cloned());
        if let Some(driven) = driven {
            // Work that was left behind is heard no more. A hub without followers goes with this.
            driven.publisher.set_listener(None);
        }
        // Under the lock: who drives it next feeds it himself.
        if let Some(hub) = hub.and_then(|hub| hub.upgrade()) {
            hub.feed_from_log();
        }
    }
}

impl Live {
    pub(super) fn new(log: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { log, runs: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run is about to be driven here: those who follow it already see it from its driver. `keeps_pieces`: those who come later see it
    /// from here on, too.
    pub(super) fn drives(self: &Arc<Self>, prepared: &Prepared, keeps_pieces: bool) -> DrivenHere {
        let (run, publisher) = (prepared.id(), prepared.publisher());
        let mut runs = self.lock();
        let mut hub = runs.hub(run);
        if let (None, true) = (&hub, keeps_pieces) {
            let fresh = Hub::new(self.log.clone(), run, prepared.state().version(), false);
            runs.follow(run, &fresh);
            hub = Some(fresh);
        }
        if let Some(hub) = &hub {
            hub.feed_from(&publisher);
            hub.is_logged(prepared.state().version());
        }
        runs.queued.retain(|queued| *queued != run);
        let kept = hub.filter(|_| keeps_pieces);
        runs.times += 1;
        let time = runs.times;
        runs.driven.insert(run, Driven { time, handle: prepared.handle(), publisher, _hub: kept });
        DrivenHere { live: self.clone(), run, time }
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
        let mut runs = self.lock();
        runs.queued.push_back(run);
        if runs.queued.len() > QUEUED {
            runs.queued.pop_front();
        }
    }

    /// Whether the message that this run is to answer was queued here.
    pub(super) fn queued_here(&self, run: RunId) -> bool {
        self.lock().queued.contains(&run)
    }

    /// Asks all drivers to detach from their runs.
    pub(super) fn detach_all(&self) {
        self.lock().driven.values().for_each(|driven| driven.handle.detach());
    }

    /// Follows a run from a position on, wherever it is driven.
    ///
    /// # Errors
    /// The run is unknown, it has fewer events, or the log failed.
    pub(super) async fn follow(self: &Arc<Self>, run: RunId, from: Position) -> Result<Follower, Error> {
        let known = self.lock().hub(run);
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
        let hub = {
            let mut runs = self.lock();
            // Another follower may have come meanwhile.
            if let Some(hub) = runs.hub(run) {
                return Ok(hub);
            }
            let ended = matches!(summary.run_state, RunState::Ended(_));
            let hub = Hub::new(self.log.clone(), run, summary.version, ended);
            runs.follow(run, &hub);
            let Some(driven) = runs.driven.get(&run) else {
                hub.feed_from_log();
                return Ok(hub);
            };
            hub.feed_from(&driven.publisher);
            hub
        };
        // What was appended since is not heard any more.
        hub.is_logged(self.log.summary(run).await?.version);
        Ok(hub)
    }
}

#[cfg(test)]
mod tests;
