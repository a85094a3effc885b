//! Promises of listings and summaries.

use std::sync::Arc;

use windlass_core::event::{AgentRef, FailKind, RunStarted};
use windlass_core::policy::LimitKind;
use windlass_core::{RunId, RunState, SessionId, Status};

use super::sample::{BEGAN, append, begin, begin_as, end, ended, holder, id, in_session, said, started};
use super::{Verdict, holds, same, works};
use crate::{Append, RunFilter, RunStatus, Store};

/// A summary tells agent, session, parent, run state, version, times, title and holder.
pub async fn a_summary_says_how_a_run_stands(log: Arc<dyn Store>) -> Verdict {
    let long = "\u{1f9ed}".repeat(80);
    let first = RunStarted { parent: Some(id(7)), ..in_session(started(1, &long), "talk") };
    let run = begin_as(&*log, 1, first).await?;
    works("an append", log.append(append(run, 1, said(2, 3))).await)?;
    let summary = works("a summary", log.summary(run).await)?;
    same("run and agent", &(summary.run, summary.agent.as_ref()), &(run, "librarian"))?;
    same("session", &summary.session, &Some(SessionId::from("talk")))?;
    same("parent", &summary.parent, &Some(id(7)))?;
    same("run state and version", &(summary.run_state, summary.version), &(RunState::Running, 4))?;
    same("first and last time", &(summary.started_at, summary.updated_at), &(BEGAN + 1, BEGAN + 4))?;
    same("holder", &summary.holder, &Some(holder("maker")))?;
    let title = summary.title.as_ref();
    holds(&format!("a title of {} bytes", title.len()), title.len() <= 200 && title.len() > 190)?;
    holds("the title is not the beginning of the first input", long.starts_with(title))
}

async fn listed(log: &dyn Store, filter: RunFilter) -> Result<Vec<RunId>, String> {
    let runs = works("a listing", log.list(filter).await)?;
    Ok(runs.into_iter().map(|summary| summary.run).collect())
}

fn ids(numbers: impl IntoIterator<Item = u32>) -> Vec<RunId> {
    numbers.into_iter().map(id).collect()
}

/// All runs of a listing, so many at a time, each page where the one before ended.
async fn paged(log: &dyn Store, filter: RunFilter) -> Result<Vec<RunId>, String> {
    let (mut before, mut all) = (None, Vec::new());
    loop {
        let page = works("a page", log.list(RunFilter { before, ..filter.clone() }).await)?;
        holds("a page is too long", page.len() <= filter.limit)?;
        before = page.last().map(|summary| summary.number);
        if before.is_none() {
            return Ok(all);
        }
        all.extend(page.into_iter().map(|summary| summary.run));
    }
}

/// Newest first, so many at a time, each page where the one before ended.
pub async fn listings_are_newest_first_and_paged(log: Arc<dyn Store>) -> Verdict {
    same("an empty log", &listed(&*log, RunFilter::default()).await?, &Vec::new())?;
    for number in 1..=120 {
        begin(&*log, number).await?;
    }
    same("a listing without limit", &listed(&*log, RunFilter::default()).await?, &ids((21..=120).rev()))?;
    let all = paged(&*log, RunFilter { limit: 50, ..RunFilter::default() }).await?;
    same("all pages", &all, &ids((1..=120).rev()))
}

/// The newest run is the one that began last, even if the clock was set back in between, so that neither its id nor its time is
/// the greatest. Later events of a run do not change the order.
pub async fn the_newest_run_is_the_one_that_began_last(log: Arc<dyn Store>) -> Verdict {
    // An hour of clock lies between the second run and the third.
    for number in [3_600_007, 3_600_008, 5, 6, 7] {
        begin_as(&*log, number, in_session(started(number, "hello"), "talk")).await?;
    }
    let newest_first = ids([7, 6, 5, 3_600_008, 3_600_007]);
    same("a listing", &listed(&*log, RunFilter::default()).await?, &newest_first)?;
    works("an append", log.append(append(id(3_600_007), 1, said(2, 1))).await)?;
    end(&*log, id(6), 1, Status::Answered).await?;
    let session = RunFilter { session: Some("talk".into()), ..RunFilter::default() };
    same("a session's listing", &listed(&*log, session.clone()).await?, &newest_first)?;
    let last = listed(&*log, RunFilter { limit: 1, ..session.clone() }).await?;
    same("a session's last run", &last, &ids([7]))?;
    same("pages", &paged(&*log, RunFilter { limit: 2, ..session }).await?, &newest_first)?;
    let running = RunFilter { status: Some(RunStatus::Running), limit: 1, ..RunFilter::default() };
    let running = paged(&*log, running).await?;
    same("pages of those that are on", &running, &ids([7, 5, 3_600_008, 3_600_007]))?;
    let mut numbers = Vec::new();
    for run in newest_first {
        numbers.push(works("a summary", log.summary(run).await)?.number);
    }
    holds("a later run has no higher number", numbers.is_sorted_by(|later, earlier| later > earlier))
}

async fn five_runs(log: &dyn Store) -> Verdict {
    begin_as(log, 1, in_session(started(1, "one"), "a")).await?;
    begin_as(log, 2, in_session(started(2, "two"), "b")).await?;
    let writer = AgentRef { name: "writer".into(), digest: "d2".into() };
    begin_as(
        log,
        3,
        RunStarted { agent: writer, parent: Some(id(1)), ..in_session(started(3, "three"), "a") },
    )
    .await?;
    begin_as(log, 4, RunStarted { parent: Some(id(1)), ..started(4, "four") }).await?;
    begin(log, 5).await?;
    end(log, id(2), 1, Status::Answered).await?;
    end(log, id(3), 1, Status::Limit(LimitKind::ModelCalls)).await?;
    end(log, id(4), 1, Status::Failed(FailKind::NoCall)).await?;
    let run_state = RunState::Suspended;
    works("a pause", log.append(Append { run_state, ..append(id(5), 1, ended(Status::Answered)) }).await)
}

/// Every filter keeps what fits and only that, alone and together.
pub async fn listings_keep_to_every_filter(log: Arc<dyn Store>) -> Verdict {
    five_runs(&*log).await?;
    let all = RunFilter::default();
    let fourth = works("a summary", log.summary(id(4)).await)?.number;
    let status = |status| RunFilter { status: Some(status), ..RunFilter::default() };
    let session = RunFilter { session: Some("a".into()), ..all.clone() };
    let cases = [
        ("session a", session.clone(), vec![3, 1]),
        ("session none", RunFilter { session: Some("none".into()), ..all.clone() }, vec![]),
        ("agent writer", RunFilter { agent: Some("writer".into()), ..all.clone() }, vec![3]),
        ("status running", status(RunStatus::Running), vec![1]),
        ("status suspended", status(RunStatus::Suspended), vec![5]),
        ("status answered", status(RunStatus::Answered), vec![2]),
        ("status limit", status(RunStatus::Limit), vec![3]),
        ("status failed", status(RunStatus::Failed), vec![4]),
        ("status concluded", status(RunStatus::Concluded), vec![]),
        ("parent 1", RunFilter { parent: Some(id(1)), ..all.clone() }, vec![4, 3]),
        ("since", RunFilter { since: Some(BEGAN + 3), ..all.clone() }, vec![5, 4, 3]),
        ("until", RunFilter { until: Some(BEGAN + 3), ..all.clone() }, vec![2, 1]),
        ("before", RunFilter { before: Some(fourth), ..all.clone() }, vec![3, 2, 1]),
        ("session a, status limit", RunFilter { status: Some(RunStatus::Limit), ..session.clone() }, vec![3]),
        ("session a, until", RunFilter { until: Some(BEGAN + 3), limit: 1, ..session }, vec![1]),
        ("limit 2", RunFilter { limit: 2, ..all }, vec![5, 4]),
    ];
    for (name, filter, promised) in cases {
        same(&format!("the listing with {name}"), &listed(&*log, filter).await?, &ids(promised))?;
    }
    let limit = works("a summary", log.summary(id(3)).await)?.run_state;
    same("a limit's name", &limit, &RunState::Ended(Status::Limit(LimitKind::ModelCalls)))?;
    let failed = works("a summary", log.summary(id(4)).await)?.run_state;
    same("a failure's kind", &failed, &RunState::Ended(Status::Failed(FailKind::NoCall)))
}
