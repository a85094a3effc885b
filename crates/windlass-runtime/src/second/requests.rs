//! Requests under an idempotency key (E65): one that is sent twice begins one run, or steers one.

use serde::Serialize;
use sha2::{Digest as _, Sha256};
use windlass_core::event::RunInput;
use windlass_core::{RunId, SessionId, Text};
use windlass_read::start_of;
use windlass_store::{PostKey, StoreError};

use super::{Admitted, begun};
use crate::agent::Agent;
use crate::binding::digest;
use crate::error::Error;
use crate::input::RunMessages;
use crate::run::DriveOptions;

/// The verb of the ids of runs that a message begins, and of the keys under which it is queued.
pub(super) const START: &str = "start";

/// The verb of the keys under which a message steers the run of its session.
pub(super) const STEERED: &str = "start.steer";

/// The parts of a request that make it the same one.
#[derive(Serialize)]
struct Request<'r> {
    agent: &'r Text,
    session: Option<&'r SessionId>,
    only_tools: Option<&'r Vec<Text>>,
    input: &'r RunInput,
}

/// The digest of a request, if it has a key.
pub(crate) fn digest_of(agent: &Agent, input: &RunInput, options: &DriveOptions) -> Option<Text> {
    options.key.as_ref()?;
    let (session, only_tools) = (options.session.as_ref(), options.only_tools.as_ref());
    Some(digest(&Request { agent: agent.name(), session, only_tools, input }))
}

/// The key of a post: each verb has keys of its own.
pub(crate) fn key_under(verb: &str, key: &str) -> Text {
    format!("{verb}/{key}").into()
}

/// The key under which a message is posted to the run of its session, if its request has one.
pub(super) fn key_of(agent: &Agent, verb: &str, input: &RunInput, options: &DriveOptions) -> Option<PostKey> {
    let (key, request) = (options.key.as_ref()?, digest_of(agent, input, options)?);
    let digest = Sha256::digest(request.as_bytes()).into();
    Some(PostKey { owner: options.owner.clone(), key: key_under(verb, key), digest })
}

impl Agent {
    /// The id of the run that a message begins.
    pub(crate) fn run_for(&self, options: &DriveOptions) -> RunId {
        match &options.key {
            Some(key) => RunId::of_request(&options.owner, START, key),
            None => self.environment().new_run(),
        }
    }

    /// Begins the run of a message without a session. One with a key begins durably, so that its second sending is told.
    pub(super) async fn begin_alone(
        &self,
        input: RunMessages,
        options: DriveOptions,
    ) -> Result<Admitted, Error> {
        if options.key.is_none() {
            return self.prepare_after(input, None, options).await.map(Admitted::Started);
        }
        loop {
            if let Some(admitted) = Box::pin(self.sent_before(&input, &options)).await? {
                return Ok(admitted);
            }
            let prepared = Box::pin(self.prepare_after(input.clone(), None, options.clone())).await?;
            if let Some(prepared) = begun(Box::pin(prepared.begun()).await)? {
                return Ok(Admitted::Started(prepared));
            }
        }
    }

    /// The fate of an earlier sending of this request: it has begun a run, waits in the session to begin one, or has steered one. `None`:
    /// it was not sent, was refused, or lies in the inbox of a run that has not read it yet.
    ///
    /// # Errors
    /// Another request has the key.
    pub(crate) async fn sent_before(
        &self,
        input: &RunMessages,
        options: &DriveOptions,
    ) -> Result<Option<Admitted>, Error> {
        let Some(key) = &options.key else { return Ok(None) };
        let (log, run) = (&**self.log(), self.run_for(options));
        let reused = |run| Error::KeyReused { key: key.clone(), run };
        match start_of(log, run).await.map_err(Error::from) {
            Ok(start) => {
                let (taken, _) = self.take_input(input.clone())?;
                let is_same = start.request_digest == digest_of(self, &taken, options);
                return if is_same { Ok(Some(Admitted::Repeated { run })) } else { Err(reused(run)) };
            }
            Err(Error::Log(StoreError::UnknownRun { .. })) => {}
            Err(error) => return Err(error),
        }
        for verb in [START, STEERED] {
            let Some(found) = log.posted(&options.owner, &key_under(verb, key)).await? else { continue };
            let (taken, _) = self.take_input(input.clone())?;
            let ours = key_of(self, verb, &taken, options).map(|key| key.digest);
            let (of, admitted) = match verb {
                START => (run, Admitted::Repeated { run }),
                _ => (found.run, Admitted::Steered { run: found.run }),
            };
            if ours != Some(found.digest) {
                return Err(reused(of));
            }
            if found.is_used {
                return Ok(Some(admitted));
            }
        }
        Ok(None)
    }
}
