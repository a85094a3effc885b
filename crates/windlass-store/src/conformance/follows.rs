//! Promises of following a run.

use std::sync::Arc;

use futures_util::StreamExt;
use windlass_core::{RunId, Status};

use super::sample::{append, begin, cause, end, flat, steered};
use super::{Verdict, holds, same, waits, works};
use crate::{Batch, Batches, Store};

async fn next(batches: &mut Batches) -> Result<Batch, String> {
    match batches.next().await {
        Some(batch) => works("following", batch),
        None => Err("the follower's stream ended before its run".to_owned()),
    }
}

/// A follower gets what is there, then what comes, as it comes.
pub async fn following_catches_up_and_goes_on_live(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    works("an append", log.append(append(run, 1, steered(2, 2))).await)?;
    let mut batches = log.follow(run, 1);
    same("the first append", &next(&mut batches).await?.first, &1)?;
    same("the second append", &next(&mut batches).await?.events, &steered(2, 2))?;
    for first in [4, 5, 6] {
        holds("a follower at the end does not wait", waits(&mut batches.next()).await)?;
        works("an append", log.append(append(run, first - 1, steered(first, 1))).await)?;
        same(
            "a live append",
            &next(&mut batches).await?,
            &Batch { first, cause: cause(first), events: steered(first, 1) },
        )?;
    }
    Ok(())
}

/// A follower that begins inside an append gets the rest of it, then what comes.
pub async fn following_begins_inside_an_append(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    works("an append", log.append(append(run, 1, steered(2, 5))).await)?;
    let mut batches = log.follow(run, 4);
    same(
        "the rest of the append",
        &next(&mut batches).await?,
        &Batch { first: 4, cause: cause(2), events: steered(4, 3) },
    )?;
    // One that begins where nothing is yet waits for just that.
    let mut ahead = log.follow(run, 8);
    holds("a follower ahead of the end does not wait", waits(&mut ahead.next()).await)?;
    works("an append", log.append(append(run, 6, steered(7, 3))).await)?;
    same(
        "the whole next append",
        &next(&mut batches).await?,
        &Batch { first: 7, cause: cause(7), events: steered(7, 3) },
    )?;
    same(
        "the next append from 8 on",
        &next(&mut ahead).await?,
        &Batch { first: 8, cause: cause(7), events: steered(8, 2) },
    )
}

/// The stream ends after the run's last event, for early and late followers.
pub async fn following_ends_with_the_run(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    let mut early = log.follow(run, 2);
    holds("a follower at the end does not wait", waits(&mut early.next()).await)?;
    end(&*log, run, 1, Status::Answered).await?;
    same("the last event", &next(&mut early).await?.first, &2)?;
    holds("the early follower goes on after the end", early.next().await.is_none())?;
    let late: Vec<_> = log.follow(run, 1).collect().await;
    same("the appends that a late follower sees", &late.len(), &2)?;
    holds("a follower behind the end goes on", log.follow(run, 9).next().await.is_none())
}

const RUSH: u64 = 200;

async fn write_in_a_rush(log: &dyn Store, run: RunId) -> Verdict {
    for seq in 2..RUSH {
        works("an append", log.append(append(run, seq - 1, steered(seq, 1))).await)?;
    }
    end(log, run, RUSH - 1, Status::Answered).await
}

/// Followers that begin at any moment of a busy run see every event once and in order.
pub async fn following_misses_and_repeats_nothing(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| super::run(write_in_a_rush(&*log, run)));
        let followers: Vec<_> = [1, 2, 50, 150]
            .map(|from| {
                let log = &log;
                scope.spawn(move || super::run(follow_through(log.as_ref(), run, from)))
            })
            .into();
        std::iter::once(writer)
            .chain(followers)
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| Err("a thread panicked".to_owned())))
    })
}

async fn follow_through(log: &dyn Store, run: RunId, from: u64) -> Verdict {
    let mut batches = log.follow(run, from);
    let mut expected = from;
    while let Some(batch) = batches.next().await {
        let batch = works("following", batch)?;
        same(&format!("the next event of a follower from {from}"), &batch.first, &expected)?;
        expected += flat(std::slice::from_ref(&batch)).len() as u64;
    }
    same(&format!("where a follower from {from} ends"), &(expected - 1), &RUSH)
}
