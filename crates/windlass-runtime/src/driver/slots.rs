//! Slots: the work of a run that is going on now, polled within the driver's own task.
//!
//! Nothing is spawned: when the driver ends or is dropped, so does everything that it started.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use windlass_core::event::Millis;
use windlass_core::{Action, ActionId, ActionKind, InputKind};

/// A piece of work that is going on.
pub(crate) struct Slot {
    pub(crate) action: Action,
    /// `None`: the work was abandoned, and there is no input.
    pub(crate) future: BoxFuture<'static, Option<InputKind>>,
    pub(crate) cancel: CancellationToken,
    /// Set once the work was asked to stop.
    pub(crate) stopping: bool,
    /// Set once it has come to its end.
    pub(crate) ended: bool,
}

impl Drop for Slot {
    /// Cancels work in progress elsewhere, because its result is no longer awaited.
    fn drop(&mut self) {
        if !self.ended {
            self.cancel.cancel();
        }
    }
}

/// All work that is going on.
#[derive(Default)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
}

impl Slots {
    pub(crate) fn has(&self, id: ActionId) -> bool {
        self.slots.iter().any(|slot| slot.action.id == id)
    }

    pub(crate) fn add(&mut self, slot: Slot) {
        if self.slots.is_empty() {
            // One is what most runs have at a time.
            self.slots.reserve_exact(1);
        }
        self.slots.push(slot);
    }

    /// Asks work that is no longer wanted to stop. Timers and questions simply go, and so does a timer for another time.
    pub(crate) fn keep_only(&mut self, wanted: &[Action]) {
        self.slots.retain_mut(|slot| {
            let timer = matches!(slot.action.work, ActionKind::SetTimer { .. });
            let same =
                |action: &Action| action.id == slot.action.id && (!timer || action.work == slot.action.work);
            if slot.stopping || wanted.iter().any(same) {
                return true;
            }
            match slot.action.work {
                ActionKind::SetTimer { .. } | ActionKind::Ask { .. } => false,
                ActionKind::CallModel { .. }
                | ActionKind::RunTool { .. }
                | ActionKind::RunCode { .. }
                | ActionKind::Delegate { .. }
                | ActionKind::RunHook
                | ActionKind::CheckCall { .. } => {
                    slot.stopping = true;
                    slot.cancel.cancel();
                    true
                }
            }
        });
    }

    /// Stops the work of an action and waits for its end: work that ends as soon as it is asked to. `None`: it has not begun.
    pub(crate) async fn stop(&mut self, id: ActionId) -> Option<InputKind> {
        let place = self.slots.iter().position(|slot| slot.action.id == id)?;
        let mut slot = self.slots.remove(place);
        slot.cancel.cancel();
        let end = (&mut slot.future).await;
        slot.ended = true;
        end
    }

    /// Asks all work to stop, as far as it is this process' own. Timers, questions and hooks simply go; child runs are detached by
    /// themselves.
    pub(crate) fn detach(&mut self) {
        self.slots.retain_mut(|slot| {
            match slot.action.work {
                ActionKind::SetTimer { .. } | ActionKind::Ask { .. } | ActionKind::RunHook => return false,
                ActionKind::Delegate { .. } => {}
                ActionKind::CallModel { .. }
                | ActionKind::RunTool { .. }
                | ActionKind::RunCode { .. }
                | ActionKind::CheckCall { .. } => {
                    slot.cancel.cancel();
                }
            }
            slot.stopping = true;
            true
        });
    }

    /// Whether work other than timers is going on.
    pub(crate) fn busy(&self) -> bool {
        self.slots.iter().any(|slot| !matches!(slot.action.work, ActionKind::SetTimer { .. }))
    }

    /// Whether a timer fires until then.
    pub(crate) fn due(&self, until: Millis) -> bool {
        self.slots.iter().any(|slot| matches!(slot.action.work, ActionKind::SetTimer { at } if at <= until))
    }

    /// When the first timer fires.
    pub(crate) fn next_timer(&self) -> Option<Millis> {
        let timers = self.slots.iter().filter_map(|slot| {
            if let ActionKind::SetTimer { at } = slot.action.work { Some(at) } else { None }
        });
        timers.min()
    }

    /// Whether nothing is going on at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The next work that ends, in the order in which it was started where several have.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<InputKind>> {
        for place in 0..self.slots.len() {
            let Some(slot) = self.slots.get_mut(place) else { break };
            if let Poll::Ready(what) = Pin::new(&mut slot.future).poll(context) {
                slot.ended = true;
                self.slots.remove(place);
                return Poll::Ready(what);
            }
        }
        Poll::Pending
    }
}
