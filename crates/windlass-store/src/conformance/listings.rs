//! Promises of listings and summaries.

use std::sync::Arc;

use windlass_core::event::{AgentRef, FailKind, RunStarted};
use windlass_core::policy::LimitKind;
use windlass_core::{Owner, RunId, RunState, SessionId, Status};

use super::sample::{
    BEGAN, append, begin, begin_as, end, ended, first, holder, id, in_session, started, steered,
};
use super::{Verdict, holds, refused, same, works};
use crate::{Append, Cursor, Head, Headline, RunFilter, RunStatus, SessionFilter, Spend, Store};

/// A summary tells agent, session, parent, run state, version, times, title and holder.
pub async fn a_summary_says_how_a_run_stands(log: Arc<dyn Store>) -> Verdict {
    let long = "\u{1f9ed}".repeat(80);
    let first = RunStarted { parent: Some(id(7)), ..in_session(started(1, &long), "talk") };
    let run = begin_as(&*log, 1, first).await?;
    works("an append", log.append(append(run, 1, steered(2, 3))).await)?;
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
    let (mut after, mut all) = (None, Vec::new());
    loop {
        let page = works("a page", log.list(RunFilter { after, ..filter.clone() }).await)?;
        holds("a page is too long", page.len() <= filter.limit)?;
        holds("a page that is not the last one is short", page.next.is_none() || page.len() == filter.limit)?;
        all.extend(page.items.iter().map(|summary| summary.run));
        after = page.next;
        if after.is_none() {
            return Ok(all);
        }
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
    works("an append", log.append(append(id(3_600_007), 1, steered(2, 1))).await)?;
    end(&*log, id(6), 1, Status::Answered).await?;
    let session = RunFilter { session: Some("talk".into()), ..RunFilter::default() };
    same("a session's listing", &listed(&*log, session.clone()).await?, &newest_first)?;
    let last = listed(&*log, RunFilter { limit: 1, ..session.clone() }).await?;
    same("a session's last run", &last, &ids([7]))?;
    same("pages", &paged(&*log, RunFilter { limit: 2, ..session }).await?, &newest_first)?;
    let running = RunFilter { status: Some(RunStatus::Running), limit: 1, ..RunFilter::default() };
    let running = paged(&*log, running).await?;
    same("pages of those that are on", &running, &ids([7, 5, 3_600_008, 3_600_007]))
}

/// Pages neither repeat nor leave out a run that was there when the first one was made, while runs begin, go on and end; a cursor
/// is good for another process, and one that the store did not make is refused.
pub async fn a_listing_is_stable_under_its_cursor(log: Arc<dyn Store>) -> Verdict {
    for number in 1..=6 {
        begin(&*log, number).await?;
    }
    let filter = RunFilter { limit: 2, ..RunFilter::default() };
    let (mut after, mut all, mut next) = (None, Vec::new(), 7);
    loop {
        let page = works("a page", log.list(RunFilter { after, ..filter.clone() }).await)?;
        all.extend(page.items.iter().map(|summary| summary.run));
        begin(&*log, next).await?;
        works("an append", log.append(append(id(1), u64::from(next) - 6, steered(9, 1))).await)?;
        next += 1;
        let Some(cursor) = page.next else { break };
        after = Some(Cursor::from(cursor.as_str()));
    }
    same("the runs that were there", &all, &ids((1..=6).rev()))?;
    let foreign = RunFilter { after: Some(Cursor::from("from elsewhere")), ..RunFilter::default() };
    refused("a cursor from elsewhere", log.list(foreign).await, "store.bad_cursor").map(drop)
}

/// A summary tells when a run ended, what it cost, and the question that it waits with, as the last append said.
pub async fn a_summary_says_what_a_run_cost_and_asks(log: Arc<dyn Store>) -> Verdict {
    let run = begin(&*log, 1).await?;
    let latest = async || {
        let summary = works("a summary", log.summary(run).await)?;
        Ok::<_, String>((summary.headline, summary.ended_at))
    };
    same("a fresh run", &latest().await?, &(Headline::default(), None))?;
    let spend = Some(Spend { input: 9, output: 3, cached: 2, cost: 6_000_000, ..Spend::default() });
    let question = Some("May `pay` run?".into());
    let asking = Headline { cost: Some(7_000_000), spend, question, queued: false };
    let ask = Append { headline: asking.clone(), ..append(run, 1, steered(2, 1)) };
    works("an append with a question", log.append(ask).await)?;
    same("a run that asks", &latest().await?, &(asking.clone(), None))?;
    let listed = works("a listing", log.list(RunFilter::default()).await)?;
    same("the same in a listing", &listed.first().map(|line| &line.headline), &Some(&asking))?;
    let spend = Spend { cache_write: 1, reasoning: 2, unpriced: u64::from(u32::MAX), ..Spend::default() };
    let over = Headline { cost: Some(9_000_000), spend: Some(spend), ..Headline::default() };
    let run_state = RunState::Ended(Status::Answered);
    let end = Append { headline: over.clone(), run_state, ..append(run, 2, ended(Status::Answered)) };
    works("an end", log.append(end).await)?;
    same("a run that has ended", &latest().await?, &(over, Some(BEGAN + 1_000)))
}

/// Runs that wait with a question are listed alone, running or suspended, until they are answered or end, in pages and with other
/// conditions. One that has ended is not listed, whatever its last append said.
pub async fn only_runs_that_wait_with_a_question_ask(log: Arc<dyn Store>) -> Verdict {
    let asks = || Headline { question: Some("May `pay` run?".into()), ..Headline::default() };
    let asking = async |filter: RunFilter| listed(&*log, RunFilter { asks: true, ..filter }).await;
    let all = async || asking(RunFilter::default()).await;
    for number in 1..=5 {
        let owner = Owner::from(if number < 3 { "ada" } else { "bob" });
        begin_as(&*log, number, RunStarted { owner, ..in_session(started(number, "hello"), "a") }).await?;
    }
    same("none asks", &all().await?, &ids([]))?;
    let states = [
        (1, RunState::Running),
        (2, RunState::Suspended),
        (3, RunState::Ended(Status::Cancelled)),
        (4, RunState::Suspended),
    ];
    for (number, run_state) in states {
        let append = Append { headline: asks(), run_state, ..append(id(number), 1, steered(2, 1)) };
        works("an append with a question", log.append(append).await)?;
    }
    same("those that ask", &all().await?, &ids([4, 2, 1]))?;
    let pages = paged(&*log, RunFilter { asks: true, limit: 2, ..RunFilter::default() }).await?;
    same("pages of those that ask", &pages, &ids([4, 2, 1]))?;
    let ada = RunFilter { owner: Some(Owner::from("ada")), ..RunFilter::default() };
    same("an owner's", &asking(ada.clone()).await?, &ids([2, 1]))?;
    let status = Some(RunStatus::Suspended);
    same("a state's", &asking(RunFilter { status, ..RunFilter::default() }).await?, &ids([4, 2]))?;
    same("an owner's of a state", &asking(RunFilter { status, ..ada }).await?, &ids([2]))?;
    let ended = RunFilter { status: Some(RunStatus::Cancelled), ..RunFilter::default() };
    same("an end's", &asking(ended).await?, &ids([]))?;
    let nobody = RunFilter { agent: Some("writer".into()), ..RunFilter::default() };
    same("another agent's", &asking(nobody).await?, &ids([]))?;
    let session = RunFilter { session: Some("a".into()), limit: 1, ..RunFilter::default() };
    same("a session's newest", &asking(session).await?, &ids([4]))?;
    works("an answer", log.append(append(id(1), 2, steered(3, 1))).await)?;
    same("one was answered", &all().await?, &ids([4, 2]))
}

/// A session whose head has ended while messages are queued is listed until another run moves its head, and only then: an owner's
/// alone, an agent's alone, and in pages.
pub async fn an_ended_head_with_a_queue_is_listed_until_the_head_moves(log: Arc<dyn Store>) -> Verdict {
    let queued = || Headline { queued: true, ..Headline::default() };
    let begins = |number, owner: &str, session: &str, from: Option<RunId>| {
        let start = in_session(started(number, "hello"), session);
        let start = RunStarted { owner: Owner::from(owner), ..start };
        Append { head: Head::Moves { from }, ..first(start) }
    };
    let ends = |number, at, headline| Append {
        headline,
        run_state: RunState::Ended(Status::Answered),
        ..append(id(number), at, ended(Status::Answered))
    };
    let listed = async |filter: RunFilter| {
        let filter = RunFilter { queued: true, ..filter };
        let page = works("a listing of queues", log.list(filter).await)?;
        let lines = page.items.iter().map(|line| (line.run, line.headline.queued));
        Ok::<_, String>((lines.collect::<Vec<_>>(), page.next))
    };
    let all = async || listed(RunFilter::default()).await;
    for (number, owner, session) in [(1, "local", "a"), (2, "ada", "a"), (3, "local", "b")] {
        works("a session", log.append(begins(number, owner, session, None)).await)?;
        let append = Append { headline: queued(), ..append(id(number), 1, steered(2, 1)) };
        works("a queued message", log.append(append).await)?;
    }
    same("heads that have not ended", &all().await?, &(Vec::new(), None))?;
    same("the head's summary", &works("a summary", log.summary(id(1)).await)?.headline, &queued())?;
    for number in [1, 2] {
        works("an end", log.append(ends(number, 2, queued())).await)?;
    }
    works("an end without a queue", log.append(ends(3, 2, Headline::default())).await)?;
    // Neither an import nor a run of no session is a head.
    let import = RunStarted { owner: Owner::default(), ..in_session(started(4, "imported"), "a") };
    works("an import", log.append(Append { headline: queued(), ..first(import) }).await)?;
    works("its end", log.append(ends(4, 1, queued())).await)?;
    let alone = Append { headline: queued(), ..first(started(5, "alone")) };
    works("a run of no session", log.append(alone).await)?;
    works("its end", log.append(ends(5, 1, queued())).await)?;
    same("ended heads", &all().await?, &(vec![(id(2), true), (id(1), true)], None))?;
    let theirs = RunFilter { owner: Some(Owner::from("ada")), ..RunFilter::default() };
    same("an owner's", &listed(theirs).await?, &(vec![(id(2), true)], None))?;
    let nobody = RunFilter { agent: Some("writer".into()), ..RunFilter::default() };
    same("another agent's", &listed(nobody).await?, &(Vec::new(), None))?;
    let (page, next) = listed(RunFilter { limit: 1, ..RunFilter::default() }).await?;
    same("the first page", &page, &vec![(id(2), true)])?;
    let rest = listed(RunFilter { limit: 1, after: next, ..RunFilter::default() }).await?;
    same("the second page", &rest, &(vec![(id(1), true)], None))?;
    works("the run of the message", log.append(begins(6, "local", "a", Some(id(1)))).await)?;
    same("the head has moved", &all().await?, &(vec![(id(2), true)], None))?;
    same("the former head", &works("a summary", log.summary(id(1)).await)?.headline, &Headline::default())
}

/// Sessions are listed by their heads, the one that moved last first, an owner's alone, and in pages.
pub async fn sessions_are_listed_by_their_heads(log: Arc<dyn Store>) -> Verdict {
    let run = |number, owner: &str, session: &str| RunStarted {
        owner: Owner::from(owner),
        ..in_session(started(number, "hello"), session)
    };
    let moves = |from, start: RunStarted| Append { head: Head::Moves { from }, ..first(start) };
    for (number, owner, session) in [(1, "local", "a"), (2, "ada", "a"), (3, "local", "b"), (4, "local", "c")]
    {
        works("a session", log.append(moves(None, run(number, owner, session))).await)?;
    }
    works("a run that goes on", log.append(moves(Some(id(1)), run(5, "local", "a"))).await)?;
    works("an import", log.append(first(run(6, "local", "b"))).await)?;
    works("a run of no session", log.append(first(started(7, "alone"))).await)?;
    let listed = async |filter: SessionFilter| {
        let page = works("a listing of sessions", log.sessions(filter).await)?;
        let lines = page.items.iter().map(|line| {
            (line.session.as_str().to_owned(), line.head.owner.clone(), line.head.run, line.runs)
        });
        Ok::<_, String>((lines.collect::<Vec<_>>(), page.next))
    };
    let line =
        |session: &str, owner: &str, head, runs| (session.to_owned(), Owner::from(owner), id(head), runs);
    let all = vec![
        line("a", "local", 5, 2),
        line("c", "local", 4, 1),
        line("b", "local", 3, 2),
        line("a", "ada", 2, 1),
    ];
    same("all sessions", &listed(SessionFilter::default()).await?, &(all.clone(), None))?;
    let theirs = SessionFilter { owner: Some(Owner::from("ada")), ..SessionFilter::default() };
    same("an owner's sessions", &listed(theirs).await?, &(all.iter().skip(3).cloned().collect(), None))?;
    let nobody = SessionFilter { agent: Some("writer".into()), ..SessionFilter::default() };
    same("another agent's sessions", &listed(nobody).await?, &(Vec::new(), None))?;
    let (mut after, mut pages) = (None, Vec::new());
    loop {
        let filter = SessionFilter { after, limit: 3, ..SessionFilter::default() };
        let (page, next) = listed(filter).await?;
        pages.extend(page);
        after = next;
        if after.is_none() {
            return same("pages of sessions", &pages, &all);
        }
    }
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
    let newest = works("a page", log.list(RunFilter { limit: 2, ..all.clone() }).await)?.next;
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
        ("after the first page", RunFilter { after: newest, ..all.clone() }, vec![3, 2, 1]),
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
