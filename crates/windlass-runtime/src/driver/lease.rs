//! The hold on a run, which is given up when its driver goes: at its end, on an error, or when it is dropped.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::runtime::Handle;
use uuid::Uuid;
use windlass_core::{RunId, Text};
use windlass_error::{Diagnostic as _, Kind, in_full};
use windlass_store::{Claim, Fence, Holder, Leases, StoreError, Wake};
use windlass_tools::Lease;

use crate::platform::environment::Environment;
use crate::platform::retry::again;

/// The rest before a lease is released again that the log would not release.
const RELEASE_REST: Duration = Duration::from_secs(1);

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

/// A key that no other request of any process has.
pub(crate) fn request_key() -> Text {
    static PROCESS: OnceLock<Uuid> = OnceLock::new();
    static LAST: AtomicU64 = AtomicU64::new(0);
    let process = PROCESS.get_or_init(Uuid::now_v7);
    format!("{process}/{}", LAST.fetch_add(1, Ordering::Relaxed)).into()
}

/// The exclusive lease to append to a run.
pub(crate) struct RunLease {
    log: Arc<dyn Leases>,
    run: RunId,
    fence: Fence,
    held: bool,
}

impl RunLease {
    /// A hold that was taken, or that the run's first append will take: where that is refused nothing is given up, because a run of
    /// that id may have begun elsewhere in this process, under the same fence.
    pub(crate) fn new(log: Arc<dyn Leases>, run: RunId, fence: Fence, held: bool) -> Self {
        Self { log, run, fence, held }
    }

    /// The run's first append is on its way, and takes it unless it is refused.
    pub(crate) fn begins(&mut self) {
        self.held = true;
    }

    pub(crate) fn fence(&self) -> &Fence {
        &self.fence
    }

    /// Lease for a call, which confirms it right before its effect. If the lease is lost, the driver ends with that error.
    pub(crate) fn lease(&self, broken: Broken, environment: Arc<dyn Environment>) -> Lease {
        let (log, run, fence) = (self.log.clone(), self.run, self.fence.clone());
        Lease::new(move || {
            let (log, fence, broken) = (log.clone(), fence.clone(), broken.clone());
            let environment = environment.clone();
            Box::pin(async move {
                let confirmed = again(&*environment, || log.renew(run, &fence)).await;
                confirmed.map(|held| held.map(Duration::from_millis)).map_err(|error| {
                    let why = in_full(&error).into();
                    broken.set(Arc::new(error));
                    why
                })
            })
        })
    }

    /// The run has ended: the log gave the lease up in the same step. Or it did not begin.
    pub(crate) fn ended(&mut self) {
        self.held = false;
    }

    /// Releases the lease while only outside input or, at `wake`, a timer can continue the run.
    pub(crate) async fn park(
        &mut self,
        environment: &dyn Environment,
        wake: Option<Wake>,
    ) -> Result<(), StoreError> {
        again(environment, || self.log.park(self.run, &self.fence, wake)).await?;
        self.held = false;
        Ok(())
    }

    /// Releases the lease for the next holder.
    pub(crate) async fn release(&mut self, environment: &dyn Environment) -> Result<(), StoreError> {
        self.held = false;
        again(environment, || self.log.release(self.run, &self.fence)).await
    }

    /// Releases the lease of a run that is driven no longer, if the log works. Where it does not, [`released`] goes on with it.
    pub(crate) async fn give_up(&mut self) {
        if self.held {
            self.held = self.log.release(self.run, &self.fence).await.is_err_and(|error| !is_settled(&error));
        }
    }

    /// Reacquires a released lease with a new epoch. `false`: another process was faster.
    pub(crate) async fn take_again(
        &mut self,
        environment: &dyn Environment,
        holder: &Holder,
    ) -> Result<bool, StoreError> {
        let claim = Claim::fresh();
        match again(environment, || self.log.acquire(self.run, holder, claim)).await {
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
        if !self.held {
            return;
        }
        let mut released = Box::pin(released(self.log.clone(), self.run, self.fence.clone()));
        // One poll hands the release to the log, also where the runtime ends now.
        let is_pending = released.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        if let (true, Ok(runtime)) = (is_pending, Handle::try_current()) {
            drop(runtime.spawn(released));
        }
    }
}

/// Whether a refused release says that there is nothing to release.
fn is_settled(error: &StoreError) -> bool {
    matches!(error.kind(), Kind::Conflict | Kind::NotFound)
}

/// Releases a lease, however long the log fails: others wait for a run that this process holds, and it is driven by nobody.
async fn released(log: Arc<dyn Leases>, run: RunId, fence: Fence) {
    while let Err(error) = log.release(run, &fence).await {
        if is_settled(&error) || Handle::try_current().is_err() {
            return;
        }
        tokio::time::sleep(RELEASE_REST).await;
    }
}
