//! Cancelling a run that any process drives, or none.

use std::sync::Arc;

use futures_core::future::BoxFuture;
use futures_util::future::join;
use windlass_core::event::Millis;
use windlass_core::{InputKind, RunId, Text};
use windlass_read::load;
use windlass_store::{Holder, PostKey, Store, StoreError};

use crate::agent::Agent;
use crate::driver::control::{Sending, answered, post_in, post_request};
use crate::driver::parents::{asked_at, settled, unfinished_parent};
use crate::driver::run::Run;
use crate::host::resume::Resume;
use crate::host::stand_in::stand_in;
use crate::platform::environment::{Environment, SystemEnvironment};
use crate::platform::error::Error;

/// The outcome of a request to cancel.
#[derive(Clone, Debug)]
pub enum Cancelled {
    /// The run had no driver, so it was ended here.
    Ended(Box<Run>),
    /// This process drives the run, and was asked to stop it. [`run_end`](crate::control::run_end) waits for its end.
    Asked(Holder),
}

/// Cancels a run that any process drives, or none, without its agent: no further work begins.
///
/// # Errors
/// The run has ended or is being stopped, or the log failed.
pub async fn cancel(log: &Arc<dyn Store>, run: RunId, at: Millis, reason: Text) -> Result<Cancelled, Error> {
    cancel_by(None, log, run, at, reason).await
}

/// Cancels a run as an agent's program asks for it ([`Agent::cancel`]).
pub(crate) fn cancel_with(
    agent: &Agent,
    run: RunId,
    reason: Text,
) -> BoxFuture<'_, Result<Cancelled, Error>> {
    Box::pin(cancel_by(Some(agent), agent.log(), run, agent.environment().now(), reason))
}

/// Asks the process that drives a run to stop it. One that nobody drives is ended here: by this agent if it is the run's, else by one that
/// stands in for it.
async fn cancel_by(
    agent: Option<&Agent>,
    log: &Arc<dyn Store>,
    run: RunId,
    at: Millis,
    reason: Text,
) -> Result<Cancelled, Error> {
    loop {
        if let Some(holder) = log.summary(run).await?.holder {
            let environment =
                agent.map_or(&SystemEnvironment as &dyn Environment, |own| &**own.environment());
            let what = InputKind::Cancel { reason: Some(reason) };
            post_in(environment, &**log, Sending { run, at, what, key: None }).await?;
            return Ok(Cancelled::Asked(holder));
        }
        let ended = end(&ender(agent, log, run).await?, run, reason.clone()).await;
        if let Some(ended) = ended_unless_held(ended)? {
            return Ok(ended);
        }
    }
}

/// The agent that ends a run.
async fn ender(agent: Option<&Agent>, log: &Arc<dyn Store>, run: RunId) -> Result<Agent, Error> {
    let Some(agent) = agent else { return stand_in(log, run).await?.build() };
    match Resume::new(agent, run).check().await {
        Err(Error::AgentChanged { .. }) => {
            stand_in(log, run).await?.environment(agent.environment().clone()).build()
        }
        _ => Ok(agent.clone()),
    }
}

/// As [`cancel`], under a key of its sender's: the request is posted, so that it is known by its key, and then the run is ended where
/// nobody drives it.
pub(crate) async fn cancel_under(
    log: &Arc<dyn Store>,
    run: RunId,
    at: Millis,
    reason: Text,
    key: PostKey,
) -> Result<Cancelled, Error> {
    let what = InputKind::Cancel { reason: Some(reason) };
    post_in(&SystemEnvironment, &**log, Sending { run, at, what, key: Some(key) }).await?;
    being_cancelled(log, run).await
}

/// The outcome for a run whose cancellation was posted. Where nobody drives it, it is ended here.
pub(crate) async fn being_cancelled(log: &Arc<dyn Store>, run: RunId) -> Result<Cancelled, Error> {
    let ended = async || -> Result<Option<Cancelled>, Error> {
        let state = load(&**log, run).await?;
        Ok(state.is_finished().then(|| Cancelled::Ended(Box::new(Run::new(Arc::new(state))))))
    };
    if let Some(ended) = ended().await? {
        return Ok(ended);
    }
    if let Some(holder) = log.summary(run).await?.holder {
        return Ok(Cancelled::Asked(holder));
    }
    let agent = stand_in(log, run).await?.build()?;
    // Its driver finds the cancellation in the inbox.
    let driven = match Resume::new(&agent, run).standing_in().by_hand().prepare().await {
        Ok(prepared) => prepared.drive().await?,
        Err(Error::Log(StoreError::Held { holder, .. })) => {
            return Ok(Cancelled::Asked(Holder(holder.into())));
        }
        // Another process has ended it meanwhile.
        Err(refused) => return ended().await?.ok_or(refused),
    };
    release_parents(&agent, run).await?;
    Ok(Cancelled::Ended(Box::new(driven)))
}

/// The end of a run; `None`: another process took the run over first, and is to be asked.
fn ended_unless_held(ended: Result<Run, Error>) -> Result<Option<Cancelled>, Error> {
    match ended {
        Ok(run) => Ok(Some(Cancelled::Ended(Box::new(run)))),
        Err(Error::Log(StoreError::Held { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes over a run without a driver in order to end it.
async fn end(agent: &Agent, run: RunId, reason: Text) -> Result<Run, Error> {
    let prepared = Resume::new(agent, run).standing_in().by_hand().prepare().await?;
    let handle = prepared.handle();
    // The driver looks into its inbox before it polls any work.
    let (cancelled, ended) = join(handle.cancel(reason), prepared.drive()).await;
    let ended = ended?;
    cancelled?;
    release_parents(agent, run).await?;
    Ok(ended)
}

/// Answers, at the root, the questions of a child run that has ended: no parent of it is left waiting.
async fn release_parents(agent: &Agent, run: RunId) -> Result<(), Error> {
    let log = &**agent.log();
    let Some(parent) = unfinished_parent(log, run).await? else { return Ok(()) };
    for (question, answer) in settled(log, &parent).await? {
        let (run, question) = asked_at(log, parent.run(), question).await?;
        match post_request(agent, run, answered(question, answer), None).await {
            // It was answered meanwhile.
            Ok(_) | Err(Error::Refused(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
