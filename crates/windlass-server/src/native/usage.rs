//! The usage of runs, by day and owner.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use chrono::DateTime;
use windlass_api::{UsageLine, UsageOf, UsageReport};
use windlass_core::Owner;
use windlass_core::event::Millis;
use windlass_core::model::Usage;
use windlass_store::{DEFAULT_USAGE_LINES, DailyUsage, Spend, UsageFilter};

use crate::error::Error;
use crate::http::reply::Json;
use crate::http::route::{Call, Nothing};

/// The time of a report that names none, in milliseconds: 30 days.
const DEFAULT_MS: u64 = 30 * 86_400_000;

/// The sums of the owners that the caller sees, of the agents that are there for it.
pub(super) async fn usage(call: Call<Nothing, UsageOf>) -> Result<Json<UsageReport>, Error> {
    let UsageOf { since, until, owner, agent } = call.query;
    let filter = UsageFilter {
        owner: owner.map(|owner| owner.as_str().into()),
        agent: agent.map(Into::into),
        since: Some(since.unwrap_or_else(|| call.server.now().saturating_sub(DEFAULT_MS))),
        until,
        by_owner: true,
        // A token may be for some agents only.
        by_agent: true,
        limit: DEFAULT_USAGE_LINES + 1,
    };
    let sums = call.caller.host(&call.server).usage(filter).await?;
    if sums.len() > DEFAULT_USAGE_LINES {
        let fault =
            format!("there are more than {DEFAULT_USAGE_LINES} sums by day, owner and agent since then");
        return Err(Error::Value { what: "since", fault });
    }
    let mut lines: BTreeMap<(Reverse<Millis>, Owner), DailyUsage> = BTreeMap::new();
    for sum in sums {
        let DailyUsage { day, owner, agent, runs, spend, unpriced_runs } = sum;
        if agent.is_some_and(|agent| !call.caller.has_agent(&agent)) {
            continue;
        }
        let line = lines.entry((Reverse(day), owner.unwrap_or_default())).or_default();
        line.runs += runs;
        line.spend = line.spend.plus(spend);
        line.unpriced_runs += unpriced_runs;
    }
    let items = lines.into_iter().map(|((Reverse(day), owner), sum)| line(day, &owner, &sum)).collect();
    Ok(Json(UsageReport { items }))
}

fn line(day: Millis, owner: &Owner, sum: &DailyUsage) -> UsageLine {
    let Spend { input, output, cached, cache_write, reasoning, cost, unpriced: _ } = sum.spend;
    let day = i64::try_from(day).ok().and_then(DateTime::from_timestamp_millis).unwrap_or_default();
    let known_cost_usd = cost as f64 / 1e12;
    UsageLine {
        day: day.format("%Y-%m-%d").to_string(),
        owner: owner.to_string(),
        runs: sum.runs,
        usage: Usage { input, output, cached, cache_write, reasoning, ..Usage::default() },
        cost_usd: (sum.unpriced_runs == 0).then_some(known_cost_usd),
        known_cost_usd,
        unpriced_runs: sum.unpriced_runs,
    }
}
