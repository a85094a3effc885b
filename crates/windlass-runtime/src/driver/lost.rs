//! Runs whose model calls are lost with their processes, again and again.

use windlass_core::event::ResumedBy;
use windlass_core::{RunId, State};
use windlass_read::{Error as ReadError, load};
use windlass_store::{Store, StoreError};

use crate::platform::child_runs::summary_of;
use crate::platform::error::Error;

/// A run that only a person should let go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The run whose model call was lost.
    pub run: RunId,
    /// Number of consecutive lost attempts.
    pub attempts: u32,
}

/// Returns whether a run without a driver should not be resumed automatically: one model call, its own or that of a child run,
/// was lost with its process [`LOST_ATTEMPTS`](windlass_core::budget::LOST_ATTEMPTS) times in a row.
///
/// # Errors
/// The log failed.
pub async fn given_up(log: &dyn Store, state: &State) -> Result<Option<Lost>, Error> {
    if state.is_given_up() {
        return Ok(Some(Lost { run: state.run(), attempts: state.lost_attempts() }));
    }
    let mut open: Vec<RunId> = state.delegated_runs().collect();
    while let Some(run) = open.pop() {
        let task = match load(log, run).await {
            Ok(task) => task,
            // It was handed over, and has not begun.
            Err(ReadError::Log(StoreError::UnknownRun { .. })) => continue,
            Err(error) => return Err(error.into()),
        };
        if task.is_given_up() {
            return Ok(Some(Lost { run, attempts: task.lost_attempts() }));
        }
        open.extend(task.delegated_runs());
        if task.is_finished() {
            open.extend(summary_to_look_at(log, run).await?);
        }
    }
    Ok(None)
}

/// The run that sums a branch up which has ended, if it has begun.
async fn summary_to_look_at(log: &dyn Store, branch: RunId) -> Result<Option<RunId>, Error> {
    match log.summary(summary_of(branch)).await {
        Ok(_) => Ok(Some(summary_of(branch))),
        Err(StoreError::UnknownRun { .. }) => Ok(None),
        Err(error) => Err(Error::Log(error)),
    }
}

/// Refuses a run that only a person should let go on, unless one does.
pub(crate) async fn refuse_given_up(
    log: &dyn Store,
    state: &State,
    resumed_by: ResumedBy,
) -> Result<(), Error> {
    if resumed_by == ResumedBy::Person {
        return Ok(());
    }
    match given_up(log, state).await? {
        Some(Lost { run, attempts }) => Err(Error::LostAttempts { run, attempts }),
        None => Ok(()),
    }
}
