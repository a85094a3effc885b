//! From the log to a state: the fold, with the bases that a run stands on.

pub(crate) mod failed_reply;
pub(crate) mod pages;

use futures_core::future::BoxFuture;
use windlass_core::event::RunFact;
use windlass_core::{Fact, RunId, State, evolve};
use windlass_store::{Index, Log, StoreError};

use crate::error::Error;
use crate::load::pages::{DEEPEST_BASE, RunPages};

/// The state of a run as its log leaves it.
///
/// # Errors
/// The run or one of its bases is not in the log, or the log failed.
pub async fn load(log: &dyn Log, run: RunId) -> Result<State, Error> {
    load_until(log, run, u64::MAX).await
}

/// The state of a run after its first `version` events.
///
/// # Errors
/// As for [`load`].
pub async fn load_until(log: &dyn Log, run: RunId, version: u64) -> Result<State, Error> {
    // The chain of bases, walked down first: a session may have thousands of runs.
    let mut chain = vec![(run, version)];
    while let Some((run, _)) = chain.last().copied() {
        let first = log.read(run, 1, 1).await?;
        let start = first.first().and_then(|batch| batch.events.first()).map(|event| &event.fact);
        match start {
            Some(Fact::Run(RunFact::Started(start))) => match &start.base {
                Some(base) if chain.len() < DEEPEST_BASE => chain.push((base.run, base.version)),
                _ => break,
            },
            _ if chain.len() > 1 => {
                let dependent = chain.get(chain.len() - 2).map_or(run, |(run, _)| *run);
                return Err(Error::MissingBase { run: dependent, base: run });
            }
            _ => return Err(Error::Log(StoreError::UnknownRun { run })),
        }
    }
    let mut base_state: Option<State> = None;
    while let Some((run, version)) = chain.pop() {
        let state = base_state.as_ref().map_or_else(|| State::new(run), |base| State::on_base(run, base));
        base_state = Some(fold(log, state, version).await?);
    }
    base_state.ok_or(Error::Log(StoreError::UnknownRun { run }))
}

/// The state of a run that was read before: only what has come since is read.
///
/// # Errors
/// The run is not in the log any more, or the log failed.
pub async fn catch_up(log: &dyn Log, seen: State) -> Result<State, Error> {
    fold(log, seen, u64::MAX).await
}

/// A run's first fact: what it was given.
///
/// # Errors
/// The log failed, or has no such run.
pub async fn start_of(log: &dyn Log, run: RunId) -> Result<windlass_core::event::RunStarted, Error> {
    let first = log.read(run, 1, 1).await?;
    match first.first().and_then(|batch| batch.events.first()).map(|event| &event.fact) {
        Some(Fact::Run(RunFact::Started(start))) => Ok((**start).clone()),
        _ => Err(Error::Log(StoreError::UnknownRun { run })),
    }
}

/// The state before a run's first event: with its base, if it has one.
pub(crate) async fn state_before(log: &dyn Log, run: RunId) -> Result<State, Error> {
    let first = log.read(run, 1, 1).await?;
    match first.first().and_then(|batch| batch.events.first()).map(|event| &event.fact) {
        Some(Fact::Run(RunFact::Started(start))) => match &start.base {
            Some(base) => {
                let base_state = load_until(log, base.run, base.version).await;
                let base_state = base_state.map_err(|error| {
                    if let Error::Log(StoreError::UnknownRun { run: missing }) = error
                        && missing == base.run
                    {
                        Error::MissingBase { run, base: base.run }
                    } else {
                        error
                    }
                });
                Ok(State::on_base(run, &base_state?))
            }
            None => Ok(State::new(run)),
        },
        _ => Err(Error::Log(StoreError::UnknownRun { run })),
    }
}

/// Whether the run is in this log.
///
/// # Errors
/// The log failed.
pub async fn is_known(log: &dyn Index, run: RunId) -> Result<bool, Error> {
    match log.summary(run).await {
        Ok(_) => Ok(true),
        Err(StoreError::UnknownRun { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn fold(log: &dyn Log, mut state: State, version: u64) -> BoxFuture<'_, Result<State, Error>> {
    Box::pin(async move {
        let mut pages = RunPages::starting_at(log, state.run(), state.version() + 1);
        while let Some(batches) = pages.next().await? {
            for event in batches.iter().flat_map(|batch| batch.events.iter()) {
                if state.version() >= version {
                    return Ok(state);
                }
                state = evolve(state, event);
            }
        }
        Ok(state)
    })
}
