//! Requests under an idempotency key (E65): one that is sent twice begins one run.

use serde::Serialize;
use windlass_core::event::RunInput;
use windlass_core::{RunId, SessionId, Text};
use windlass_read::{load, start_of};
use windlass_store::StoreError;

use super::{Admitted, begun};
use crate::agent::Agent;
use crate::binding::digest;
use crate::error::Error;
use crate::input::RunMessages;
use crate::run::DriveOptions;

/// The verb of the ids of runs that a message begins, and of the keys under which it is queued.
pub(super) const START: &str = "start";

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
            if let Some(run) = Box::pin(self.begun_before(&input, &options)).await? {
                return Ok(Admitted::Repeated { run });
            }
            let prepared = Box::pin(self.prepare_after(input.clone(), None, options.clone())).await?;
            if let Some(prepared) = begun(Box::pin(prepared.begun()).await)? {
                return Ok(Admitted::Started(prepared));
            }
        }
    }

    /// The run that an earlier sending of this request has begun, or that waits in the session to begin.
    ///
    /// # Errors
    /// Another request has the key.
    pub(crate) async fn begun_before(
        &self,
        input: &RunMessages,
        options: &DriveOptions,
    ) -> Result<Option<RunId>, Error> {
        let Some(key) = &options.key else { return Ok(None) };
        let run = self.run_for(options);
        let known = match start_of(&**self.log(), run).await.map_err(Error::from) {
            Ok(start) => start.request,
            Err(Error::Log(StoreError::UnknownRun { .. })) => match self.waiting(run, options).await? {
                Some(request) => request,
                None => return Ok(None),
            },
            Err(error) => return Err(error),
        };
        let (taken, _) = self.take_input(input.clone())?;
        if known == digest_of(self, &taken, options) {
            Ok(Some(run))
        } else {
            Err(Error::KeyReused { key: key.clone(), run })
        }
    }

    /// The request of a message that waits in the session for that run.
    async fn waiting(&self, run: RunId, options: &DriveOptions) -> Result<Option<Option<Text>>, Error> {
        let Some(session) = &options.session else { return Ok(None) };
        let Some(head) = self.log().head(&options.owner, session).await? else { return Ok(None) };
        let head = load(&**self.log(), head).await?;
        let found = head.queued().find(|queued| queued.run == run);
        Ok(found.map(|queued| queued.request.clone()))
    }
}
