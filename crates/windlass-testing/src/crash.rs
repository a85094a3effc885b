//! A log that crashes the process, so to say: right after a chosen append, before anything that it frees begins; or that
//! fails to write a chosen append once, whereupon the driver of the run ends with an error.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use windlass_core::{Event, RunId};
use windlass_store::{Answer, Append, Fence, Holder, Leases, Log, MemoryLog, StoreError, forward_store};

use crate::schedule::Turns;
use crate::sim::yield_now;

/// The way in which a [`CrashLog`] ends the work of a process at a chosen event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// The append that holds the event is written and never answered: the process has died.
    Crash,
    /// The append that would hold the event fails with [`StoreError::Failed`], and nothing of it is written.
    FailedAppend,
}

/// A log in memory that never answers the append that holds a chosen event, or fails to write it once. Events are
/// counted over all runs from 1.
#[derive(Debug, Default)]
pub struct CrashLog {
    inner: MemoryLog,
    planned: Mutex<BTreeMap<u64, Interruption>>,
    /// The events that a failed append did not write.
    lost: Mutex<Option<(RunId, Arc<[Event]>)>>,
    /// Appends in progress when a process died.
    dropped: Mutex<Vec<(RunId, Arc<[Event]>)>>,
    /// The number of the last event of each append.
    ends: Mutex<Vec<u64>>,
    written: AtomicU64,
    crashed: AtomicBool,
    pause: AtomicU64,
    turns: Turns,
}

impl CrashLog {
    /// A log that crashes after that event; 0: never.
    pub fn new(after: u64) -> Arc<Self> {
        let log = Self::default();
        if after > 0 {
            log.interrupt(after, Interruption::Crash);
        }
        Arc::new(log)
    }

    /// A log whose appends take turns with others as a seed says.
    pub(crate) fn scheduled(after: u64, turns: Turns) -> Arc<Self> {
        let log = Self { turns, ..Self::default() };
        if after > 0 {
            log.interrupt(after, Interruption::Crash);
        }
        Arc::new(log)
    }

    /// Ends the work of the process at that event, once.
    pub fn interrupt(&self, event: u64, how: Interruption) {
        self.planned.lock().unwrap_or_else(PoisonError::into_inner).insert(event, how);
    }

    /// Takes the first interruption planned for one of these events and clears it.
    fn take_planned(&self, first: u64, last: u64) -> Option<Interruption> {
        let mut planned = self.planned.lock().unwrap_or_else(PoisonError::into_inner);
        let event = *planned.range(first..=last).next()?.0;
        let how = planned.remove(&event);
        // What was planned for other events of this append has had its chance.
        planned.retain(|other, _| !(first..=last).contains(other));
        how
    }

    /// The run and the events that an append failed to write since this was last asked.
    pub fn take_lost(&self) -> Option<(RunId, Arc<[Event]>)> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The appends dropped with their writer since the last call.
    pub fn take_dropped(&self) -> Vec<(RunId, Arc<[Event]>)> {
        std::mem::take(&mut *self.dropped.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether an append has failed since the last check for losses.
    pub fn failed(&self) -> bool {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Gives others a turn once that event is written, before anything that it frees begins.
    pub fn pause_after(&self, event: u64) {
        self.pause.store(event, Ordering::SeqCst);
    }

    /// Whether it has crashed since this was last asked.
    pub fn take_crash(&self) -> bool {
        self.crashed.swap(false, Ordering::SeqCst)
    }

    /// Whether it has crashed since the last check.
    pub fn crashed(&self) -> bool {
        self.crashed.load(Ordering::SeqCst)
    }

    /// The number of events written, all runs together.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }

    /// The number of the last event of each append so far, all runs together.
    pub fn append_ends(&self) -> Vec<u64> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Declares a holder dead.
    pub fn forget_holder(&self, holder: &Holder) {
        self.inner.forget_holder(holder);
    }
}

/// An append that has begun: if it is dropped before it is written, its events are lost.
struct Begun<'l> {
    log: &'l CrashLog,
    append: Option<(RunId, Arc<[Event]>)>,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.log.dropped.lock().unwrap_or_else(PoisonError::into_inner).extend(self.append.take());
    }
}

impl Log for CrashLog {
    fn append(&self, append: Append) -> Answer<'_, ()> {
        Box::pin(async move {
            let (run, events) = (append.run, append.events.clone());
            let mut begun = Begun { log: self, append: Some((run, events.clone())) };
            if self.crashed() {
                // The process is dead, whoever else in it was about to write.
                std::future::pending::<()>().await;
            }
            self.turns.rest().await;
            let before = self.written.load(Ordering::SeqCst);
            let (first, last) = (before + 1, before + events.len() as u64);
            let planned = self.take_planned(first, last);
            if planned == Some(Interruption::FailedAppend) {
                begun.append = None;
                *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some((run, events));
                // Whoever drives the environment sees the failure before the driver does.
                yield_now().await;
                return Err(StoreError::Failed("simulated: input/output error".into()));
            }
            begun.append = None;
            self.inner.append(append).await?;
            self.written.store(last, Ordering::SeqCst);
            self.ends.lock().unwrap_or_else(PoisonError::into_inner).push(last);
            if (first..=last).contains(&self.pause.load(Ordering::SeqCst)) {
                yield_now().await;
            }
            if planned == Some(Interruption::Crash) {
                self.crashed.store(true, Ordering::SeqCst);
                std::future::pending::<()>().await;
            }
            self.turns.rest().await;
            Ok(())
        })
    }

    forward_store!(inner: used, read, follow);
}

impl Leases for CrashLog {
    fn renew(&self, run: RunId, fence: &Fence) -> Answer<'_, Option<windlass_store::Millis>> {
        if self.crashed() {
            // The process is dead.
            return Box::pin(std::future::pending());
        }
        self.inner.renew(run, fence)
    }

    forward_store!(inner: acquire, acquire_due, probe, release, park);
}

forward_store!(Inbox, Payloads, Index for CrashLog => inner);
