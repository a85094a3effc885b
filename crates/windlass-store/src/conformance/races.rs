//! Promises under many threads.

use std::sync::Arc;

use windlass_core::{Owner, RunId};

use super::sample::{append, begin, claim, fence, first, flat, holder, id, in_session, started, steered};
use super::{Verdict, holds, same, works};
use crate::error::StoreError;
use crate::{Append, Due, Head, RunFilter, Store};

const THREADS: u32 = 8;
const RUNS: u32 = 8;
const APPENDS: u64 = 10;

/// Does the same on several threads and gathers what they bring.
fn on_threads<T: Send>(work: impl Fn(u32) -> Result<T, String> + Sync) -> Result<Vec<T>, String> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let work = &work;
                scope.spawn(move || work(number))
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned())))
            .collect()
    })
}

/// Runs that are written at the same time keep their own events.
pub async fn many_runs_at_once_do_not_mix(log: Arc<dyn Store>) -> Verdict {
    on_threads(|thread| {
        super::run(async {
            for step in 0..=APPENDS {
                for run in (0..RUNS).map(|run| thread * RUNS + run) {
                    if step == 0 {
                        begin(&*log, run).await?;
                    } else {
                        let first = u64::from(run) * 1_000 + step;
                        works("an append", log.append(append(id(run), step, steered(first, 1))).await)?;
                    }
                }
            }
            Ok(())
        })
    })?;
    for run in 0..THREADS * RUNS {
        let events = flat(&works("reading", log.read(id(run), 2, 1_000).await)?);
        let promised = steered(u64::from(run) * 1_000 + 1, APPENDS);
        same(&format!("the events of run {run}"), &events.as_slice(), &&*promised)?;
    }
    Ok(())
}

/// Of several appends that expect the same version, one is written and the others are told of the conflict.
pub async fn one_of_many_appends_at_a_version_wins(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    for version in 1..=APPENDS {
        let won = on_threads(|thread| {
            let mut won = false;
            super::run(async {
                let first = version * 1_000 + u64::from(thread);
                match log.append(append(run, version, steered(first, 1))).await {
                    Ok(()) => won = true,
                    Err(StoreError::Conflict { found, .. }) if found == version + 1 => {}
                    Err(other) => return Err(format!("a late append: found {other:?}, promised a conflict")),
                }
                Ok(())
            })?;
            Ok(won)
        })?;
        same("the number of winners", &won.iter().filter(|won| **won).count(), &1)?;
    }
    same("the number of events", &works("a summary", log.summary(run).await)?.version, &(APPENDS + 1))
}

/// Of several runs that continue the same head of a session, one begins and the others are told which.
pub async fn one_of_many_successors_in_a_session_wins(log: Arc<dyn Store>) -> Verdict {
    for round in 0..RUNS {
        let from = works("a head", log.head(&Owner::default(), &"s".into()).await)?;
        let won = on_threads(|thread| {
            let number = 1 + round * THREADS + thread;
            let next =
                Append { head: Head::Moves { from }, ..first(in_session(started(number, "next"), "s")) };
            let mut won = None;
            super::run(async {
                match log.append(next).await {
                    Ok(()) => won = Some(id(number)),
                    Err(StoreError::HeadMoved { head, .. }) if head.is_some() && head != from => {}
                    Err(other) => {
                        return Err(format!("a late run: found {other:?}, promised that it is told"));
                    }
                }
                Ok(())
            })?;
            Ok(won)
        })?;
        let winners: Vec<RunId> = won.into_iter().flatten().collect();
        let head = works("a head", log.head(&Owner::default(), &"s".into()).await)?;
        same("the winners, and the head", &(winners.len(), winners.first().copied()), &(1, head))?;
    }
    let all = RunFilter { session: Some("s".into()), ..RunFilter::default() };
    same("the runs of the session", &works("a listing", log.list(all).await)?.len(), &(RUNS as usize))
}

/// Of several that reach for a free run, one gets it and the others are told who.
pub async fn one_of_many_holders_wins(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    works("a release", log.release(run, &fence("maker", 1)).await)?;
    let fences = on_threads(|thread| {
        let mut got = None;
        super::run(async {
            match log.acquire(run, &holder(&format!("holder {thread}")), claim()).await {
                Ok(fence) => got = Some(fence),
                Err(StoreError::Held { .. }) => {}
                Err(other) => return Err(format!("a late hold: found {other:?}, promised that it is held")),
            }
            Ok(())
        })?;
        Ok(got)
    })?;
    let winners: Vec<_> = fences.into_iter().flatten().collect();
    let [winner] = winners.as_slice() else { return Err(format!("{} holders, promised one", winners.len())) };
    holds("the winner's epoch is not new", winner.epoch > 1)?;
    same("the holder", &works("a summary", log.summary(run).await)?.holder, &Some(winner.holder.clone()))
}

/// Holders that ask for due runs at the same moment get different runs, and all of them.
pub async fn many_holders_share_the_due_runs(log: Arc<dyn Store>) -> Verdict {
    let runs = THREADS * RUNS;
    for number in 0..runs {
        begin(&*log, number).await?;
        works("a release", log.release(id(number), &fence("maker", 1)).await)?;
    }
    let leases = on_threads(|thread| {
        let mut got = Vec::new();
        super::run(async {
            loop {
                let holder = holder(&format!("holder {thread}"));
                let due = Due {
                    holder,
                    claim: claim(),
                    agents: Vec::new(),
                    without_owners: Vec::new(),
                    without: Vec::new(),
                    now: 0,
                    limit: 3,
                };
                let leases = works("acquiring what is due", log.acquire_due(due).await)?;
                if leases.is_empty() {
                    return Ok(());
                }
                got.extend(leases.into_iter().map(|(line, _)| line.run));
                holds("runs that are held are given again", got.len() <= runs as usize)?;
            }
        })?;
        Ok(got)
    })?;
    let mut all: Vec<RunId> = leases.into_iter().flatten().collect();
    all.sort_unstable();
    same("the runs that were acquired", &all, &(0..runs).map(id).collect())
}
