//! Promises of pruning, of the stores that can.

use std::sync::Arc;

use windlass_core::event::{Base, RunStarted};
use windlass_core::{RunId, Status};

use super::sample::{BEGAN, append, begin, begin_as, end, fence, id, in_session, started, steered};
use super::{Verdict, refused, same, works};
use crate::{PRUNE_CHUNK, Prune, Pruned, Pruning, RunFilter, RunStatus, Store, prune};

async fn ended_runs(log: &dyn Store, numbers: impl IntoIterator<Item = u32>) -> Verdict {
    for number in numbers {
        let run = begin(log, number).await?;
        end(log, run, 1, Status::Answered).await?;
    }
    Ok(())
}

async fn left(log: &dyn Store) -> Result<Vec<RunId>, String> {
    let runs = works("a listing", log.list(RunFilter::default()).await)?;
    Ok(runs.into_iter().map(|summary| summary.run).collect())
}

/// Looks first, then prunes; both must say the same of the runs.
async fn pruned(pruning: &dyn Pruning, what: Prune) -> Result<Pruned, String> {
    let would = works("a look at what may go", pruning.prunable(what.clone()).await)?;
    let pruned = works("pruning", prune(pruning, what, |_, _| {}).await)?;
    same("what was announced", &(&would.runs, would.kept), &(&pruned.runs, pruned.kept))?;
    Ok(pruned)
}

/// Ended runs are removed, newest first, with their events; a dry run changes nothing; running ones stay.
pub async fn pruning_takes_out_what_has_ended(log: Arc<dyn Store>) -> Verdict {
    let Some(pruning) = log.pruning() else { return Ok(()) };
    ended_runs(&*log, 1..=3).await?;
    let on = begin(&*log, 4).await?;
    let would = works("a look at what may go", pruning.prunable(Prune::default()).await)?;
    same("what may go", &would.runs, &vec![id(3), id(2), id(1)])?;
    same("the runs after a look", &left(&*log).await?.len(), &4)?;
    let gone = pruned(pruning, Prune::default()).await?;
    same("what went", &(gone.runs, gone.kept), &(vec![id(3), id(2), id(1)], 0))?;
    same("the runs after pruning", &left(&*log).await?, &vec![on])?;
    refused("reading a run that went", log.read(id(1), 1, 10).await, "store.unknown_run")?;
    works("an append to a run that stayed", log.append(append(on, 1, steered(2, 1))).await)
}

/// Only what fits every condition goes.
pub async fn pruning_keeps_to_every_condition(log: Arc<dyn Store>) -> Verdict {
    let Some(pruning) = log.pruning() else { return Ok(()) };
    let in_sessions = [(1, "a"), (2, "b"), (3, "a")];
    for (number, session) in in_sessions {
        let run = begin_as(&*log, number, in_session(started(number, "hello"), session)).await?;
        end(&*log, run, 1, Status::Answered).await?;
    }
    let parked = begin(&*log, 4).await?;
    works("a pause", log.park(parked, &fence("maker", 1), None).await)?;
    let early = Prune { before: Some(BEGAN), ..Prune::default() };
    same("what ended before the first run", &pruned(pruning, early).await?.runs, &Vec::new())?;
    let session = Prune { sessions: vec!["b".into()], ..Prune::default() };
    same("what is of session b", &pruned(pruning, session).await?.runs, &vec![id(2)])?;
    let suspended = Prune { statuses: vec![RunStatus::Suspended], ..Prune::default() };
    same("what is suspended", &pruned(pruning, suspended).await?.runs, &vec![parked])?;
    let limit = Prune { statuses: vec![RunStatus::Limit], ..Prune::default() };
    same("what met a limit", &pruned(pruning, limit).await?.runs, &Vec::new())?;
    let late = Prune { before: Some(BEGAN + 10_000), ..Prune::default() };
    same("what ended before later", &pruned(pruning, late).await?.runs, &vec![id(3), id(1)])
}

/// A run with a holder stays, and so do bases and parents of a kept run.
pub async fn pruning_keeps_bases_parents_and_held_runs(log: Arc<dyn Store>) -> Verdict {
    let Some(pruning) = log.pruning() else { return Ok(()) };
    ended_runs(&*log, 1..=3).await?;
    let base = Some(Base { run: id(1), version: 2, digest: "d".into() });
    begin_as(&*log, 4, RunStarted { base, ..started(4, "later") }).await?;
    begin_as(&*log, 5, RunStarted { parent: Some(id(2)), ..started(5, "child") }).await?;
    let gone = pruned(pruning, Prune::default()).await?;
    same("what went, and how many stayed that fit", &(gone.runs, gone.kept), &(vec![id(3)], 2))?;
    let running = Prune { statuses: vec![RunStatus::Running], ..Prune::default() };
    same("what is held", &pruned(pruning, running).await?.runs, &Vec::new())?;
    for run in [id(4), id(5)] {
        end(&*log, run, 1, Status::Answered).await?;
    }
    let keep = Prune { keep: vec![id(5)], ..Prune::default() };
    let gone = pruned(pruning, keep).await?;
    same("what went beside a kept run", &(gone.runs, gone.kept), &(vec![id(4), id(1)], 2))?;
    let gone = pruned(pruning, Prune::default()).await?;
    same("what went in the end", &gone.runs, &vec![id(5), id(2)])
}

/// Runs go a chunk at a time, with progress, and each before the one that it is based on: what begins on a base in between keeps it.
pub async fn pruning_goes_in_chunks(log: Arc<dyn Store>) -> Verdict {
    let Some(pruning) = log.pruning() else { return Ok(()) };
    let runs = PRUNE_CHUNK as u32 + 44;
    ended_runs(&*log, 1..=runs).await?;
    let mut steps = Vec::new();
    let gone = works("pruning", prune(pruning, Prune::default(), |done, all| steps.push((done, all))).await)?;
    let total = runs as usize;
    same("the progress", &steps, &vec![(PRUNE_CHUNK, total), (total, total)])?;
    same("what went", &gone.runs.len(), &total)?;
    ended_runs(&*log, [1_001, 1_002]).await?;
    let announced = works("a look at what may go", pruning.prunable(Prune::default()).await)?;
    let base = Some(Base { run: id(1_001), version: 2, digest: "d".into() });
    begin_as(&*log, 1_003, RunStarted { base, ..started(1_003, "on it") }).await?;
    let gone = works("removing what was announced", pruning.remove(&announced.runs).await)?;
    same("what went beside a new base", &gone, &vec![id(1_002)])?;
    same("removing it again", &works("removing", pruning.remove(&gone).await)?, &Vec::new())
}
