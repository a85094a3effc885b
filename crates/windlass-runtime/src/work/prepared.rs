//! A run that is about to be driven.

use futures_core::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use windlass_core::event::Millis;
use windlass_core::{Owner, RunId, State};
use windlass_store::PostKey;

use crate::agent::delegates::Task;
use crate::driver::Driver;
use crate::driver::handle::RunHandle;
use crate::driver::run::Run;
use crate::driver::updates::{Publisher, Updates};
use crate::platform::error::Error;
use crate::work::Worker;

/// A run that is about to be driven: subscribe, take handles, then [`drive`](Self::drive).
#[derive(Debug)]
pub struct Prepared {
    // Boxed: a future holds what it was given next to what it works with, so that each level would hold it once more.
    driver: Box<Driver<Worker>>,
}

impl Prepared {
    pub(crate) fn new(driver: Box<Driver<Worker>>) -> Self {
        Self { driver }
    }

    /// The run's id.
    pub fn id(&self) -> RunId {
        self.driver.run()
    }

    /// A subscription to everything from here on. As long as there is one, models are asked to stream.
    pub fn updates(&self) -> Updates {
        self.driver.updates()
    }

    /// The run's owner.
    pub(crate) fn owner(&self) -> &Owner {
        self.driver.owner()
    }

    /// The run's state.
    pub(crate) fn state(&self) -> &State {
        self.driver.state()
    }

    /// Renews the lease of a run that has begun and waits to be driven: for how long it holds ([`Leases::renew`](windlass_store::Leases::renew)).
    pub(crate) async fn renewed(&mut self) -> Result<Option<Millis>, Error> {
        self.driver.renewed().await
    }

    /// The run is not driven here: its lease is given up.
    pub(crate) fn released(self) -> Run {
        Run::new(self.driver.released())
    }

    /// Where others subscribe while it is driven.
    pub(crate) fn publisher(&self) -> Publisher {
        self.driver.publisher()
    }

    /// A handle to reach the run while it is driven.
    pub fn handle(&self) -> RunHandle {
        self.driver.handle()
    }

    /// Detaches from the run together with another one.
    pub(crate) fn detaching_with(mut self, detach: &CancellationToken) -> Self {
        self.driver.detach_with(detach);
        self
    }

    /// Makes the child run use its parent's account.
    pub(crate) fn drawing_on(mut self, task: &Task) -> Self {
        self.driver.draw_on(task.account.clone());
        self
    }

    /// Takes the run over under the key of a request, which is known by it from the first append on.
    ///
    /// # Errors
    /// The same request has taken the run over before ([`Error::Repeated`]); another request has the key; the log failed.
    pub(crate) async fn under(mut self, key: PostKey) -> Result<Self, Error> {
        self.driver.take_over_under(key).await?;
        Ok(self)
    }

    /// Makes the run's start durable now.
    pub(crate) async fn begun(mut self) -> Result<Self, Error> {
        self.driver.begin_now().await?;
        Ok(self)
    }

    /// Drives the run until it has ended, is suspended, or is [detached](RunHandle::detach). Dropping the future leaves the run
    /// at its last durable event.
    ///
    /// # Errors
    /// The log failed, or another process took the run over.
    pub fn drive(self) -> BoxFuture<'static, Result<Run, Error>> {
        // Boxed here: the code of a future is compiled where it is polled, and the driver is to be compiled once, with this
        // crate's options.
        Box::pin(async move { self.driver.drive().await.map(Run::new) })
    }
}
