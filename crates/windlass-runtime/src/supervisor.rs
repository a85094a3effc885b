//! The supervisor: resumes every due run of a log that has no driver.
//!
//! A run is due after the death of its process, once its answer has arrived, or once its timer has expired. The supervisor
//! skips child runs (their parents resume them), runs with a driver, and runs that are given up ([`given_up`]), and reports
//! each of them once.
//!
//! ```no_run
//! use std::sync::Arc;
//! use tokio_util::sync::CancellationToken;
//! use windlass_runtime::supervisor::{Outcome, Supervisor};
//! use windlass_runtime::{Agent, Error};
//!
//! /// Resumes what is due, now and each second from here on, until `stop` is cancelled.
//! async fn supervise(agents: Vec<Agent>, stop: CancellationToken) -> Result<(), Error> {
//!     let Some(log) = agents.first().map(|agent| agent.log().clone()) else { return Ok(()) };
//!     let mut supervisor = Supervisor::new(log, agents);
//!     supervisor
//!         .watch(&stop, |report| {
//!             if let Outcome::Failed(error) = report.outcome {
//!                 eprintln!("run {}: {error}", report.run);
//!             }
//!             Ok(())
//!         })
//!         .await
//! }
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use tokio_util::sync::CancellationToken;
use windlass_core::event::Millis;
use windlass_core::{RunId, State, Text};
use windlass_read::ListPages;
use windlass_read::load;
use windlass_store::{RunFilter, RunSummary, Store, StoreError};

use crate::agent::Agent;
use crate::environment::{Environment, SystemEnvironment};
use crate::error::Error;
use crate::lost::{Lost, given_up};
use crate::run::Run;

/// The number of runs that are driven at once.
pub const AT_ONCE: usize = 16;
/// The rest between two passes, in milliseconds. A pass over a log without due runs is one query of an index.
pub const REST_MS: Millis = 1_000;

/// Finds the agent of a run.
pub trait AgentSource {
    /// The error if there is none.
    type Error: From<Error>;

    /// The agent that resumes a run in that state.
    fn agent_of(&mut self, state: &State) -> impl Future<Output = Result<Agent, Self::Error>>;
}

/// The agents of a program, found by name. A run whose agent has changed since is reported as failed.
impl AgentSource for Vec<Agent> {
    type Error = Error;

    async fn agent_of(&mut self, state: &State) -> Result<Agent, Error> {
        let name = state.agent().map(|agent| &agent.name);
        let found = self.iter().find(|agent| Some(agent.name()) == name).cloned();
        let name = name.cloned().unwrap_or_default();
        found.ok_or_else(|| Error::UnknownAgent { run: state.run(), agent: name })
    }
}

/// The supervisor's report on a run.
#[derive(Debug)]
pub struct Report<E> {
    /// The run.
    pub run: RunId,
    /// The outcome.
    pub outcome: Outcome<E>,
}

/// The outcome for a due run.
#[derive(Debug)]
pub enum Outcome<E> {
    /// It was driven: to its end, until it waits again, or until the supervisor was stopped.
    Driven(Box<Run>),
    /// The run has a live driver.
    Held {
        /// The name of the holder.
        holder: Text,
    },
    /// It is a child run: its parent resumes it.
    Child {
        /// The parent.
        parent: RunId,
    },
    /// Its model call was lost with its process too often: only a person resumes it ([`Resume::by_hand`](crate::Resume::by_hand)).
    GivenUp(Lost),
    /// It could not be resumed, and is not tried again as long as it is due.
    Failed(E),
}

/// The last report of a run that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Passed {
    Held(Text),
    Child,
    /// The version of the run.
    GivenUp(Lost, u64),
    Failed,
}

/// Resumes what is due.
#[derive(Debug)]
pub struct Supervisor<S> {
    log: Arc<dyn Store>,
    agents: S,
    environment: Arc<dyn Environment>,
    passed: BTreeMap<RunId, Passed>,
}

impl<S: AgentSource> Supervisor<S> {
    /// Supervises the runs of a log.
    pub fn new(log: Arc<dyn Store>, agents: S) -> Self {
        Self { log, agents, environment: Arc::new(SystemEnvironment), passed: BTreeMap::new() }
    }

    /// Replaces the clock.
    #[must_use]
    pub fn environment(mut self, environment: Arc<dyn Environment>) -> Self {
        self.environment = environment;
        self
    }

    /// Makes one pass after another, with a rest of [`REST_MS`], until `stop` is cancelled.
    ///
    /// # Errors
    /// As for [`pass`](Self::pass).
    pub async fn watch(
        &mut self,
        stop: &CancellationToken,
        mut report: impl FnMut(Report<S::Error>) -> Result<(), S::Error>,
    ) -> Result<(), S::Error> {
        loop {
            Box::pin(self.pass(stop, &mut report)).await?;
            if stop.is_cancelled() {
                return Ok(());
            }
            let rest = self.environment.sleep_until(self.environment.now().saturating_add(REST_MS));
            stop.run_until_cancelled(rest).await;
        }
    }

    /// Resumes every due run, [`AT_ONCE`] at a time, and reports each one. A skipped run is reported again only if the reason
    /// changes. Once `stop` is cancelled, no further run is resumed, and the driven ones are [laid
    /// down](crate::RunHandle::leave).
    ///
    /// # Errors
    /// The log failed, or `report` gave an error.
    pub async fn pass(
        &mut self,
        stop: &CancellationToken,
        mut report: impl FnMut(Report<S::Error>) -> Result<(), S::Error>,
    ) -> Result<(), S::Error> {
        let log = self.log.clone();
        let due = RunFilter { due: Some(self.environment.now()), ..RunFilter::default() };
        let mut pages = ListPages::new(&*log, due);
        let mut seen = BTreeSet::new();
        while let Some(page) = pages.next().await.map_err(Error::from)? {
            let mut ready = Vec::new();
            for line in &page {
                seen.insert(line.run);
                if self.is_settled(line) {
                    continue;
                }
                let found = self.agent_for(line).await;
                if stop.is_cancelled() {
                    return Ok(());
                }
                match found {
                    Ok(agent) => ready.push((line.run, agent)),
                    Err(outcome) => self.tell(line, outcome, &mut report)?,
                }
            }
            let versions: BTreeMap<_, _> = page.iter().map(|line| (line.run, line)).collect();
            let runs = stream::iter(ready).map(|(run, agent)| drive::<S::Error>(agent, run, stop));
            let mut driven = runs.buffer_unordered(AT_ONCE);
            while let Some(end) = driven.next().await {
                if let Some((run, outcome)) = end
                    && let Some(line) = versions.get(&run)
                {
                    self.tell(line, outcome, &mut report)?;
                }
            }
            if stop.is_cancelled() {
                return Ok(());
            }
        }
        // Runs that are no longer due are forgotten.
        self.passed.retain(|run, _| seen.contains(run));
        Ok(())
    }

    /// Whether nothing new can come of a run: it failed before, or is given up and has not changed since.
    fn is_settled(&self, line: &RunSummary) -> bool {
        match self.passed.get(&line.run) {
            Some(Passed::Failed) => true,
            Some(Passed::GivenUp(_, version)) => *version == line.version,
            Some(Passed::Held(_) | Passed::Child) | None => false,
        }
    }

    /// The agent that resumes a run, unless the run is passed over.
    async fn agent_for(&mut self, line: &RunSummary) -> Result<Agent, Outcome<S::Error>> {
        if let Some(holder) = &line.holder {
            return Err(Outcome::Held { holder: holder.0.clone() });
        }
        if let Some(parent) = line.parent {
            return Err(Outcome::Child { parent });
        }
        let failed = |error: Error| Outcome::Failed(error.into());
        let state = load(&*self.log, line.run).await.map_err(Error::from).map_err(failed)?;
        if let Some(lost) = given_up(&*self.log, &state).await.map_err(failed)? {
            return Err(Outcome::GivenUp(lost));
        }
        self.agents.agent_of(&state).await.map_err(Outcome::Failed)
    }

    fn tell(
        &mut self,
        line: &RunSummary,
        outcome: Outcome<S::Error>,
        report: &mut impl FnMut(Report<S::Error>) -> Result<(), S::Error>,
    ) -> Result<(), S::Error> {
        let passed = match &outcome {
            Outcome::Driven(_) => None,
            Outcome::Held { holder } => Some(Passed::Held(holder.clone())),
            Outcome::Child { .. } => Some(Passed::Child),
            Outcome::GivenUp(lost) => Some(Passed::GivenUp(*lost, line.version)),
            Outcome::Failed(_) => Some(Passed::Failed),
        };
        let before = match passed.clone() {
            Some(passed) => self.passed.insert(line.run, passed),
            None => self.passed.remove(&line.run),
        };
        if passed.is_some() && is_same(before.as_ref(), passed.as_ref()) {
            return Ok(());
        }
        report(Report { run: line.run, outcome })
    }
}

/// Whether two reports of a run say the same: a run that is given up may have grown since.
fn is_same(before: Option<&Passed>, now: Option<&Passed>) -> bool {
    match (before, now) {
        (Some(Passed::GivenUp(before, _)), Some(Passed::GivenUp(now, _))) => before == now,
        (before, now) => before == now,
    }
}

/// Drives one run; `None`: the supervisor was stopped before it began.
async fn drive<E: From<Error>>(
    agent: Agent,
    run: RunId,
    stop: &CancellationToken,
) -> Option<(RunId, Outcome<E>)> {
    if stop.is_cancelled() {
        return None;
    }
    let driven = async {
        let prepared = agent.resume(run).prepare().await?;
        let handle = prepared.handle();
        let mut driven = pin!(prepared.drive());
        if let Some(ended) = stop.run_until_cancelled(driven.as_mut()).await {
            return ended;
        }
        handle.leave();
        driven.await
    };
    let outcome = match driven.await {
        Ok(run) => Outcome::Driven(Box::new(run)),
        // Another process was faster.
        Err(Error::Log(StoreError::Held { holder, .. })) => Outcome::Held { holder: holder.into() },
        // Another process lost one more attempt meanwhile.
        Err(Error::LostAttempts { run, attempts }) => Outcome::GivenUp(Lost { run, attempts }),
        Err(error) => Outcome::Failed(error.into()),
    };
    Some((run, outcome))
}
