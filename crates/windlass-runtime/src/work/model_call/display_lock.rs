//! The display lock: of two attempts at one model call, only one is shown to subscribers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::ActionId;

/// The attempt whose pieces are shown: the first one that has any, until it fails or the other one has brought the reply.
#[derive(Clone, Debug, Default)]
pub(crate) struct DisplayLock(Arc<Mutex<Option<ActionId>>>);

impl DisplayLock {
    fn lock(&self) -> MutexGuard<'_, Option<ActionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins while no other attempt at it is going on.
    pub(super) fn free(&self) {
        *self.lock() = None;
    }

    /// Whether the pieces of an attempt are shown. A lock that nobody holds is taken.
    pub(super) fn takes(&self, action: ActionId) -> bool {
        *self.lock().get_or_insert(action) == action
    }

    /// An attempt has failed. Whether it held the lock.
    pub(super) fn leaves(&self, action: ActionId) -> bool {
        self.lock().take_if(|holder| *holder == action).is_some()
    }

    /// An attempt has brought the reply. Gives the other one that held the lock.
    pub(super) fn won_by(&self, action: ActionId) -> Option<ActionId> {
        self.lock().replace(action).filter(|holder| *holder != action)
    }
}
