//! Appending, and finding out what became of an append whose reply was lost (E73).

use std::sync::Arc;

use windlass_core::{RunState, State};
use windlass_read::headline;
use windlass_store::{Append, Batch, PostId, StoreError};

use super::Driver;
use super::work::Work;
use crate::agent::Agent;
use crate::agent::files::AgentFiles;
use crate::platform::retry::Pauses;

/// The content of the log from the version on that an append expected.
enum There {
    /// Nothing: the append was not written, or not yet.
    Nothing,
    Ours,
    /// Another append; so many events in all that were read.
    Another(u64),
}

impl<W: Work> Driver<W> {
    /// Appends the events that have brought the run to its state.
    pub(super) async fn append(&mut self, batch: &Batch, uses: Option<PostId>) -> Result<(), StoreError> {
        let first = batch.first == 1;
        if first {
            self.lease.begins();
        }
        let files = self.agent.files().filter(|files| files.are_named_by(batch)).cloned();
        if let Some(files) = &files {
            Box::pin(files.store(&**self.agent.log(), &**self.agent.environment())).await?;
        }
        let appended = match self.agent.log().append(self.append_of(batch, uses)).await {
            // All runs that needed the agent's files were pruned since they were stored.
            Err(StoreError::UnknownPayload { .. }) if let Some(files) = &files => {
                let append = self.append_of(batch, uses);
                Box::pin(stored_again(self.agent.clone(), files.clone(), append)).await
            }
            // Boxed: it hardly ever happens.
            Err(unknown @ StoreError::Unknown { .. }) => Box::pin(self.find_out(batch, uses, unknown)).await,
            appended => appended,
        };
        if first && appended.as_ref().is_err_and(|error| !matches!(error, StoreError::Unknown { .. })) {
            self.lease.ended();
        }
        appended
    }

    fn append_of(&self, batch: &Batch, uses: Option<PostId>) -> Append {
        let next = &*self.state;
        Append {
            uses,
            heard: self.durable_inbox.heard(),
            head: self.head,
            headline: headline(next),
            ..Append::of(next.run(), batch.clone(), self.lease.fence().clone(), run_state(next))
        }
    }

    /// Reads what is there until that says what became of the append, and sends it again if nothing is. Nothing of the state is
    /// shown or begun until then. It ends with `unknown` when the lease's time is over.
    async fn find_out(
        &mut self,
        batch: &Batch,
        uses: Option<PostId>,
        unknown: StoreError,
    ) -> Result<(), StoreError> {
        let (run, log) = (self.state.run(), self.agent.log().clone());
        // A store that does not answer this says nothing of the append.
        let held = log.renew(run, self.lease.fence()).await.ok().flatten();
        let environment = self.agent.environment().clone();
        let mut pauses = Pauses::within(&*environment, held);
        loop {
            match self.there(batch).await {
                Ok(There::Ours) => return Ok(()),
                Ok(There::Another(found)) => {
                    return Err(StoreError::Conflict { run, expected: batch.first - 1, found });
                }
                Ok(There::Nothing) => match log.append(self.append_of(batch, uses)).await {
                    // The first one may have arrived in between: it is looked for once more.
                    Err(StoreError::Unknown { .. } | StoreError::Conflict { .. }) => {}
                    appended => return appended,
                },
                // Only a store that answers can say it.
                Err(_) => {}
            }
            if !pauses.wait().await {
                return Err(unknown);
            }
        }
    }

    /// Looks for an append. Equal events after the same version are ours if the lease is, too: two that begin a run under one id at
    /// the same moment may write the same.
    async fn there(&mut self, batch: &Batch) -> Result<There, StoreError> {
        let (run, log) = (self.state.run(), self.agent.log().clone());
        let found = match log.read(run, batch.first, batch.events.len()).await {
            Err(StoreError::UnknownRun { .. }) => return Ok(There::Nothing),
            found => found?,
        };
        let Some(first) = found.first() else { return Ok(There::Nothing) };
        let another = There::Another(found.last().map_or(0, Batch::last));
        if first != batch {
            return Ok(another);
        }
        match log.renew(run, self.lease.fence()).await {
            // The append itself may have given the lease up.
            Ok(_) | Err(StoreError::NotHeld { .. }) => Ok(There::Ours),
            Err(StoreError::Fenced { .. }) => Ok(another),
            Err(error) => Err(error),
        }
    }
}

/// Stores the agent's files once more, and appends then.
async fn stored_again(agent: Agent, files: Arc<AgentFiles>, append: Append) -> Result<(), StoreError> {
    files.forget();
    files.store(&**agent.log(), &**agent.environment()).await?;
    agent.log().append(append).await
}

/// The run's state for listings.
fn run_state(state: &State) -> RunState {
    match state.run_state() {
        // It is suspended, and its hold given up, by `park`: once the driver really leaves.
        RunState::Suspended => RunState::Running,
        run_state @ (RunState::Running | RunState::Ended(_)) => run_state,
    }
}
