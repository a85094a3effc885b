//! Requests under an idempotency key (E65): one that is sent twice begins one run, or steers one.

use futures_core::future::BoxFuture;
use futures_util::TryFutureExt as _;
use sha2::{Digest as _, Sha256};
use windlass_core::event::RunInput;
use windlass_read::start_of;
use windlass_store::{PostKey, StoreError};

use super::turns::begun;
use super::{Admitted, prepare_after};
use crate::agent::Agent;
use crate::agent::input::{RunMessages, take_input};
use crate::driver::options::DriveOptions;
use crate::driver::requests::{START, digest_of, key_under, run_for};
use crate::platform::error::Error;

/// The verb of the keys under which a message steers the run of its session.
pub(super) const STEERED: &str = "start.steer";

/// The key under which a message is posted to the run of its session, if its request has one.
pub(super) fn key_of(agent: &Agent, verb: &str, input: &RunInput, options: &DriveOptions) -> Option<PostKey> {
    let (key, request) = (options.key.as_ref()?, digest_of(agent, input, options)?);
    let digest = Sha256::digest(request.as_bytes()).into();
    Some(PostKey { owner: options.owner.clone(), key: key_under(verb, key), digest })
}

/// Begins the run of a message without a session that was not sent before. One with a key begins durably, so that its second sending is
/// recognized.
pub(super) fn begin_alone(
    agent: &Agent,
    input: RunMessages,
    options: DriveOptions,
) -> BoxFuture<'_, Result<Admitted, Error>> {
    if options.key.is_none() {
        Box::pin(prepare_after(agent, input, None, options).map_ok(Admitted::Started))
    } else {
        Box::pin(begin_under_key(agent, input, options))
    }
}

/// An earlier sending that has begun the run is met where this one would begin it: the first one looks for posts under its key alone.
async fn begin_under_key(
    agent: &Agent,
    input: RunMessages,
    options: DriveOptions,
) -> Result<Admitted, Error> {
    if let Some(admitted) = posted_before(agent, &input, &options).await? {
        return Ok(admitted);
    }
    loop {
        let begun = match prepare_after(agent, input.clone(), None, options.clone()).await {
            Ok(prepared) => begun(Box::pin(prepared.begun()).await),
            Err(error) => Err(error),
        };
        if let Ok(Some(prepared)) = begun {
            return Ok(Admitted::Started(prepared));
        }
        match (Box::pin(sent_before(agent, &input, &options)).await?, begun) {
            (Some(admitted), _) => return Ok(admitted),
            (None, Err(error)) => return Err(error),
            // What was faster has freed the key by now.
            (None, Ok(_)) => {}
        }
    }
}

/// The fate of an earlier sending of this request: it has begun a run, waits in the session to begin one, or has steered one. `None`:
/// it was not sent, was refused, or lies in the inbox of a run that has not read it yet.
///
/// # Errors
/// Another request has the key.
pub(crate) async fn sent_before(
    agent: &Agent,
    input: &RunMessages,
    options: &DriveOptions,
) -> Result<Option<Admitted>, Error> {
    let Some(key) = &options.key else { return Ok(None) };
    let (log, run) = (&**agent.log(), run_for(agent, options));
    let reused = |run| Error::KeyReused { key: key.clone(), run };
    match start_of(log, run).await.map_err(Error::from) {
        Ok(start) => {
            let (taken, _) = take_input(agent, input.clone())?;
            let is_same = start.request_digest == digest_of(agent, &taken, options);
            if is_same { Ok(Some(Admitted::Repeated { run })) } else { Err(reused(run)) }
        }
        Err(Error::Log(StoreError::UnknownRun { .. })) => posted_before(agent, input, options).await,
        Err(error) => Err(error),
    }
}

/// The fate of an earlier sending that was posted to a run: it waits in the session to begin one, or has steered one.
async fn posted_before(
    agent: &Agent,
    input: &RunMessages,
    options: &DriveOptions,
) -> Result<Option<Admitted>, Error> {
    let Some(key) = &options.key else { return Ok(None) };
    let (verbs, run) = ([START, STEERED], run_for(agent, options));
    let found = agent.log().posted(&options.owner, &verbs.map(|verb| key_under(verb, key))).await?;
    for (verb, found) in verbs.into_iter().zip(found) {
        let Some(found) = found else { continue };
        let (taken, _) = take_input(agent, input.clone())?;
        let ours = key_of(agent, verb, &taken, options).map(|key| key.digest);
        let (of, admitted) = match verb {
            START => (run, Admitted::Repeated { run }),
            _ => (found.run, Admitted::Steered { run: found.run }),
        };
        if ours != Some(found.digest) {
            return Err(Error::KeyReused { key: key.clone(), run: of });
        }
        if found.is_used {
            return Ok(Some(admitted));
        }
    }
    Ok(None)
}
