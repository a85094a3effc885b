//! Promises of appending and reading.

use std::sync::Arc;

use windlass_core::event::Cause;
use windlass_core::run::{HookEnd, StepEdits};

use super::sample::{append, begin, claim, fence, flat, id, steer, steered};
use super::{Verdict, holds, refused, same, works};
use crate::error::StoreError;
use crate::{Append, Post, RunFilter, Store};

/// Appended events are read back byte for byte.
pub async fn events_come_back_as_they_were_written(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    works("an append", log.append(append(run, 1, steered(2, 3))).await)?;
    works("an append", log.append(append(run, 4, steered(5, 1))).await)?;
    let batches = works("reading", log.read(run, 2, 100).await)?;
    same("the events from 2 on", &flat(&batches).as_slice(), &&*steered(2, 4))?;
    let summary = works("a summary", log.summary(run).await)?;
    same("the number of events", &summary.version, &5)
}

/// Only who knows how many events there are may append.
pub async fn an_append_expects_a_version(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    works("an append at the right version", log.append(append(run, 1, steered(2, 2))).await)?;
    for expected in [0, 1, 2, 4, 1_000] {
        let what = format!("an append that expects {expected} of 3 events");
        let error = refused(&what, log.append(append(run, expected, steered(9, 1))).await, "store.conflict")?;
        let StoreError::Conflict { run: named, expected: named_version, found } = error else { continue };
        same(
            "the conflict's run, expectation and count",
            &(named, named_version, found),
            &(run, expected, 3),
        )?;
    }
    let batches = works("reading", log.read(run, 1, 100).await)?;
    same("the number of events after refused appends", &flat(&batches).len(), &3)
}

/// An append without events is refused: it would have no place.
pub async fn an_append_needs_an_event(log: Arc<dyn Store>) -> Verdict {
    refused("an empty first append", log.append(append(id(1), 0, steered(1, 0))).await, "store.no_events")?;
    refused("the run's summary", log.summary(id(1)).await, "store.unknown_run")?;
    let run = begin(&*log, 2).await?;
    refused("an empty append", log.append(append(run, 1, steered(2, 0))).await, "store.no_events").map(drop)
}

/// Batches are read with the boundaries of their appends.
pub async fn appends_keep_their_boundaries(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    let mut next = 2;
    for count in [1, 4, 2, 7, 1] {
        works("an append", log.append(append(run, next - 1, steered(next, count))).await)?;
        next += count;
    }
    let batches = works("reading", log.read(run, 1, 1_000).await)?;
    let bounds: Vec<(u64, u64)> = batches.iter().map(|batch| (batch.first, batch.last())).collect();
    same("first and last of each append", &bounds, &vec![(1, 1), (2, 2), (3, 6), (7, 8), (9, 15), (16, 16)])
}

/// An append is read with the cause that it was written with.
pub async fn causes_come_back_as_they_were_written(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    let error = "\"quotes\" \\ \u{0} line\nbreak and \u{1f9ed}".into();
    let edits = StepEdits { end: Some(HookEnd::Abort(error)), ..StepEdits::default() };
    let written = [
        Cause::Start,
        Cause::ModelFailed { action: 2, jitter: 1_000 },
        Cause::HookEnded { action: u64::MAX, end: None, unrecorded: Some(Box::new(edits)) },
        Cause::Steer,
    ];
    for (version, cause) in (1..).zip(written.iter().skip(1)) {
        let append = Append { cause: cause.clone(), ..append(run, version, steered(version + 1, 1)) };
        works("an append", log.append(append).await)?;
    }
    let batches = works("reading", log.read(run, 1, 100).await)?;
    let read: Vec<&Cause> = batches.iter().map(|batch| &batch.cause).collect();
    same("the causes", &read, &written.iter().collect())?;
    let summary = works("a summary", log.summary(run).await)?;
    same("the number of events", &summary.version, &4)
}

/// A refused append writes no event, uses up no post and changes no summary.
pub async fn a_refused_append_leaves_nothing_behind(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    let post = works("a post", log.post(run, Post::new(5, steer("stay"))).await)?;
    let before = works("a summary", log.summary(run).await)?;
    let late = Append { uses: Some(post), ..append(run, 0, steered(2, 2)) };
    refused("an append at a wrong version", log.append(late).await, "store.conflict")?;
    let stranger = Append { uses: Some(post), fence: fence("stranger", 0), ..append(run, 1, steered(2, 2)) };
    refused("an append without the lease", log.append(stranger).await, "store.fenced")?;
    same("the summary", &works("a summary", log.summary(run).await)?, &before)?;
    same("the number of events", &flat(&works("reading", log.read(run, 1, 100).await)?).len(), &1)?;
    same("the number of posts", &works("the inbox", log.inbox(run, None).await)?.len(), &1)
}

/// Reads begin at any number, bring about as much as asked for, and never cut an append's end off.
pub async fn reads_begin_anywhere_and_are_bounded(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    for first in [2, 6, 10] {
        works("an append", log.append(append(run, first - 1, steered(first, 4))).await)?;
    }
    for from in 2..=13 {
        let batches = works("reading", log.read(run, from, 100).await)?;
        same("where a read begins", &batches.first().map(|batch| batch.first), &Some(from))?;
        same(
            "what a read from inside an append brings",
            &flat(&batches).as_slice(),
            &&*steered(from, 14 - from),
        )?;
    }
    for beyond in [14, 15, 1_000_000] {
        same("a read behind the end", &works("reading", log.read(run, beyond, 100).await)?, &Vec::new())?;
    }
    let all = works("reading", log.read(run, 0, 100).await)?;
    same("a read from 0 on", &flat(&all).len(), &13)?;
    for max in [0, 1, 3, 5] {
        let mut pages = Vec::new();
        while let Some(page) = Some(works("a page", log.read(run, pages.len() as u64 + 1, max).await)?)
            .filter(|page| !page.is_empty())
        {
            let count = flat(&page).len();
            holds(&format!("a read of about {max} events brought {count}"), count <= max.max(1) + 3)?;
            pages.extend(flat(&page));
        }
        same("all pages together", &pages, &flat(&all))?;
    }
    Ok(())
}

/// Every operation on a run that is not there names it.
pub async fn unknown_runs_are_named(log: Arc<dyn Store>) -> Verdict {
    const CODE: &str = "store.unknown_run";
    let run = id(404);
    begin(&*log, 1).await?;
    refused("an append", log.append(append(run, 3, steered(4, 1))).await, CODE)?;
    refused("a read", log.read(run, 1, 10).await, CODE)?;
    refused("used posts", log.used(run, &[]).await, CODE)?;
    refused("a post", log.post(run, Post::new(1, steer("x"))).await, CODE)?;
    refused("the inbox", log.inbox(run, None).await, CODE)?;
    refused("waiting for a post", log.inbox_changed(run, None).await, CODE)?;
    refused("a hold", log.acquire(run, &fence("other", 0).holder, claim()).await, CODE)?;
    refused("a release", log.release(run, &fence("other", 1)).await, CODE)?;
    let followed = futures_util::StreamExt::next(&mut log.follow(run, 1)).await;
    refused("following", followed.unwrap_or(Err(StoreError::NoEvents { run })), CODE)?;
    let error = refused("a summary", log.summary(run).await, CODE)?;
    holds(&format!("`{error}` does not name the run {run}"), error.to_string().contains(&run.to_string()))?;
    let listed = works("a listing", log.list(RunFilter::default()).await)?;
    same("the number of runs", &listed.len(), &1)
}
