//! The cost of a run, call by call, with the runs that it handed tasks to; and of a session.

use std::collections::BTreeSet;

use serde::Serialize;
use windlass_core::model::{FailureKind, Purpose, Usage};
use windlass_core::{CallId, RunId, SessionId, Text};
use windlass_store::Store;

use super::sessions::session_runs;
use crate::error::Error;
use crate::load::is_known;
use crate::timeline::{HostedUse, ModelCall, ModelCallEnd, PrefixBreak, Task, Timeline};

/// Maximum number of runs of one family whose costs are read.
const MOST_RUNS: usize = 10_000;

/// Pico-dollars of a dollar.
const PICO: f64 = 1e12;

/// The cost of several model calls. Usage whose price is unknown is no part of `known_usd`: it is unknown, not free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of model calls.
    pub calls: u64,
    /// Their tokens.
    pub usage: Usage,
    /// The cost of the tokens whose price is known, in pico-dollars (10⁻¹² USD).
    pub known: u64,
    /// The tokens whose price is unknown.
    pub unpriced: u64,
}

impl Cost {
    /// The cost in US dollars; `None`: a price is unknown.
    pub fn usd(&self) -> Option<f64> {
        (self.unpriced == 0).then(|| self.known_usd())
    }

    /// The cost of the tokens whose price is known, in US dollars.
    pub fn known_usd(&self) -> f64 {
        self.known as f64 / PICO
    }

    /// Both together.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        self.calls = self.calls.saturating_add(other.calls);
        self.usage.add(&other.usage);
        self.known = self.known.saturating_add(other.known);
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
        self
    }

    pub(super) fn of(calls: u64, usage: Usage, cost: Option<u64>) -> Self {
        let unpriced = if cost.is_none() { usage.total() } else { 0 };
        Self { calls, usage, known: cost.unwrap_or(0), unpriced }
    }
}

/// A model call that has ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallCost {
    /// The number of the event that ended it.
    pub seq: u64,
    /// Its turn.
    pub turn: u32,
    /// Its purpose.
    pub purpose: Purpose,
    /// The model that was asked, as the agent names it.
    pub model: Text,
    /// Its tokens.
    pub usage: Usage,
    /// Its cost in pico-dollars as limits count it: at list price, or what its provider reported if that is more; `None`: the
    /// price is unknown, and nothing was reported.
    pub pico_usd: Option<u64>,
    /// The tools that its provider ran.
    pub hosted: Vec<HostedUse>,
    /// Savings of the provider's cache, in pico-dollars at list prices; below 0 where writing to it cost more; `None`: the price is
    /// unknown.
    pub saved: Option<i64>,
    /// The kind of its failure, if it failed.
    pub failed: Option<FailureKind>,
}

impl CallCost {
    /// As a sum of one call.
    pub fn cost(&self) -> Cost {
        Cost::of(1, self.usage, self.pico_usd)
    }
}

/// A task that a run handed to another agent.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskCost {
    /// The call.
    pub call: CallId,
    /// The agent.
    pub agent: Text,
    /// The run that did it, which is in this log unless [`RunCosts::elsewhere`] says otherwise.
    pub run: RunId,
    /// Its tokens and cost as it gave them back, once it has ended.
    pub returned: Cost,
}

/// The costs of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunCosts {
    /// The run.
    pub run: RunId,
    /// Its agent.
    pub agent: Text,
    /// The depth of its task: 0 for the run that was asked for, 1 for one that does a task of that one.
    pub depth: usize,
    /// Its own model calls that have ended, in order.
    pub calls: Vec<CallCost>,
    /// The requests that do not go on with the beginning of those before them, so that a cache of it does not serve.
    pub breaks: Vec<PrefixBreak>,
    /// The tasks whose runs are not in this log (remote agents, pruned runs): only their sums are known.
    pub elsewhere: Vec<TaskCost>,
}

impl RunCosts {
    /// Its own model calls together.
    pub fn own(&self) -> Cost {
        self.calls.iter().fold(Cost::default(), |sum, call| sum.plus(&call.cost()))
    }

    /// Savings of the providers' caches for its own model calls, in US dollars at list prices; `None`: none was read or written, or a price of
    /// one that was is unknown.
    pub fn saved_usd(&self) -> Option<f64> {
        let used = self.calls.iter().filter(|call| call.usage.cached > 0 || call.usage.cache_write > 0);
        let saved: Option<Vec<i64>> = used.map(|call| call.saved).collect();
        let saved = saved.filter(|all| !all.is_empty())?;
        Some(saved.into_iter().map(|pico| pico as f64).sum::<f64>() / PICO)
    }

    /// Its own model calls, and the tasks whose runs are elsewhere.
    pub fn total(&self) -> Cost {
        self.elsewhere.iter().fold(self.own(), |sum, task| sum.plus(&task.returned))
    }
}

/// The sum of a family of runs.
pub fn total_cost(runs: &[RunCosts]) -> Cost {
    runs.iter().fold(Cost::default(), |sum, run| sum.plus(&run.total()))
}

/// The costs of a run, followed by those of the runs that did its tasks, each behind the run that handed it over. The costs of
/// a base (an earlier run of the session, the base of a fork) are not its own.
///
/// ```no_run
/// use windlass_read::reports::{run_costs, total_cost};
/// # use windlass_core::RunId;
/// # use windlass_read::Error;
/// # use windlass_store::Store;
/// # async fn show(log: &dyn Store, run: RunId) -> Result<(), Error> {
/// let family = run_costs(log, run).await?;
/// match total_cost(&family).usd() {
///     Some(usd) => println!("${usd}"),
///     None => println!("a price is unknown"),
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The run is not in the log, or the log failed.
pub async fn run_costs(log: &dyn Store, run: RunId) -> Result<Vec<RunCosts>, Error> {
    let mut family = Vec::new();
    let (mut seen, mut next) = (BTreeSet::from([run]), vec![(run, 0)]);
    while let Some((run, depth)) = next.pop() {
        let (mut costs, tasks) = own(&Timeline::of(log, run).await?, depth);
        let mut children = Vec::new();
        for task in tasks {
            if !is_known(log, task.run).await? {
                costs.elsewhere.push(task);
            } else if seen.len() < MOST_RUNS && seen.insert(task.run) {
                children.push((task.run, depth + 1));
            }
        }
        next.extend(children.into_iter().rev());
        family.push(costs);
    }
    Ok(family)
}

/// The costs of the runs of a session, oldest first, each with the runs that did its tasks.
///
/// # Errors
/// The log failed.
pub async fn session_costs(log: &dyn Store, session: &SessionId) -> Result<Vec<Vec<RunCosts>>, Error> {
    let mut all = Vec::new();
    for line in session_runs(log, Some(session)).await?.iter().rev() {
        all.push(run_costs(log, line.run).await?);
    }
    Ok(all)
}

/// The own calls of a run, and its tasks.
fn own(timeline: &Timeline, depth: usize) -> (RunCosts, Vec<TaskCost>) {
    let call = |call: &ModelCall| CallCost {
        seq: call.seq,
        turn: call.turn,
        purpose: call.purpose,
        model: call.model.clone(),
        usage: call.usage,
        pico_usd: call.pico_usd,
        hosted: call.hosted.clone(),
        saved: call.saved,
        failed: if let ModelCallEnd::Failed(kind) = call.end { Some(kind) } else { None },
    };
    let task = |task: &Task| TaskCost {
        call: task.call.clone(),
        agent: task.agent.clone(),
        run: task.run,
        returned: task.ended.map_or_else(Cost::default, |_| Cost::of(0, task.usage, task.pico_usd)),
    };
    let costs = RunCosts {
        run: timeline.run,
        agent: timeline.start.agent.name.clone(),
        depth,
        calls: timeline.model_calls.iter().map(call).collect(),
        breaks: timeline.breaks.clone(),
        elsewhere: Vec::new(),
    };
    (costs, timeline.tasks.iter().map(task).collect())
}
