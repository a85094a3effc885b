//! Statistics over runs: per tool with a class of reliability, and per query.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_core::{RunId, Text};
use windlass_macros::Named;
use windlass_store::{Log, RunFilter, Store};

use crate::error::Error;
use crate::load::pages::ListPages;
use crate::timeline::Timeline;

/// Share of successes from which a tool is reliable, in percent.
const RELIABLE: u64 = 80;
/// Share of successes below which it is unreliable, in percent.
const UNRELIABLE: u64 = 50;
/// Consecutive failures, up to the last call, after which it should be avoided.
const AVOID_AFTER: u64 = 3;
/// Number of an agent's newest runs that reliability is computed from.
pub const RELIABILITY_RUNS: usize = 1_000;

/// Statistics over runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Statistics {
    /// Number of runs.
    pub runs: u64,
    /// Runs that the agent answered by itself. An answer that a person gave counts as a failure.
    pub succeeded: u64,
    /// Each tool, by name.
    pub tools: Vec<ToolStatistics>,
    /// Each query, in the order of its first run.
    pub queries: Vec<QueryStatistics>,
}

/// Statistics of a tool.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ToolStatistics {
    /// The tool.
    pub tool: Text,
    /// Calls that ran and ended: those that succeeded or failed.
    pub calls: u64,
    /// Calls that gave a result themselves. A result that a person gave in a tool's place is a failure of the tool.
    pub succeeded: u64,
    /// Further tries of failed calls.
    pub retries: u64,
    /// Failures in a row up to the last call.
    pub failures_in_a_row: u64,
    /// Mean time of a call in milliseconds.
    pub mean_ms: u64,
    /// Class of reliability.
    pub reliability: Reliability,
    #[serde(skip)]
    ms: u64,
}

/// Class of a tool's reliability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Named)]
#[serde(rename_all = "snake_case")]
pub enum Reliability {
    /// At least 80 % of its calls succeeded, or it was never called.
    #[default]
    Reliable,
    /// At least 50 %.
    Unsteady,
    /// Less.
    Unreliable,
    /// Its last three calls failed, whatever the share.
    Avoid,
}

impl Reliability {
    /// The class of a tool with so many calls, successes, and failures in a row up to its last call.
    pub fn of(calls: u64, succeeded: u64, failures_in_a_row: u64) -> Self {
        let share = |percent: u64| succeeded.saturating_mul(100) >= calls.saturating_mul(percent);
        if failures_in_a_row >= AVOID_AFTER {
            Self::Avoid
        } else if share(RELIABLE) {
            Self::Reliable
        } else if share(UNRELIABLE) {
            Self::Unsteady
        } else {
            Self::Unreliable
        }
    }
}

/// Statistics of a query.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueryStatistics {
    /// The query: the input of its runs.
    pub query: String,
    /// Number of runs.
    pub runs: u64,
    /// Runs that the agent answered by itself.
    pub succeeded: u64,
    /// Mean time of a run in milliseconds.
    pub mean_ms: u64,
    #[serde(skip)]
    ms: u64,
}

/// The statistics of these runs, given in the order in which they began.
///
/// # Errors
/// A run is not in the log, or the log failed.
pub async fn statistics(log: &dyn Log, runs: &[RunId]) -> Result<Statistics, Error> {
    let (mut all, mut tools) = (Statistics::default(), BTreeMap::new());
    for run in runs {
        let timeline = Timeline::of(log, *run).await?;
        let success = u64::from(timeline.succeeded());
        all.runs += 1;
        all.succeeded += success;
        add_query(&mut all.queries, &timeline, success);
        add_calls(&mut tools, &timeline);
    }
    all.queries.iter_mut().for_each(|query| query.mean_ms = query.ms / query.runs.max(1));
    all.tools = tools.into_values().collect();
    for tool in &mut all.tools {
        tool.mean_ms = tool.ms / tool.calls.max(1);
        tool.reliability = Reliability::of(tool.calls, tool.succeeded, tool.failures_in_a_row);
    }
    Ok(all)
}

fn add_query(queries: &mut Vec<QueryStatistics>, timeline: &Timeline, success: u64) {
    let query = timeline.query();
    let place = queries.iter().position(|known| known.query == query).unwrap_or_else(|| {
        queries.push(QueryStatistics { query, ..QueryStatistics::default() });
        queries.len() - 1
    });
    let Some(known) = queries.get_mut(place) else { return };
    known.runs += 1;
    known.succeeded += success;
    known.ms += timeline.ms();
}

fn add_calls(tools: &mut BTreeMap<Text, ToolStatistics>, timeline: &Timeline) {
    for call in timeline.calls() {
        let Some(success) = call.verdict() else { continue };
        let tool = tools
            .entry(call.name.clone())
            .or_insert_with(|| ToolStatistics { tool: call.name.clone(), ..ToolStatistics::default() });
        tool.calls += 1;
        tool.retries += u64::from(call.retries);
        tool.ms += call.ms();
        if success {
            tool.succeeded += 1;
            tool.failures_in_a_row = 0;
        } else {
            tool.failures_in_a_row += 1;
        }
    }
}

/// The newest runs, children excluded, of an agent or of all: at most `limit`, in the order in which they began.
///
/// # Errors
/// The log failed.
pub async fn newest_runs(log: &dyn Store, agent: Option<Text>, limit: usize) -> Result<Vec<RunId>, Error> {
    let mut runs = Vec::new();
    let mut pages = ListPages::new(log, RunFilter { agent, ..RunFilter::default() });
    while runs.len() < limit
        && let Some(page) = pages.next().await?
    {
        runs.extend(page.into_iter().filter(|run| run.parent.is_none()).map(|run| run.run));
    }
    runs.truncate(limit);
    runs.reverse();
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s28_classes_of_reliability_at_their_bounds() {
        let class = |calls, succeeded, row| Reliability::of(calls, succeeded, row);
        assert_eq!(class(10, 8, 2), Reliability::Reliable);
        assert_eq!(class(100, 79, 0), Reliability::Unsteady);
        assert_eq!(class(10, 5, 0), Reliability::Unsteady);
        assert_eq!(class(100, 49, 0), Reliability::Unreliable);
        assert_eq!(class(100, 97, 3), Reliability::Avoid, "three in a row outweigh the share");
        assert_eq!(class(2, 0, 2), Reliability::Unreliable);
        assert_eq!(class(0, 0, 0), Reliability::Reliable);
    }
}
