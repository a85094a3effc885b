//! Sums of what runs have used, by day.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use windlass_core::budget::Spend;
use windlass_core::event::Millis;
use windlass_core::{Owner, Text};

/// Milliseconds of a day (UTC has no leap seconds in Unix time).
pub(crate) const DAY_MS: u64 = 86_400_000;
/// The most lines of a sum whose filter gives no limit.
pub const DEFAULT_USAGE_LINES: usize = 10_000;

/// Which runs are summed up, and what is told apart: all given conditions hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsageFilter {
    /// Of this owner; `None`: of any.
    pub owner: Option<Owner>,
    /// Of this agent.
    pub agent: Option<Text>,
    /// Begun at or after this time.
    pub since: Option<Millis>,
    /// Begun before this time.
    pub until: Option<Millis>,
    /// A line for each owner.
    pub by_owner: bool,
    /// A line for each agent.
    pub by_agent: bool,
    /// Maximum number of lines; 0 means [`DEFAULT_USAGE_LINES`].
    pub limit: usize,
}

/// The usage of the runs of a day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DailyUsage {
    /// The first moment of the day on which the runs began, in UTC.
    pub day: Millis,
    /// Their owner, where owners are told apart.
    pub owner: Option<Owner>,
    /// Their agent, where agents are told apart.
    pub agent: Option<Text>,
    /// Number of runs.
    pub runs: u64,
    /// Their usage, each model call once ([`Headline::spend`](crate::Headline::spend)). Its cost is the known part.
    pub spend: Spend,
    /// Number of those runs whose cost is not known, or not all of it.
    pub unpriced_runs: u64,
}

impl UsageFilter {
    /// Maximum number of lines.
    pub(crate) fn lines(&self) -> usize {
        if self.limit == 0 { DEFAULT_USAGE_LINES } else { self.limit.min(i32::MAX as usize) }
    }
}

/// A run to sum up.
pub(crate) struct UsedBy {
    pub(crate) owner: Owner,
    pub(crate) agent: Text,
    pub(crate) started_at: Millis,
    pub(crate) spend: Option<Spend>,
}

/// The sums of runs that fit the filter: the newest day first, then by owner and agent.
pub(crate) fn sums(runs: impl Iterator<Item = UsedBy>, filter: &UsageFilter) -> Vec<DailyUsage> {
    let mut lines: BTreeMap<_, DailyUsage> = BTreeMap::new();
    for UsedBy { owner, agent, started_at, spend } in runs {
        let day = started_at / DAY_MS * DAY_MS;
        let (owner, agent) = (filter.by_owner.then_some(owner), filter.by_agent.then_some(agent));
        let line = lines.entry((Reverse(day), owner.clone(), agent.clone())).or_default();
        (line.day, line.owner, line.agent) = (day, owner, agent);
        line.runs += 1;
        line.unpriced_runs += u64::from(spend.is_none_or(|spend| spend.unpriced > 0));
        line.spend = line.spend.plus(spend.unwrap_or_default());
    }
    lines.into_values().take(filter.lines()).collect()
}
