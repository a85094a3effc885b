//! Each run as a line of JSON, and another line whenever it changes.

use std::collections::HashMap;

use windlass_core::{RunId, RunState};
use windlass_read::{ListPages, json};
use windlass_store::{RunFilter, RunStatus, RunSummary, Store, StoreError};

use super::LOOK;
use super::looks::may_pass;
use super::source::Source;
use crate::commands::runs::list::newest_of;
use crate::failure::{Exit, Failure};
use crate::interrupts::{Interrupt, Interrupts};
use crate::out;

/// Prints each run, and each change of one, until it is told to leave.
pub(super) async fn print(source: &Source, limit: u32, interrupts: &mut Interrupts) -> Result<Exit, Failure> {
    let mut changes = Changes { limit, known: None };
    let (mut reached, mut away) = (false, false);
    loop {
        let next = async {
            if reached || away {
                tokio::time::sleep(LOOK).await;
            }
            match source.store()? {
                Some(store) => changes.look(&*store).await,
                None => Ok(Vec::new()),
            }
        };
        let looked = tokio::select! {
            biased;
            interrupt = interrupts.next() => return match interrupt {
                Interrupt::Cancel => Ok(Exit::Good),
                Interrupt::Leave(_) => Err(interrupt.failure()),
            },
            looked = next => looked,
        };
        match looked {
            Ok(changed) => {
                changed.iter().try_for_each(|run| out::json(&json::summary(run)))?;
                (reached, away) = (true, false);
            }
            Err(failure) if reached && may_pass(&failure) => {
                if !away {
                    out::note(format_args!("{}; asking again until it is back", failure.message()));
                }
                away = true;
            }
            Err(failure) => return Err(failure),
        }
    }
}

/// The states of runs that were printed.
struct Changes {
    limit: u32,
    /// The newest runs and all that have not ended, as they were; `None`: nothing was read yet.
    known: Option<HashMap<RunId, RunSummary>>,
}

impl Changes {
    /// The newest runs, then whatever has changed; the oldest first.
    async fn look(&mut self, store: &dyn Store) -> Result<Vec<RunSummary>, Failure> {
        let newest = newest_of(store, RunFilter::default(), self.limit, |_| true, |_| true).await?;
        let mut runs: HashMap<RunId, RunSummary> = HashMap::new();
        for status in [RunStatus::Running, RunStatus::Suspended] {
            let filter = RunFilter { status: Some(status), ..RunFilter::default() };
            let mut pages = ListPages::new(store, filter);
            while let Some(page) = pages.next().await? {
                runs.extend(page.into_iter().map(|run| (run.run, run)));
            }
        }
        let first: Vec<RunId> = newest.iter().map(|run| run.run).collect();
        runs.extend(newest.into_iter().map(|run| (run.run, run)));
        let mut changed: Vec<RunSummary> = Vec::new();
        match &self.known {
            None => changed.extend(first.iter().filter_map(|run| runs.get(run).cloned())),
            Some(known) => {
                let fresh = runs.values().filter(|run| known.get(&run.run) != Some(run));
                changed.extend(fresh.cloned());
                // What is among neither any more has ended, or was removed.
                let open = known.values().filter(|run| !matches!(run.run_state, RunState::Ended(_)));
                for run in open.filter(|run| !runs.contains_key(&run.run)) {
                    match store.summary(run.run).await {
                        Ok(ended) => changed.push(ended),
                        Err(StoreError::UnknownRun { .. }) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
        changed.sort_by_key(|run| (run.started_at, run.run));
        self.known = Some(runs);
        Ok(changed)
    }
}
