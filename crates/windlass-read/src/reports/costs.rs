//! The cost of a run, call by call, with the runs that it handed tasks to; and of a session.

use std::collections::BTreeSet;

use serde::Serialize;
use windlass_core::event::{Adjusted, DelegationFinished, DelegationStarted, TurnFailed};
use windlass_core::model::{FailureKind, ModelChoice, Prices, Purpose, Usage};
use windlass_core::{CallId, Event, Fact, RunId, SessionId, Text};
use windlass_store::{Log, Store};

use super::sessions::session_runs;
use crate::error::Error;
use crate::load::is_known;
use crate::load::pages::{RunPages, numbered};
use crate::timeline::OpenCalls;

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

    fn of(calls: u64, usage: Usage, cost: Option<u64>) -> Self {
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
    /// The tasks whose runs are not in this log (remote agents, pruned runs): only their sums are known.
    pub elsewhere: Vec<TaskCost>,
}

impl RunCosts {
    /// Its own model calls together.
    pub fn own(&self) -> Cost {
        self.calls.iter().fold(Cost::default(), |sum, call| sum.plus(&call.cost()))
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
        let mut reading = Reading::new(run, depth);
        reading.read(log).await?;
        let Reading { mut costs, tasks, .. } = reading;
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

/// The reading of one run.
struct Reading {
    costs: RunCosts,
    tasks: Vec<TaskCost>,
    models: Vec<(Text, Option<Prices>)>,
    open: OpenCalls,
}

impl Reading {
    fn new(run: RunId, depth: usize) -> Self {
        let costs = RunCosts { run, agent: "".into(), depth, calls: Vec::new(), elsewhere: Vec::new() };
        Self { costs, tasks: Vec::new(), models: Vec::new(), open: OpenCalls::default() }
    }

    async fn read(&mut self, log: &dyn Log) -> Result<(), Error> {
        let run = self.costs.run;
        let mut pages = RunPages::new(log, run);
        while let Some(batches) = pages.next().await? {
            batches.iter().flat_map(numbered).for_each(|(seq, event)| self.learn(seq, event));
        }
        Ok(())
    }

    fn learn(&mut self, seq: u64, event: &Event) {
        if let Fact::RunStarted(start) = &event.fact {
            self.costs.agent = start.agent.name.clone();
            self.know(&start.models);
        } else if let Fact::Adjusted(Adjusted { models: Some(models), .. }) = &event.fact {
            self.know(models);
        } else if let Fact::TurnStarted(turn) = &event.fact {
            self.open.asks(turn);
        } else if let Fact::TurnCompleted(turn) = &event.fact {
            let asked = self.open.close(turn.purpose, turn.about.as_ref());
            let call = self.ended(seq, turn.turn, (turn.purpose, asked), turn.usage);
            self.costs.calls.push(call);
        } else if let Fact::ProbeAnswered(probe) = &event.fact {
            let asked = self.open.close(probe.purpose, None);
            let call = self.ended(seq, probe.turn, (probe.purpose, asked), probe.usage);
            self.costs.calls.push(call);
        } else if let Fact::TurnHedged(turn) = &event.fact {
            self.open.hedged(turn);
        } else if let Fact::TurnFailed(turn) = &event.fact {
            self.failed(seq, turn);
        } else if let Fact::DelegationStarted(started) = &event.fact {
            self.hands_over(started);
        } else if let Fact::DelegationFinished(finished) = &event.fact {
            self.comes_back(finished);
        }
    }

    fn failed(&mut self, seq: u64, turn: &TurnFailed) {
        let (purpose, about) = (turn.purpose, turn.about.as_ref());
        let asked = match turn.beside {
            Some(goes_on) => self.open.one_failed(purpose, about, goes_on),
            None => self.open.close(purpose, about),
        };
        let call = self.ended(seq, turn.turn, (purpose, asked), turn.failure.usage);
        self.costs.calls.push(CallCost { failed: Some(turn.failure.kind), ..call });
    }

    fn know(&mut self, models: &[ModelChoice]) {
        self.models = models.iter().map(|model| (model.name.clone(), model.prices)).collect();
    }

    /// The cost of a call at the prices of the model that was asked, as the fold counts it.
    fn ended(&self, seq: u64, turn: u32, call: (Purpose, Option<u32>), usage: Usage) -> CallCost {
        let (purpose, asked) = call;
        let (model, prices) =
            self.models.get(asked.unwrap_or(0) as usize).cloned().unwrap_or_else(|| ("".into(), None));
        let free = (usage.total() == 0).then_some(0);
        let pico_usd = Prices::cost_of(prices, &usage).or(free);
        CallCost { seq, turn, purpose, model, usage, pico_usd, failed: None }
    }

    fn hands_over(&mut self, started: &DelegationStarted) {
        if !self.tasks.iter().any(|task| task.run == started.run) {
            let (call, agent, run) = (started.call.clone(), started.agent.clone(), started.run);
            self.tasks.push(TaskCost { call, agent, run, returned: Cost::default() });
        }
    }

    fn comes_back(&mut self, finished: &DelegationFinished) {
        if let Some(task) = self.tasks.iter_mut().rev().find(|task| task.call == finished.call) {
            let free = (finished.usage.total() == 0).then_some(0);
            task.returned = Cost::of(0, finished.usage, finished.cost.or(free));
        }
    }
}
