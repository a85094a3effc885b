//! The log of a server, which measures what goes through it: the time of appends, and what the runs that are driven here use.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use windlass_core::event::RunFact;
use windlass_core::{Fact, RunId, RunState, Text};
use windlass_store::{Answer, Append, Fence, Leases, Log, Spend, Store, StoreError, Wake, forward_store};

use super::metrics::{Metrics, Uses};

/// A log around another one.
pub(crate) struct MeasuredLog {
    inner: Arc<dyn Store>,
    metrics: Arc<Metrics>,
    /// The runs that are driven here: what was counted of each.
    counted: Mutex<HashMap<RunId, Counted>>,
    /// By agent.
    uses: Mutex<HashMap<Text, Arc<Uses>>>,
}

/// The figures of a run that is driven here.
#[derive(Clone, Debug)]
struct Counted {
    uses: Arc<Uses>,
    /// Its usage so far: all of it was counted, or was used elsewhere.
    spend: Spend,
}

impl fmt::Debug for MeasuredLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MeasuredLog").field(&self.inner).finish()
    }
}

impl MeasuredLog {
    pub(crate) fn new(inner: Arc<dyn Store>, metrics: Arc<Metrics>) -> Self {
        Self { inner, metrics, counted: Mutex::default(), uses: Mutex::default() }
    }

    fn counted(&self) -> MutexGuard<'_, HashMap<RunId, Counted>> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn uses(&self, agent: &Text) -> Arc<Uses> {
        let mut all = self.uses.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(agent.clone()).or_insert_with(|| Arc::new(self.metrics.uses(agent))).clone()
    }

    /// How a run stood before an append. One that was taken up here is looked for in the log. `None`: the log does not say it.
    async fn before(&self, append: &Append) -> Option<Counted> {
        let known = self.counted().get(&append.run).cloned();
        if known.is_some() {
            return known;
        }
        if append.expected == 0 {
            let Fact::Run(RunFact::Started(started)) = &append.events.first()?.fact else { return None };
            return Some(Counted { uses: self.uses(&started.agent.name), spend: Spend::default() });
        }
        let line = self.inner.summary(append.run).await.ok()?;
        // What a run used before logs said it was used elsewhere.
        let spend = line.headline.spend.or(append.headline.spend)?;
        Some(Counted { uses: self.uses(&line.agent), spend })
    }

    /// Counts what a run has used since it was counted last. An append whose reply was lost is counted with the next one.
    fn count(&self, run: RunId, before: Option<Counted>, now: Option<Spend>, ended: bool) {
        let (Some(Counted { uses, spend }), Some(now)) = (before, now) else { return };
        let used = now.minus(spend);
        if !used.is_zero() {
            uses.add(&used);
        }
        let mut counted = self.counted();
        if ended {
            counted.remove(&run);
        } else {
            counted.insert(run, Counted { uses, spend: now });
        }
    }
}

impl Log for MeasuredLog {
    fn append(&self, append: Append) -> Answer<'_, ()> {
        Box::pin(async move {
            let before = self.before(&append).await;
            let (run, spend) = (append.run, append.headline.spend);
            let ended = matches!(append.run_state, RunState::Ended(_));
            let began = Instant::now();
            let appended = self.inner.append(append).await;
            self.metrics.append(began.elapsed());
            match &appended {
                Ok(()) => self.count(run, before, spend, ended),
                // It is driven elsewhere.
                Err(StoreError::Fenced { .. }) => drop(self.counted().remove(&run)),
                Err(_) => {}
            }
            appended
        })
    }

    forward_store!(inner: used, read, follow);
}

impl Leases for MeasuredLog {
    fn release(&self, run: RunId, fence: &Fence) -> Answer<'_, ()> {
        self.counted().remove(&run);
        self.inner.release(run, fence)
    }

    fn park(&self, run: RunId, fence: &Fence, wake: Option<Wake>) -> Answer<'_, ()> {
        self.counted().remove(&run);
        self.inner.park(run, fence, wake)
    }

    forward_store!(inner: acquire, acquire_due, renew, probe);
}

forward_store!(Inbox, Payloads, Index for MeasuredLog => inner);

#[cfg(test)]
mod tests {
    use windlass_store::{MemoryLog, conformance};

    use super::*;

    #[test]
    fn it_keeps_every_promise_of_a_log() {
        let make = || -> Arc<dyn Store> {
            Arc::new(MeasuredLog::new(Arc::new(MemoryLog::new()), Arc::new(Metrics::new())))
        };
        assert_eq!(conformance::run(conformance::all(make)), Ok(()));
    }
}
