//! Queued messages and their turns: whose is next, and what happens where the process that should go on is gone.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use windlass_core::event::{MessageQueued, Millis};
use windlass_core::{InvalidInput, RunId, SessionId, State};
use windlass_read::{is_known, load, start_of};
use windlass_store::{Store, StoreError};

use super::session_end;
use crate::agent::Agent;
use crate::agent::input::RunMessages;
use crate::driver::control::run_end;
use crate::driver::options::DriveOptions;
use crate::driver::starting::{Beginning, Opening, begin};
use crate::host::resume::Resume;
use crate::platform::error::Error;
use crate::work::prepared::Prepared;

/// How long the process that brought a message may take to begin its run, in milliseconds. Another one does it then.
const PATIENCE_MS: Millis = 1_000;
/// The time between two looks for a run that is to begin, in milliseconds.
const LOOK_MS: Millis = 50;
/// The time between two looks whether a run still has a driver, in milliseconds. It must be without one at two of them.
const DRIVER_LOOK_MS: Millis = 500;

/// Whose turn it is ([`Agent::await_turn`]).
#[derive(Debug)]
pub enum Turn {
    /// The message's: its run has begun, and is to be driven.
    Ours(Prepared),
    /// Another process has begun the message's run.
    Elsewhere,
}

/// Waits until it is the turn of the queued message that `run` answers ([`Agent::await_turn`]).
pub(crate) async fn await_turn(
    agent: &Agent,
    session: &SessionId,
    behind: RunId,
    run: RunId,
    options: &DriveOptions,
) -> Result<Turn, Error> {
    let mut behind = behind;
    loop {
        Box::pin(end_of(agent, behind)).await?;
        let end = match session_end(agent, &options.owner, session).await {
            Ok(Some(end)) => end,
            Ok(None) => return Ok(Turn::Elsewhere),
            Err(Error::SessionBusy { run: other, .. }) if other == run => return Ok(Turn::Elsewhere),
            Err(Error::SessionBusy { run: other, .. }) => {
                behind = other;
                continue;
            }
            Err(error) => return Err(error),
        };
        match unanswered(&**agent.log(), &end).await? {
            Some(next) if next.run == run => {
                if let Some(ours) = Box::pin(begin_queued(agent, &end, &next, options)).await? {
                    return Ok(Turn::Ours(ours));
                }
            }
            Some(next) => Box::pin(answer_first(agent, &end, &next, options)).await?,
            None => return Ok(Turn::Elsewhere),
        }
    }
}

/// Begins the run of a queued message; `None`: another process was faster.
pub(super) async fn begin_queued(
    agent: &Agent,
    end: &State,
    queued: &Arc<MessageQueued>,
    options: &DriveOptions,
) -> Result<Option<Prepared>, Error> {
    let options = DriveOptions {
        owner: end.owner().clone(),
        session: end.session().cloned(),
        people: options.people.clone(),
        wait_for_timers: options.wait_for_timers,
        hold_for_quota: options.hold_for_quota,
        ..DriveOptions::default()
    };
    let input = Opening::Messages(RunMessages::from_stored(&queued.messages));
    let beginning = Beginning::new(queued.run, input, options).on(Some(end.clone()));
    let prepared =
        begin(agent, beginning.requested(queued.request_digest.clone())).await.map(Prepared::new)?;
    begun(Box::pin(prepared.begun()).await)
}

/// Gives the process that brought a message the time to begin its run, and tells whether that has begun.
pub(crate) async fn wait_for_another(agent: &Agent, run: RunId) -> Result<bool, Error> {
    let environment = &**agent.environment();
    for _ in 0..PATIENCE_MS / LOOK_MS {
        environment.sleep_until(environment.now().saturating_add(LOOK_MS)).await;
        if is_known(&**agent.log(), run).await? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Lets the message that has waited longest be answered: by the process that brought it, or, if that is gone, here.
pub(super) async fn answer_first(
    agent: &Agent,
    end: &State,
    queued: &Arc<MessageQueued>,
    options: &DriveOptions,
) -> Result<(), Error> {
    if wait_for_another(agent, queued.run).await? {
        return Ok(());
    }
    match Box::pin(begin_queued(agent, end, queued, options)).await? {
        Some(prepared) => prepared.drive().await.map(drop),
        None => Ok(()),
    }
}

/// Waits for the end of a run. One whose process has died is resumed here, so that nobody waits for ever.
pub(super) async fn end_of(agent: &Agent, run: RunId) -> Result<(), Error> {
    let (log, environment) = (&**agent.log(), &**agent.environment());
    let mut end = pin!(run_end(log, run));
    let mut alone = false;
    loop {
        let look = environment.sleep_until(environment.now().saturating_add(DRIVER_LOOK_MS));
        if let Either::Left((ended, _)) = select(end.as_mut(), look).await {
            return ended.map(drop);
        }
        let line = log.summary(run).await?;
        let was_alone = std::mem::replace(&mut alone, line.is_interrupted());
        if was_alone && alone {
            alone = false;
            let driven = match Resume::new(agent, run).prepare().await {
                Ok(prepared) => prepared.drive().await.map(drop),
                Err(error) => Err(error),
            };
            taken_by_another(driven)?;
        }
    }
}

/// A run that has begun; `None`: another one did, or another process began it.
pub(crate) fn begun(prepared: Result<Prepared, Error>) -> Result<Option<Prepared>, Error> {
    match prepared {
        Ok(prepared) => Ok(Some(prepared)),
        Err(Error::Log(StoreError::HeadMoved { .. } | StoreError::Conflict { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Another process that takes a run up is no error, and neither is one that has brought it to its end.
fn taken_by_another(driven: Result<(), Error>) -> Result<(), Error> {
    match driven {
        Err(
            Error::Refused(InvalidInput::Ended { .. })
            | Error::Log(
                StoreError::Held { .. }
                | StoreError::Fenced { .. }
                | StoreError::NotHeld { .. }
                | StoreError::Conflict { .. },
            ),
        ) => Ok(()),
        driven => driven,
    }
}

/// The message that waits longest for an answer when a session's run has ended.
pub(super) async fn unanswered(log: &dyn Store, end: &State) -> Result<Option<Arc<MessageQueued>>, Error> {
    for queued in end.queued() {
        if !is_known(log, queued.run).await? {
            return Ok(Some(queued.clone()));
        }
    }
    Ok(None)
}

/// Which of these runs hold messages that no run has answered: they are needed until then.
///
/// # Errors
/// The log failed.
pub async fn holding_messages(log: &dyn Store, runs: &[RunId]) -> Result<Vec<RunId>, Error> {
    let mut holding = Vec::new();
    for run in runs {
        let start = start_of(log, *run).await?;
        if start.policy.past.while_running.keeps_unheard()
            && start.session.is_some()
            && unanswered(log, &load(log, *run).await?).await?.is_some()
        {
            holding.push(*run);
        }
    }
    Ok(holding)
}
