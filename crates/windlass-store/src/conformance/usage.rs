//! Promises of sums of what runs used.

use std::sync::Arc;

use windlass_core::event::{AgentRef, Millis, RunStarted};
use windlass_core::{Event, Owner, RunState, Status};

use super::sample::{append, begin, ended, id, started, steered};
use super::{Verdict, holds, same, works};
use crate::index::usage::{DAY_MS, UsedBy, sums};
use crate::{Append, DailyUsage, Headline, RunFilter, RunSummary, Spend, Store, UsageFilter};

/// A day that began long after the epoch.
const DAY: Millis = 20_000 * DAY_MS;

fn spend(number: u32) -> Spend {
    let number = u64::from(number);
    let (input, output, cached) = (100 * number, 10 * number, 40 * number);
    let (cost, unpriced) =
        if number.is_multiple_of(4) { (0, 110 * number) } else { (7_000_000_000_000 * number, 0) };
    Spend { input, output, cached, cache_write: number, reasoning: 2 * number, cost, unpriced }
}

/// Begins a run at a time, which has used something by its second append.
async fn used(log: &dyn Store, number: u32, at: Millis, owner: &str, agent: &str) -> Verdict {
    let agent = AgentRef { name: agent.into(), digest: "d1".into() };
    let start = RunStarted { owner: Owner::from(owner), agent, ..started(number, "hello") };
    let events: Arc<[Event]> = Arc::new([Event { at, fact: start.into() }]);
    let headline = Headline { spend: Some(Spend::default()), ..Headline::default() };
    works("beginning a run", log.append(Append { headline, ..append(id(number), 0, events) }).await)?;
    let headline = Headline { spend: Some(spend(number)), ..Headline::default() };
    works("its use", log.append(Append { headline, ..append(id(number), 1, steered(2, 1)) }).await)
}

/// The sums that a filter promises, counted over all lines of a listing.
async fn counted(log: &dyn Store, filter: &UsageFilter) -> Result<Vec<DailyUsage>, String> {
    let UsageFilter { owner, agent, since, until, .. } = filter.clone();
    let runs = RunFilter { owner, agent, since, until, limit: 1_000, ..RunFilter::default() };
    let runs = works("a listing", log.list(runs).await)?.into_iter();
    let used = |run: RunSummary| {
        let RunSummary { owner, agent, started_at, headline, .. } = run;
        UsedBy { owner, agent, started_at, spend: headline.spend }
    };
    Ok(sums(runs.map(used), filter))
}

/// The usage of runs is summed up by the days on which they began, by owner and by agent where that is asked for: the newest day
/// first. Each sum is that of a listing with the same conditions. The last append of a run counts, and no other.
pub async fn use_is_summed_up_by_day_owner_and_agent(log: Arc<dyn Store>) -> Verdict {
    let usage = async |filter: &UsageFilter| works("a sum", log.usage(filter.clone()).await);
    let all = UsageFilter::default();
    same("an empty log", &usage(&all).await?, &Vec::new())?;
    for number in 1..=12 {
        let at = DAY + u64::from(number / 3) * DAY_MS / 2;
        let (owner, agent) = ((number % 2 == 0).then_some("ada"), (number % 5 == 0).then_some("writer"));
        used(&*log, number, at, owner.unwrap_or("bob"), agent.unwrap_or("librarian")).await?;
    }
    // The last moment of a day, and one whose use is not known.
    used(&*log, 13, DAY + DAY_MS - 1, "ada", "writer").await?;
    begin(&*log, 14).await?;
    let end =
        Append { run_state: RunState::Ended(Status::Answered), ..append(id(1), 2, ended(Status::Answered)) };
    let headline = Headline { spend: Some(spend(21)), ..Headline::default() };
    works("an end", log.append(Append { headline, ..end }).await)?;
    let ada = UsageFilter { owner: Some(Owner::from("ada")), ..all.clone() };
    let days = UsageFilter { since: Some(DAY + DAY_MS), until: Some(DAY + 2 * DAY_MS), ..all.clone() };
    let cases = [
        ("all", all.clone(), 4),
        ("by owner", UsageFilter { by_owner: true, ..all.clone() }, 6),
        ("by agent", UsageFilter { by_agent: true, ..all.clone() }, 6),
        ("by both", UsageFilter { by_owner: true, by_agent: true, ..all.clone() }, 9),
        ("an owner's", ada.clone(), 3),
        ("an owner's by agent", UsageFilter { by_agent: true, ..ada.clone() }, 5),
        ("an agent's", UsageFilter { agent: Some("writer".into()), ..all.clone() }, 2),
        ("of a day", days.clone(), 1),
        ("an owner's of a day", UsageFilter { owner: ada.owner, ..days }, 1),
        ("nobody's", UsageFilter { owner: Some(Owner::from("eve")), ..all.clone() }, 0),
        ("of two lines", UsageFilter { by_owner: true, limit: 2, ..all.clone() }, 2),
    ];
    for (name, filter, lines) in cases {
        let (found, promised) = (usage(&filter).await?, counted(&*log, &filter).await?);
        same(&format!("the sum {name}"), &found, &promised)?;
        same(&format!("the lines of the sum {name}"), &found.len(), &lines)?;
    }
    // In plain numbers, beside the count above: run 12 alone began on the third day, and has no price.
    let newest = usage(&UsageFilter { since: Some(DAY + 2 * DAY_MS), ..all }).await?;
    let [line] = newest.as_slice() else { return Err(format!("the third day: found {newest:?}")) };
    same("the third day", &(line.day, line.runs, line.unpriced_runs), &(DAY + 2 * DAY_MS, 1, 1))?;
    holds("the third day's owner is told apart", line.owner.is_none() && line.agent.is_none())?;
    let spend = Spend {
        input: 1_200,
        output: 120,
        cached: 480,
        cache_write: 12,
        reasoning: 24,
        cost: 0,
        unpriced: 1_320,
    };
    same("the third day's use", &line.spend, &spend)
}
