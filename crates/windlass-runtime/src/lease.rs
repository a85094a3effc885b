//! The hold on a run, which is given up when its driver goes: at its end, on an error, or when it is dropped.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Waker};

use windlass_core::RunId;
use windlass_store::{Fence, Holder, Leases, StoreError, Wake};
use windlass_tools::Lease;

use crate::error::in_full;

/// Why the log failed under running work: the driver ends with that error.
#[derive(Clone, Default)]
pub(crate) struct Broken(Arc<Mutex<Option<Arc<StoreError>>>>);

impl Broken {
    pub(crate) fn set(&self, error: Arc<StoreError>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn take(&self) -> Option<StoreError> {
        let error = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some(Arc::try_unwrap(error).unwrap_or_else(|error| StoreError::Failed(error.to_string().into())))
    }
}

/// The exclusive lease to append to a run.
pub(crate) struct RunLease {
    log: Arc<dyn Leases>,
    run: RunId,
    fence: Fence,
    held: bool,
}

impl RunLease {
    /// A hold that was taken, or that the run's first append will take.
    pub(crate) fn new(log: Arc<dyn Leases>, run: RunId, fence: Fence) -> Self {
        Self { log, run, fence, held: true }
    }

    pub(crate) fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Lease for a call, which confirms it right before its effect. If the lease is lost, the driver ends with that error.
    pub(crate) fn lease(&self, broken: Broken) -> Lease {
        let (log, run, fence) = (self.log.clone(), self.run, self.fence.clone());
        Lease::new(move || {
            let (log, fence, broken) = (log.clone(), fence.clone(), broken.clone());
            Box::pin(async move {
                let confirmed = log.renew(run, &fence).await;
                confirmed.map_err(|error| {
                    let why = in_full(&error).into();
                    broken.set(Arc::new(error));
                    why
                })
            })
        })
    }

    /// The run has ended: the log gave the lease up in the same step.
    pub(crate) fn ended(&mut self) {
        self.held = false;
    }

    /// Releases the lease while only outside input or, at `wake`, a timer can continue the run.
    pub(crate) async fn park(&mut self, wake: Option<Wake>) -> Result<(), StoreError> {
        self.log.park(self.run, &self.fence, wake).await?;
        self.held = false;
        Ok(())
    }

    /// Releases the lease for the next holder.
    pub(crate) async fn release(&mut self) -> Result<(), StoreError> {
        self.held = false;
        self.log.release(self.run, &self.fence).await
    }

    /// Reacquires a released lease with a new epoch. `false`: another process was faster.
    pub(crate) async fn take_again(&mut self, holder: &Holder) -> Result<bool, StoreError> {
        match self.log.acquire(self.run, holder).await {
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

impl Drop for RunLease {
    fn drop(&mut self) {
        if self.held {
            // One poll is enough to hand the release to the log; nobody can wait for its answer here. Should it fail,
            // the run stays held until this process ends.
            let mut release = self.log.release(self.run, &self.fence);
            let _unawaited = release.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}
