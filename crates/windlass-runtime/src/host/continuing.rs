//! Runs that go on beyond the limit that cut them, each as a new run.

use serde::Serialize;
use windlass_core::policy::LimitKind;
use windlass_core::{InvalidInput, RunId, Status, Text};
use windlass_read::{load, start_of};
use windlass_store::StoreError;

use super::driving::LiveRun;
use super::scoped::Scoped;
use crate::agent::Agent;
use crate::agent::binding::digest;
use crate::driver::options::DriveOptions;
use crate::driver::starting::{Beginning, Opening, begin};
use crate::platform::error::Error;
use crate::work::prepared::Prepared;

/// The parts of a request that make it the same one.
#[derive(Serialize)]
struct Request<'r> {
    agent: &'r Text,
    base: RunId,
    limits: &'r [(LimitKind, f64)],
}

/// A run that goes on beyond a limit.
#[derive(Debug)]
pub struct Continued {
    /// The run.
    pub run: RunId,
    /// The run as it is driven here; `None`: it was begun when the same request was sent before under its key.
    pub live: Option<LiveRun>,
}

/// Prepares the run that continues a run which a limit has cut ([`Agent::continue_run`]). Under an idempotency key its id is made of it.
pub(super) async fn continued(
    agent: &Agent,
    run: RunId,
    limits: &[(LimitKind, f64)],
    options: DriveOptions,
) -> Result<Prepared, Error> {
    let base = load(&**agent.log(), run).await?;
    let Some(end) = base.ended() else { return Err(Error::NotEnded { run }) };
    let Status::Limit(cut) = end.status else { return Err(Error::NotCut { run, status: end.status }) };
    let mut raised = Vec::new();
    for (limit, number) in limits {
        let refused = |reached: String| {
            Error::Refused(InvalidInput::NotRaised { limit: *limit, reached, found: number.to_string() })
        };
        let max = limit.keep(*number).ok_or_else(|| refused("0".to_owned()))?;
        let before = base.policy().limit(*limit).unwrap_or(0);
        if *limit == cut && max <= before {
            return Err(refused(limit.show(before)));
        }
        raised.push((*limit, max));
    }
    let (owner, session) = (base.owner().clone(), base.session().cloned());
    let options = DriveOptions { owner, session, only_tools: None, ..options };
    let request = request(agent, run, limits, &options);
    let (own, digest) =
        request.map_or_else(|| (agent.environment().new_run(), None), |(own, digest)| (own, Some(digest)));
    let beginning = Beginning::new(own, Opening::Limits(raised), options).on(Some(base)).requested(digest);
    begin(agent, beginning).await.map(Prepared::new)
}

/// The id and the digest of a request under an idempotency key; `None`: it has none.
fn request(
    agent: &Agent,
    base: RunId,
    limits: &[(LimitKind, f64)],
    options: &DriveOptions,
) -> Option<(RunId, Text)> {
    let key = options.key.as_ref()?;
    let request = Request { agent: agent.name(), base, limits };
    Some((RunId::of_request(&options.owner, "resume", key), digest(&request)))
}

impl Scoped {
    /// Continues a run that a limit has cut, with limits set anew (in the unit that people write), and drives the new run here: it is one
    /// of the first run's owner. One that is asked for under an idempotency key begins durably, once.
    ///
    /// # Errors
    /// As for [`Agent::continue_run`]; another request has the key.
    pub async fn continue_run(
        &self,
        run: RunId,
        agent: &Agent,
        limits: &[(LimitKind, f64)],
        options: DriveOptions,
    ) -> Result<Continued, Error> {
        let owner = self.summary(run).await?.owner;
        let options = DriveOptions { owner, ..options };
        loop {
            if let Some(run) = self.continued_before(run, agent, limits, &options).await? {
                return Ok(Continued { run, live: None });
            }
            let prepared = Box::pin(continued(agent, run, limits, options.clone())).await?;
            let own = prepared.id();
            let begun = match &options.key {
                Some(_) => Box::pin(prepared.begun()).await,
                None => Ok(prepared),
            };
            match begun {
                Ok(prepared) => {
                    return Ok(Continued { run: own, live: Some(self.host.drive(agent, prepared)) });
                }
                // The same request, sent at the same moment, was faster.
                Err(Error::Log(StoreError::Conflict { .. })) if options.key.is_some() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The run that an earlier sending of this request has begun under its idempotency key ([`Scoped::forked_before`]).
    ///
    /// # Errors
    /// The run is unknown; another request has the key; the log failed.
    pub async fn continued_before(
        &self,
        base: RunId,
        agent: &Agent,
        limits: &[(LimitKind, f64)],
        options: &DriveOptions,
    ) -> Result<Option<RunId>, Error> {
        let options = DriveOptions { owner: self.summary(base).await?.owner, ..options.clone() };
        let (Some((run, digest)), Some(key)) = (request(agent, base, limits, &options), &options.key) else {
            return Ok(None);
        };
        match start_of(&**self.host.log(), run).await.map_err(Error::from) {
            Ok(start) if start.request_digest == Some(digest) => Ok(Some(run)),
            Ok(_) => Err(Error::KeyReused { key: key.clone(), run }),
            Err(Error::Log(StoreError::UnknownRun { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
