//! The floor: of two attempts at one model call, only one is shown to subscribers.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_core::ActionId;

/// The attempt whose pieces are shown: the first one that has any, until it fails or the other one has brought the reply.
#[derive(Clone, Debug, Default)]
pub(crate) struct Floor(Arc<Mutex<Option<ActionId>>>);

impl Floor {
    fn lock(&self) -> MutexGuard<'_, Option<ActionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A call begins that goes on beside no other one.
    pub(super) fn free(&self) {
        *self.lock() = None;
    }

    /// Whether the pieces of an attempt are shown. A floor that nobody has is taken.
    pub(super) fn takes(&self, action: ActionId) -> bool {
        *self.lock().get_or_insert(action) == action
    }

    /// An attempt has failed. Whether it had the floor.
    pub(super) fn leaves(&self, action: ActionId) -> bool {
        self.lock().take_if(|holder| *holder == action).is_some()
    }

    /// An attempt has brought the reply. Gives the other one that had the floor.
    pub(super) fn won_by(&self, action: ActionId) -> Option<ActionId> {
        self.lock().replace(action).filter(|holder| *holder != action)
    }
}
