//! The files of an agent, kept in the log of the runs that it begins (E71).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_agent_file::AgentSource;
use windlass_core::event::AgentRef;
use windlass_core::message::Ref;
use windlass_core::{Fact, State};
use windlass_store::{Batch, PAYLOAD_BYTES, Payloads, StoreError, payload_name};

use crate::platform::environment::Environment;
use crate::platform::error::Error;
use crate::platform::retry::again;

/// The files that an agent was made of.
#[derive(Debug)]
pub(crate) struct AgentFiles {
    bytes: Arc<[u8]>,
    reference: Arc<Ref>,
    /// Whether the agent's log has them.
    stored: AtomicBool,
}

impl AgentFiles {
    /// `None`: a path of theirs is no text.
    pub(crate) fn new(source: &AgentSource) -> Option<Self> {
        let bytes: Arc<[u8]> = source.to_bytes()?.into();
        let reference = Arc::new(Ref::to_data(payload_name(&bytes), bytes.len() as u64));
        Some(Self { bytes, reference, stored: AtomicBool::new(false) })
    }

    /// The reference to them in the events of runs.
    pub(crate) fn reference(&self) -> &Arc<Ref> {
        &self.reference
    }

    /// Whether an append refers to them.
    pub(crate) fn are_named_by(&self, batch: &Batch) -> bool {
        // They stand in the first event of a run, or in what follows the one that takes a run over.
        let named =
            |fact: &Fact| fact.agent_files().is_some_and(|named| named.sha256 == self.reference.sha256);
        batch.events.iter().take(2).any(|event| named(&event.fact))
    }

    /// Makes sure that the log has them.
    pub(crate) async fn store(
        &self,
        log: &dyn Payloads,
        environment: &dyn Environment,
    ) -> Result<(), StoreError> {
        if !self.stored.load(Ordering::Relaxed) {
            again(environment, || log.put(self.bytes.clone())).await?;
            self.stored.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The log has lost them: all runs that referred to them were pruned.
    pub(crate) fn forget(&self) {
        self.stored.store(false, Ordering::Relaxed);
    }
}

/// The files of the agent that a run has; `None`: a program built it, or the run comes from elsewhere.
pub(crate) fn files_of_run(state: &State) -> Option<&Ref> {
    let imported = state.agent().is_some_and(AgentRef::is_imported);
    state.agent_files().filter(|_| !imported)
}

/// The files that the agent of a run was made of, as its log has kept them; `None`: a program built it, or the run comes from elsewhere.
///
/// # Errors
/// The log failed, or they cannot be read.
pub async fn kept_files_of(log: &dyn Payloads, state: &State) -> Result<Option<AgentSource>, Error> {
    match files_of_run(state) {
        Some(files) => Ok(Some(kept_files(log, files).await?)),
        None => Ok(None),
    }
}

/// Reads the files that a run's agent was made of.
///
/// # Errors
/// The log failed, or they cannot be read.
pub async fn kept_files(log: &dyn Payloads, files: &Ref) -> Result<AgentSource, Error> {
    let length = usize::try_from(files.bytes.min(PAYLOAD_BYTES)).unwrap_or(usize::MAX);
    let bytes = log.get(&files.sha256, 0, length).await?;
    AgentSource::from_bytes(&bytes)
        .map_err(|source| Error::AgentFiles { files: files.sha256.clone(), source })
}
