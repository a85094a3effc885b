//! Forks of runs, ready to be driven.

use windlass_core::RunId;

use crate::agent::Agent;
use crate::driver::forks::{ForkOptions, Saved, fork_anew, forked_before};
use crate::driver::options::DriveOptions;
use crate::platform::error::Error;
use crate::work::prepared::Prepared;

/// A fork that is about to be driven.
#[derive(Debug)]
pub struct Fork {
    /// The run.
    pub prepared: Prepared,
    /// Usage that the fork does not pay again.
    pub saved: Saved,
}

/// Forks a run ([`Agent::fork`]).
pub(crate) async fn fork(
    agent: &Agent,
    run: RunId,
    fork: ForkOptions,
    options: DriveOptions,
) -> Result<Fork, Error> {
    match Box::pin(forked_before(agent, run, &fork, &options)).await? {
        Some((run, _)) => Err(Error::Repeated { run }),
        None => Box::pin(new_fork(agent, run, fork, options)).await,
    }
}

/// The same, whatever was sent before.
pub(crate) async fn new_fork(
    agent: &Agent,
    run: RunId,
    fork: ForkOptions,
    options: DriveOptions,
) -> Result<Fork, Error> {
    let (driver, saved) = fork_anew(agent, run, fork, options).await?;
    Ok(Fork { prepared: Prepared::new(driver), saved })
}
