//! Promises of leases.

use std::sync::Arc;

use windlass_core::event::{AgentRef, CLOCK_JUMP_MS, RunStarted};
use windlass_core::{Owner, RunState, Status};

use super::sample::{
    BEGAN, append, begin, begin_as, claim, end, ended, fence, holder, id, started, steer, steered,
};
use super::{Verdict, holds, refused, same, works};
use crate::error::StoreError;
use crate::{Append, Due, Post, RunCounts, RunFilter, Store, Wake};

/// The first append acquires the lease with the fence's epoch, exclusively.
pub async fn a_new_run_is_leased_to_its_maker(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    same("the holder", &works("a summary", log.summary(run).await)?.holder, &Some(holder("maker")))?;
    for name in ["other", "maker"] {
        let error =
            refused("a lease on a held run", log.acquire(run, &holder(name), claim()).await, "store.held")?;
        let StoreError::Held { holder, .. } = error else { continue };
        same("the holder that is named", &holder.as_str(), &"maker")?;
    }
    works("the maker's append", log.append(append(run, 1, steered(2, 1))).await)
}

/// A released run can be leased again, each time with a higher epoch.
pub async fn a_lease_passes_on_with_a_higher_epoch(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    works("a release", log.release(run, &fence("maker", 1)).await)?;
    same("the holder after a release", &works("a summary", log.summary(run).await)?.holder, &None)?;
    let late = log.append(append(run, 1, steered(2, 1))).await;
    refused("an append after its lease was given up", late, "store.not_held")?;
    let (mut epoch, mut expected) = (1, 1);
    for name in ["other", "maker", "other"] {
        let fence = works("a lease", log.acquire(run, &holder(name), claim()).await)?;
        same("who holds", &fence.holder, &holder(name))?;
        holds(&format!("epoch {} does not follow {epoch}", fence.epoch), fence.epoch > epoch)?;
        epoch = fence.epoch;
        let append = Append { fence: fence.clone(), ..append(run, expected, steered(expected + 1, 1)) };
        works("the holder's append", log.append(append).await)?;
        expected += 1;
        works("a release", log.release(run, &fence).await)?;
    }
    Ok(())
}

/// A parked run is listed as suspended until it continues; a run of another holder cannot be parked.
pub async fn a_parked_run_is_listed_as_suspended(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    works("a pause", log.park(run, &fence("maker", 1), None).await)?;
    let paused = works("a summary", log.summary(run).await)?;
    let expected = (RunState::Suspended, None);
    same("run state and holder of a parked run", &(paused.run_state, paused.holder), &expected)?;
    let fence = works("a lease", log.acquire(run, &holder("other"), claim()).await)?;
    works("going on", log.append(Append { fence, ..append(run, 1, steered(2, 1)) }).await)?;
    works("a late pause", log.park(run, &super::sample::fence("maker", 1), None).await)?;
    let going_on = works("a summary", log.summary(run).await)?;
    let expected = (RunState::Running, Some(holder("other")));
    same("run state and holder after a late pause", &(going_on.run_state, going_on.holder), &expected)
}

/// A suspended run is due when its timer is, or when something lies in its inbox; one that is on always is, one that has
/// ended never.
pub async fn due_runs_are_listed(log: Arc<dyn Store>) -> Verdict {
    let due = async |now: u64| {
        let filter = RunFilter { due: Some(now), ..RunFilter::default() };
        let runs = works("a listing", log.list(filter).await)?;
        Ok::<_, String>(runs.into_iter().map(|run| run.run).collect::<Vec<_>>())
    };
    let (timed, waiting) = (begin(&*log, 1).await?, begin(&*log, 2).await?);
    let ended = begin(&*log, 3).await?;
    end(&*log, ended, 1, Status::Answered).await?;
    same("runs that are on are due", &due(0).await?, &vec![waiting, timed])?;
    works("a pause", log.park(timed, &fence("maker", 1), Some(Wake { from: 0, at: 5_000 })).await)?;
    works("a pause", log.park(waiting, &fence("maker", 1), None).await)?;
    for (run, wakes) in [(timed, Some(5_000)), (waiting, None)] {
        same("when it goes on", &works("a summary", log.summary(run).await)?.wake_at, &wakes)?;
    }
    same("before the timer", &due(4_999).await?, &Vec::new())?;
    same("at the timer", &due(5_000).await?, &vec![timed])?;
    works("a post", log.post(waiting, Post::new(1, steer("go on"))).await)?;
    same("with a post", &due(0).await?, &vec![waiting])?;
    same("both", &due(9_000).await?, &vec![waiting, timed])
}

/// Runs are counted by how they stand. Those that can go on and that nobody holds are due, since their last append, their timer or
/// their first post; a run that another one started is its parent's to take up.
pub async fn due_runs_are_counted_with_the_time_since_when_they_wait(log: Arc<dyn Store>) -> Verdict {
    let due = async |now: u64| {
        let counts = works("counts", log.counts(now).await)?;
        Ok::<_, String>((counts.due, counts.due_since))
    };
    same("an empty log", &works("counts", log.counts(5).await)?, &RunCounts::default())?;
    for number in 1..=4 {
        begin(&*log, number).await?;
    }
    begin_as(&*log, 5, RunStarted { parent: Some(id(1)), ..started(5, "a task") }).await?;
    end(&*log, id(4), 1, Status::Answered).await?;
    let (later, fence) = (BEGAN + 1_000_000, fence("maker", 1));
    same("all are held", &due(later).await?, &(0, None))?;
    works("a release of a task", log.release(id(5), &fence).await)?;
    same("a task's run", &due(later).await?, &(0, None))?;
    works("a release", log.release(id(3), &fence).await)?;
    same("a run that is on", &due(later).await?, &(1, Some(BEGAN + 3)))?;
    same("the clock was set back", &due(7).await?, &(1, Some(7)))?;
    works("a pause", log.park(id(1), &fence, Some(Wake { from: 5, at: 5_000 })).await)?;
    works("a pause", log.park(id(2), &fence, None).await)?;
    let counts = works("counts", log.counts(4_999).await)?;
    let promised = RunCounts { running: 2, suspended: 2, ended: 1, due: 1, due_since: Some(4_999) };
    same("all of them", &counts, &promised)?;
    same("with a timer that fires", &due(later).await?, &(2, Some(5_000)))?;
    works("a post", log.post(id(2), Post::new(4_000, steer("go on"))).await)?;
    works("a second post", log.post(id(2), Post::new(4_500, steer("hurry"))).await)?;
    same("with a post", &due(later).await?, &(3, Some(4_000)))?;
    works("a lease", log.acquire(id(2), &holder("other"), claim()).await)?;
    same("one was taken up", &due(later).await?, &(2, Some(5_000)))
}

/// A timer set at a later time than now is due: the clock was set back since, so the elapsed wait is unknown. A difference of a
/// second is tolerated.
pub async fn a_clock_that_is_set_back_stretches_no_wait(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    let due = async |now: u64| {
        let filter = RunFilter { due: Some(now), ..RunFilter::default() };
        Ok::<_, String>(!works("a listing", log.list(filter).await)?.is_empty())
    };
    let hour = 3_600_000;
    let (from, at) = (10 * hour, 11 * hour);
    works("a pause", log.park(run, &fence("maker", 1), Some(Wake { from, at })).await)?;
    same("before the timer", &due(from + 1).await?, &false)?;
    same("a little before it was set", &due(from - CLOCK_JUMP_MS).await?, &false)?;
    same("an hour before it was set", &due(from - hour).await?, &true)?;
    same("at the timer", &due(at).await?, &true)?;
    // The next holder sets the timer anew, by the current clock.
    let fence = works("a lease", log.acquire(run, &holder("other"), claim()).await)?;
    let (from, at) = (from - hour, at - hour);
    works("a pause", log.park(run, &fence, Some(Wake { from, at })).await)?;
    same("after the timer was set anew", &due(from).await?, &false)?;
    same("at the new timer", &due(at).await?, &true)
}

/// A holder that lost its lease can neither append, even at the right version, nor release it.
pub async fn a_lost_lease_cannot_write_or_release(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    works("a release", log.release(run, &fence("maker", 1)).await)?;
    let new = works("a lease", log.acquire(run, &holder("other"), claim()).await)?;
    let error = refused(
        "an append of the old holder",
        log.append(append(run, 1, steered(2, 1))).await,
        "store.fenced",
    )?;
    if let StoreError::Fenced { holder, ours, current, .. } = error {
        same("holder and epochs", &(holder.as_str(), ours, current), &("other", 1, new.epoch))?;
    }
    works("a late release", log.release(run, &fence("maker", 1)).await)?;
    same("the holder", &works("a summary", log.summary(run).await)?.holder, &Some(holder("other")))?;
    works("the new holder's append", log.append(Append { fence: new, ..append(run, 1, steered(2, 1)) }).await)
}

/// A lease can be renewed while it is valid, but not after its release or a take-over.
pub async fn a_lease_is_renewed_while_it_stands(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    let first = fence("maker", 1);
    works("a renewal", log.renew(run, &first).await)?;
    works("an append after it", log.append(append(run, 1, steered(2, 1))).await)?;
    works("a renewal after an append", log.renew(run, &first).await)?;
    works("a release", log.release(run, &first).await)?;
    refused("a renewal after a release", log.renew(run, &first).await, "store.not_held")?;
    let new = works("a lease", log.acquire(run, &holder("other"), claim()).await)?;
    works("the new holder's renewal", log.renew(run, &new).await)?;
    let late = log.renew(run, &first).await;
    holds("a lost lease is renewed", late.is_err())?;
    let summary = works("a summary", log.summary(run).await)?;
    same("holder and events after all that", &(summary.holder, summary.version), &(Some(holder("other")), 2))
}

/// Appends that end or suspend a run give up its lease in the same step.
pub async fn ends_and_pauses_give_up_the_lease(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    let pause = Append { run_state: RunState::Suspended, ..append(run, 1, steered(2, 1)) };
    works("a pause", log.append(pause).await)?;
    let paused = works("a summary", log.summary(run).await)?;
    same(
        "run state and holder of a paused run",
        &(paused.run_state, paused.holder),
        &(RunState::Suspended, None),
    )?;
    refused("an append after a pause", log.append(append(run, 2, steered(3, 1))).await, "store.not_held")?;
    let fence = works("a lease on a paused run", log.acquire(run, &holder("other"), claim()).await)?;
    let goes_on = Append { fence: fence.clone(), ..append(run, 2, steered(3, 1)) };
    works("going on", log.append(goes_on).await)?;
    same("the run state", &works("a summary", log.summary(run).await)?.run_state, &RunState::Running)?;
    let run_state = RunState::Ended(Status::Cancelled);
    let end = Append { fence, run_state, ..append(run, 3, ended(Status::Cancelled)) };
    works("an end", log.append(end).await)?;
    let over = works("a summary", log.summary(run).await)?;
    same("run state and holder of an ended run", &(over.run_state, over.holder), &(run_state, None))
}

/// Due runs without a holder are acquired, the ones that began first first: those of the given agents, no child runs, and each once.
pub async fn due_runs_are_acquired(log: Arc<dyn Store>) -> Verdict {
    let writer = AgentRef { name: "writer".into(), digest: "d2".into() };
    for number in 1..=4 {
        begin(&*log, number).await?;
    }
    begin_as(&*log, 5, RunStarted { agent: writer, ..started(5, "hello") }).await?;
    begin_as(&*log, 6, RunStarted { parent: Some(id(1)), ..started(6, "hello") }).await?;
    for number in [1, 2, 3, 5, 6] {
        let wake = (number == 2).then_some(Wake { from: 0, at: 5_000 });
        works("a pause", log.park(id(number), &fence("maker", 1), wake).await)?;
        if number != 2 {
            works("a post", log.post(id(number), Post::new(1, steer("go on"))).await)?;
        }
    }
    let due = |now, agents: &[&str], limit| Due {
        holder: holder("next"),
        claim: claim(),
        agents: agents.iter().map(|agent| (*agent).into()).collect(),
        without_owners: Vec::new(),
        without: Vec::new(),
        now,
        limit,
    };
    let acquired = async |due: Due| {
        let leases = works("acquiring what is due", log.acquire_due(due).await)?;
        for (line, fence) in &leases {
            same(
                "who holds",
                &(line.holder.as_ref(), fence.holder == holder("next")),
                &(Some(&fence.holder), true),
            )?;
            works("a renewal", log.renew(line.run, fence).await)?;
        }
        Ok::<_, String>(leases.into_iter().map(|(line, _)| line.run).collect::<Vec<_>>())
    };
    let without = |without, owners: &[&str]| Due {
        without,
        without_owners: owners.iter().map(|owner| Owner::from(*owner)).collect(),
        ..due(0, &[], 9)
    };
    same("none is asked for", &acquired(due(0, &[], 0)).await?, &Vec::new())?;
    same("of another agent", &acquired(due(0, &["nobody"], 9)).await?, &Vec::new())?;
    same("the first", &acquired(due(0, &["librarian", "writer"], 1)).await?, &vec![id(1)])?;
    same("of one agent", &acquired(due(0, &["writer"], 9)).await?, &vec![id(5)])?;
    let of_all = acquired(without(Vec::new(), &["local"])).await?;
    same("none of that owner", &of_all, &Vec::new())?;
    same("one that is left alone", &acquired(without(vec![(id(3), 1)], &[])).await?, &Vec::new())?;
    let grown = acquired(without(vec![(id(3), 7)], &["somebody else"])).await?;
    same("the rest, which is not as it was", &grown, &vec![id(3)])?;
    same("nothing is given twice", &acquired(due(0, &[], 9)).await?, &Vec::new())?;
    same("what a timer brings", &acquired(due(5_000, &[], 9)).await?, &vec![id(2)])
}

/// Free runs are found among many that others hold.
pub async fn many_held_runs_hide_no_free_one(log: Arc<dyn Store>) -> Verdict {
    const FREE: [u32; 3] = [700, 1_400, 2_003];
    for number in 1..=2_003 {
        begin(&*log, number).await?;
    }
    for number in FREE {
        works("a release", log.release(id(number), &fence("maker", 1)).await)?;
    }
    let acquired = async |limit| {
        let due = Due {
            holder: holder("next"),
            claim: claim(),
            agents: Vec::new(),
            without_owners: Vec::new(),
            without: Vec::new(),
            now: 0,
            limit,
        };
        let leases = works("acquiring what is due", log.acquire_due(due).await)?;
        Ok::<_, String>(leases.into_iter().map(|(line, _)| line.run).collect::<Vec<_>>())
    };
    same("the first two", &acquired(2).await?, &vec![id(700), id(1_400)])?;
    same("the rest", &acquired(9).await?, &vec![id(2_003)])?;
    same("nothing is left", &acquired(9).await?, &Vec::new())
}

/// A request for leases that is sent again under its claim gives the same leases, as long as they stand. Another claim of the same
/// holder does not.
pub async fn a_claim_that_is_sent_again_gives_the_same_lease(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    works("a release", log.release(run, &fence("maker", 1)).await)?;
    let (next, first) = (holder("next"), claim());
    let lease = works("a lease", log.acquire(run, &next, first).await)?;
    same("the same again", &works("a lease", log.acquire(run, &next, first).await)?, &lease)?;
    refused("another claim", log.acquire(run, &next, claim()).await, "store.held")?;
    refused("another holder", log.acquire(run, &holder("other"), first).await, "store.held")?;
    works("a release", log.release(run, &lease).await)?;
    let later = works("a lease after it was given up", log.acquire(run, &next, first).await)?;
    holds("a lease came back", later.epoch > lease.epoch)?;
    works("a release", log.release(run, &later).await)?;
    begin(&*log, 2).await?;
    works("a release", log.release(id(2), &fence("maker", 1)).await)?;
    let due = Due {
        holder: next,
        claim: claim(),
        agents: Vec::new(),
        without_owners: Vec::new(),
        without: Vec::new(),
        now: 0,
        limit: 1,
    };
    let leases = works("acquiring what is due", log.acquire_due(due.clone()).await)?;
    same("the number of leases", &leases.len(), &1)?;
    let again = works("acquiring it again", log.acquire_due(due).await)?;
    same("the same leases", &again, &leases)
}

/// A probe is written, and changes nothing that anybody sees (E70).
pub async fn a_probe_changes_nothing(log: Arc<dyn Store>) -> Verdict {
    works("a probe of an empty log", log.probe().await)?;
    let run = begin(&*log, 1).await?;
    let before = works("a listing", log.list(RunFilter::default()).await)?;
    let lease = fence("maker", 1);
    for _ in 0..3 {
        works("a probe", log.probe().await)?;
    }
    same("the listing", &works("a listing", log.list(RunFilter::default()).await)?, &before)?;
    same("the events", &works("reading", log.read(run, 1, 9).await)?.len(), &1)?;
    works("the lease", log.renew(run, &lease).await).map(drop)
}
