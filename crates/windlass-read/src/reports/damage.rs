//! Runs that cannot be folded, or whose fold is not what the log's listing says.

use windlass_core::{RunId, RunState, State};
use windlass_error::in_full;
use windlass_store::{RunFilter, RunSummary, Store, StoreError};

use crate::load::load;
use crate::load::pages::ListPages;

/// A run that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedRun {
    /// The run.
    pub run: RunId,
    /// The fault: what was expected, and what was found.
    pub fault: String,
}

/// Folds every run of a log from its first event, and compares the state with the listing.
///
/// # Errors
/// The runs cannot be listed.
pub async fn damaged_runs(log: &dyn Store) -> Result<Vec<DamagedRun>, StoreError> {
    let mut damaged = Vec::new();
    let mut pages = ListPages::new(log, RunFilter::default());
    while let Some(page) = pages.next().await? {
        for summary in &page {
            let fault = match load(log, summary.run).await {
                Ok(state) => unlike(summary, &state),
                Err(error) => Some(in_full(&error)),
            };
            damaged.extend(fault.map(|fault| DamagedRun { run: summary.run, fault }));
        }
    }
    Ok(damaged)
}

/// The first difference between the fold of a run and its line in the listing.
fn unlike(summary: &RunSummary, state: &State) -> Option<String> {
    // A running run may have more events by now.
    let (found, expected) = (state.version(), summary.version);
    if found < expected {
        return Some(format!("{found} events can be read, expected {expected}"));
    }
    match (summary.run_state, state.ended()) {
        (RunState::Ended(status), Some(end)) if end.status != status => {
            Some(format!("its events end with {}, but it is listed as {status}", end.status))
        }
        (RunState::Ended(status), None) => {
            Some(format!("its events have no end, but it is listed as {status}"))
        }
        (RunState::Running | RunState::Suspended, Some(end)) if found == expected => Some(format!(
            "its events end with {}, but it is listed as {}",
            end.status,
            summary.run_state.name()
        )),
        _ => None,
    }
}
