//! Runs from elsewhere: checked, written down, and not acted upon.
//!
//! The agent of an imported run is marked ([`AgentRef::imported`](windlass_core::event::AgentRef::imported)), so that no agent here
//! is that one. Resuming such a run needs an agent of your own, whose policy and tools then apply.

use windlass_core::event::{AgentRef, RunFact};
use windlass_core::{Event, Fact, Owner, RunId, RunState, State, evolve, replay};
use windlass_store::{Append, Batch, Claim, Fence, Holder, Log, Store, StoreError};

use crate::error::Error;
use crate::load::load_until;
use crate::load::pages::headline;

/// A run that was imported.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The current state of the run.
    pub state: State,
    /// The number of its events that were written; 0: the run was there already.
    pub written: u64,
    /// The first event that this version would not have made, if there is one.
    pub unlike: Option<u64>,
    /// Whether its lines carried hashes, which were checked. [`import_run`] has no lines: `false`.
    pub hashed: bool,
}

/// Writes a run from elsewhere into the log, as one of the owner who imports it. It stands in its session there without being
/// continued: an import moves no head. Its appends keep their boundaries. A run that is there already with the same
/// events is left alone; one that an earlier import left unfinished is completed.
///
/// # Errors
/// The events have gaps or begin with something else than the run's start, its base is not in the log or another one,
/// there is another run of that id, or the log failed. Nothing is written then.
pub async fn import_run(
    log: &dyn Store,
    holder: &Holder,
    owner: &Owner,
    run: RunId,
    batches: Vec<Batch>,
) -> Result<Imported, Error> {
    let batches = marked(run, owner, batches)?;
    let (state, unlike) = checked(log, run, &batches).await?;
    let there = match log.summary(run).await {
        Ok(summary) => summary.version,
        Err(StoreError::UnknownRun { .. }) => 0,
        Err(error) => return Err(error.into()),
    };
    same_so_far(log, run, &batches, there).await?;
    let missing: Vec<Batch> = batches.into_iter().filter(|batch| batch.first > there).collect();
    let written = missing.iter().map(|batch| batch.events.len() as u64).sum();
    if !missing.is_empty() {
        write(log, holder, &state, missing).await?;
    }
    Ok(Imported { state, written, unlike, hashed: false })
}

fn bad(run: RunId, seq: u64, what: impl Into<String>) -> Error {
    Error::BadImport { run, seq, what: what.into() }
}

/// The appends with their owner here, and with the mark wherever an agent is named; they must follow one another without a gap.
fn marked(run: RunId, owner: &Owner, mut batches: Vec<Batch>) -> Result<Vec<Batch>, Error> {
    let mut next = 1;
    for batch in &batches {
        if batch.first != next || batch.events.is_empty() {
            return Err(bad(run, next, format!("expected event {next}, found event {}", batch.first)));
        }
        next = batch.last() + 1;
    }
    let Some(first) = batches.first_mut() else { return Err(bad(run, 1, "there are no events")) };
    match first.events.first().map(|event| &event.fact) {
        Some(Fact::Run(RunFact::Started(start))) if start.run == run => {}
        Some(other) => {
            let kind = other.kind();
            return Err(bad(run, 1, format!("expected the start of this run, found {kind}")));
        }
        None => return Err(bad(run, 1, "there are no events")),
    }
    for batch in &mut batches {
        if batch.events.iter().any(|event| named(&event.fact).is_some()) {
            let here = |event| owned(with_agent(event, AgentRef::imported), owner);
            batch.events = batch.events.iter().map(here).collect();
        }
    }
    Ok(batches)
}

/// The agent that a fact sets as the run's agent. An import ignores such facts.
fn named(fact: &Fact) -> Option<&AgentRef> {
    if let Fact::Run(RunFact::Started(start)) = fact {
        Some(&start.agent)
    } else if let Fact::Run(RunFact::Adjusted(adjusted)) = fact {
        adjusted.agent.as_ref()
    } else {
        None
    }
}

/// An event as it was where its run came from: without the mark of an import.
pub fn at_home(event: &Event) -> Event {
    with_agent(event, AgentRef::at_home)
}

/// An event with its agent known otherwise, if it names one.
fn with_agent(event: &Event, known: impl Fn(&AgentRef) -> AgentRef) -> Event {
    let mut event = event.clone();
    if let Fact::Run(RunFact::Started(start)) = &mut event.fact {
        start.agent = known(&start.agent);
    } else if let Fact::Run(RunFact::Adjusted(adjusted)) = &mut event.fact {
        adjusted.agent = adjusted.agent.as_ref().map(known);
    }
    event
}

/// A start with that owner.
fn owned(mut event: Event, owner: &Owner) -> Event {
    if let Fact::Run(RunFact::Started(start)) = &mut event.fact {
        start.owner = owner.clone();
    }
    event
}

/// Folds the run onto its base and checks that the base is the right one.
async fn checked(log: &dyn Log, run: RunId, batches: &[Batch]) -> Result<(State, Option<u64>), Error> {
    let start = batches.first().and_then(|batch| batch.events.first()).map(|event| &event.fact);
    let mut state = match start {
        Some(Fact::Run(RunFact::Started(start))) => match &start.base {
            Some(base) if base.run == run => return Err(bad(run, 1, "it is based on itself")),
            Some(base) => {
                let base_state = load_until(log, base.run, base.version).await.map_err(|error| {
                    if let Error::Log(StoreError::UnknownRun { .. }) = error {
                        Error::MissingBase { run, base: base.run }
                    } else {
                        error
                    }
                })?;
                if base_state.version() != base.version || base_state.digest() != base.digest {
                    let what = format!("its base {} has another digest here", base.run);
                    return Err(bad(run, 1, what));
                }
                State::on_base(run, &base_state)
            }
            None => State::new(run),
        },
        _ => State::new(run),
    };
    let mut unlike = None;
    for batch in batches {
        if unlike.is_none()
            && let Err(difference) = replay(&state, &batch.cause, &batch.events)
        {
            unlike = Some(difference.seq);
        }
        for event in batch.events.iter() {
            let seq = state.version() + 1;
            if state.is_finished() {
                return Err(bad(run, seq, format!("{} follows the run's end", event.fact.kind())));
            }
            if seq > 1 && matches!(event.fact, Fact::Run(RunFact::Started(_))) {
                return Err(bad(run, seq, "the run starts twice"));
            }
            state = evolve(state, event);
        }
    }
    Ok((state, unlike))
}

/// An event without the agent's mark and the owner, which differ by the place.
fn anywhere(event: &Event) -> Event {
    owned(at_home(event), &Owner::default())
}

/// Checks that the stored events are a prefix of the imported ones.
async fn same_so_far(log: &dyn Log, run: RunId, batches: &[Batch], there: u64) -> Result<(), Error> {
    if there == 0 {
        return Ok(());
    }
    let known = log.read(run, 1, usize::MAX).await?;
    let known = known.iter().flat_map(|batch| batch.events.iter());
    let mut coming = batches.iter().flat_map(|batch| batch.events.iter());
    let mut whole = true;
    for (place, event) in known.enumerate() {
        let seq = place as u64 + 1;
        let started_here =
            matches!(&event.fact, Fact::Run(RunFact::Started(start)) if !start.agent.is_imported());
        whole &= !started_here;
        match coming.next() {
            Some(other) if anywhere(event) == anywhere(other) => {}
            _ => return Err(Error::ImportDiffers { run, seq }),
        }
    }
    let cut = batches.iter().any(|batch| batch.first <= there && batch.last() > there);
    let more = coming.next().is_some();
    // A run that began in this log continues as a local one.
    if cut || more && !whole { Err(Error::ImportDiffers { run, seq: there + 1 }) } else { Ok(()) }
}

async fn write(log: &dyn Store, holder: &Holder, state: &State, batches: Vec<Batch>) -> Result<(), Error> {
    let run = state.run();
    let fresh = batches.first().is_some_and(|batch| batch.first == 1);
    let fence = if fresh {
        Fence { holder: holder.clone(), epoch: 1 }
    } else {
        log.acquire(run, holder, Claim::fresh()).await?
    };
    let last = batches.last().map_or(0, Batch::last);
    for batch in batches {
        let run_state = if let RunState::Ended(status) = state.run_state()
            && batch.last() == last
        {
            RunState::Ended(status)
        } else {
            RunState::Running
        };
        let headline = headline(state);
        log.append(Append { headline, ..Append::of(run, batch, fence.clone(), run_state) }).await?;
    }
    match state.run_state() {
        RunState::Ended(_) => {}
        RunState::Suspended => log.park(run, &fence, None).await?,
        RunState::Running => log.release(run, &fence).await?,
    }
    Ok(())
}
