//! The usage of runs, by agent, model and tool: calls, tokens, cost, and how long they took.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use windlass_core::{RunId, Text};
use windlass_store::Store;

use super::costs::Cost;
use crate::error::Error;
use crate::json;
use crate::load::is_known;
use crate::timeline::{ModelCallEnd, Timeline};

/// Maximum number of runs that are read.
const MOST_RUNS: usize = 100_000;

/// The usage of runs, with the runs that did their tasks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageReport {
    /// By agent: its runs.
    pub agents: BTreeMap<Text, Used>,
    /// By model: its calls.
    pub models: BTreeMap<Text, Used>,
    /// By tool: the calls that ran and ended.
    pub tools: BTreeMap<Text, Used>,
}

/// The usage of an agent, a model or a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Used {
    /// Number of runs or calls.
    pub count: u64,
    /// Those of them that failed: runs that the agent did not answer itself, model calls without a reply, calls without a result.
    pub failed: u64,
    /// Their model calls; a tool has none.
    pub cost: Cost,
    /// How long each took, in milliseconds, in order of their length once the report is made.
    times: Vec<u64>,
}

impl Used {
    /// The time that so many percent of them stayed within, by the nearest rank; `None`: none has ended.
    pub fn percentile(&self, percent: usize) -> Option<u64> {
        let rank = (self.times.len() * percent).div_ceil(100).max(1);
        self.times.get(rank - 1).copied()
    }

    fn add(&mut self, failed: bool, ms: Option<u64>) {
        self.count += 1;
        self.failed += u64::from(failed);
        self.times.extend(ms);
    }

    fn to_json(&self, name: &str) -> Value {
        json!({
            "name": name,
            "count": self.count,
            "failed": self.failed,
            "cost": json::cost(&self.cost),
            "p50_ms": self.percentile(50),
            "p95_ms": self.percentile(95),
        })
    }
}

impl UsageReport {
    /// Reads these runs and the runs that did their tasks.
    ///
    /// # Errors
    /// One of the runs is not in the log, or the log failed.
    pub async fn of(log: &dyn Store, runs: &[RunId]) -> Result<Self, Error> {
        let mut report = Self::default();
        let (mut seen, mut next) = (BTreeSet::new(), runs.to_vec());
        while let Some(run) = next.pop() {
            if seen.len() >= MOST_RUNS || !seen.insert(run) {
                continue;
            }
            let timeline = Timeline::of(log, run).await?;
            for task in &timeline.tasks {
                if is_known(log, task.run).await? {
                    next.push(task.run);
                }
            }
            report.add(&timeline);
        }
        for used in
            report.agents.values_mut().chain(report.models.values_mut()).chain(report.tools.values_mut())
        {
            used.times.sort_unstable();
        }
        Ok(report)
    }

    fn add(&mut self, timeline: &Timeline) {
        let agent = self.agents.entry(timeline.start.agent.name.clone()).or_default();
        let ended = timeline.end.is_some();
        agent.add(ended && !timeline.succeeded(), ended.then(|| timeline.ms()));
        for call in &timeline.model_calls {
            let cost = Cost::of(1, call.usage, call.pico_usd);
            agent.cost = agent.cost.plus(&cost);
            let model = self.models.entry(call.model.clone()).or_default();
            model.add(matches!(call.end, ModelCallEnd::Failed(_)), call.ms());
            model.cost = model.cost.plus(&cost);
        }
        for call in timeline.calls() {
            let Some(succeeded) = call.verdict() else { continue };
            self.tools.entry(call.name.clone()).or_default().add(!succeeded, Some(call.ms()));
        }
    }

    /// As JSON: `agents`, `models` and `tools`.
    pub fn to_json(&self) -> Value {
        let rows = |rows: &BTreeMap<Text, Used>| {
            rows.iter().map(|(name, used)| used.to_json(name)).collect::<Vec<_>>()
        };
        json!({ "agents": rows(&self.agents), "models": rows(&self.models), "tools": rows(&self.tools) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let of = |times: &[u64]| Used { times: times.to_vec(), ..Used::default() };
        assert_eq!(of(&[]).percentile(50), None);
        assert_eq!((of(&[7]).percentile(50), of(&[7]).percentile(95)), (Some(7), Some(7)));
        let many: Vec<u64> = (1..=100).collect();
        assert_eq!((of(&many).percentile(50), of(&many).percentile(95)), (Some(50), Some(95)));
        assert_eq!(of(&[1, 2, 3]).percentile(50), Some(2));
    }
}
