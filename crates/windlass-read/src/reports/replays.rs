//! Replay: decides on a run's log again, append by append, without side effects.

use windlass_core::event::{RunFact, RunStarted};
use windlass_core::run::Difference;
use windlass_core::{Event, Fact, RunId, State, replay};
use windlass_store::{Batch, Log};

use crate::error::Error;
use crate::load::pages::RunPages;
use crate::load::state_before;

/// Result of a replay.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// Number of replayed appends that gave the same events.
    pub appends: u64,
    /// Number of their events.
    pub events: u64,
    /// The first event that differs, if one does.
    pub difference: Option<Box<Difference>>,
}

/// Accepts each rebuilt input of a run again. With another start, such as one that a changed agent would make, the run is
/// decided on from there, and what came from outside stays as it was.
///
/// # Errors
/// The run or one of its bases is not in the log, or the log failed.
pub async fn replay_run(log: &dyn Log, run: RunId, start: Option<RunStarted>) -> Result<Replayed, Error> {
    let mut pages = RunPages::new(log, run);
    let mut batches = pages.next().await?.unwrap_or_default();
    let mut replayed = Replayed { appends: 0, events: 0, difference: None };
    let mut state = state_before(log, run).await?;
    if !stands_on_its_base(&state, batches.first()) {
        replayed.difference = Some(other_base(batches.first()));
        return Ok(replayed);
    }
    if let (Some(start), Some(first)) = (start, batches.first_mut()) {
        first.events = started_so(start, &first.events).into();
    }
    loop {
        for batch in &batches {
            match replay(&state, &batch.cause, &batch.events) {
                Ok(next) => state = next,
                Err(difference) => {
                    replayed.difference = Some(difference);
                    return Ok(replayed);
                }
            }
            replayed.appends += 1;
            replayed.events += batch.events.len() as u64;
        }
        let Some(next) = pages.next().await? else { return Ok(replayed) };
        batches = next;
    }
}

fn stands_on_its_base(state: &State, first: Option<&Batch>) -> bool {
    match first.and_then(|batch| batch.events.first()).map(|event| &event.fact) {
        Some(Fact::Run(RunFact::Started(start))) => start
            .base
            .as_ref()
            .is_none_or(|base| state.base_version() == Some(base.version) && state.digest() == base.digest),
        _ => true,
    }
}

fn other_base(first: Option<&Batch>) -> Box<Difference> {
    Box::new(Difference {
        seq: 1,
        expected: first.and_then(|batch| batch.events.first()).cloned(),
        found: None,
        reason: Some("the base's conversation has another digest".to_owned()),
    })
}

/// The first append with another start.
fn started_so(start: RunStarted, events: &[Event]) -> Vec<Event> {
    let mut events = events.to_vec();
    if let Some(Fact::Run(RunFact::Started(own))) = events.first_mut().map(|event| &mut event.fact) {
        **own = start;
    }
    events
}
