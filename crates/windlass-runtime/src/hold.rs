//! The hold on a run, which is given up when its driver goes: at its end, on an error, or when it is dropped.

use std::sync::Arc;
use std::task::{Context, Waker};

use windlass_core::{Millis, RunId};
use windlass_store::{EventLog, Fence, Holder, StoreError};

/// The right to append to a run, as long as nobody else takes it.
pub(crate) struct Hold {
    log: Arc<dyn EventLog>,
    run: RunId,
    fence: Fence,
    held: bool,
}

impl Hold {
    /// A hold that was taken, or that the run's first append will take.
    pub(crate) fn new(log: Arc<dyn EventLog>, run: RunId, fence: Fence) -> Self {
        Self { log, run, fence, held: true }
    }

    pub(crate) fn fence(&self) -> &Fence {
        &self.fence
    }

    /// The run has ended: the log gave the hold up in the same step.
    pub(crate) fn ended(&mut self) {
        self.held = false;
    }

    /// Gives the hold up: only somebody from outside can bring the run on.
    /// `wake_at`: when a timer of its own does so all the same.
    pub(crate) async fn park(&mut self, wake_at: Option<Millis>) -> Result<(), StoreError> {
        self.log.park_until(self.run, &self.fence, wake_at).await?;
        self.held = false;
        Ok(())
    }

    /// Takes a hold that was given up again, with a new epoch. `false`: somebody else was faster.
    pub(crate) async fn take_again(&mut self, holder: &Holder) -> Result<bool, StoreError> {
        match self.log.hold(self.run, holder).await {
            Ok(fence) => {
                self.fence = fence;
                self.held = true;
                Ok(true)
            }
            Err(StoreError::Held { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.held {
            // One poll is enough to hand the release to the log; nobody can wait for its answer here. Should it fail,
            // the run stays held until this process ends.
            let mut release = self.log.release(self.run, &self.fence);
            let _unawaited = release.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}
