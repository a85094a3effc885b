//! `windlass runs resume --all`: going on with everything that can.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::json;
use windlass_core::{RunId, RunStanding, State};
use windlass_runtime::{Agent, DriveOptions, Error, Run, load};
use windlass_store::{EventLog as _, RunFilter, RunSummary, SqliteLog, StoreError};

use crate::agents::{self, now};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::out;
use crate::view::ViewArgs;
use crate::view::words::count;

/// How many runs are driven at once.
const AT_ONCE: usize = 16;
/// How many runs are listed in one go.
const PAGE: usize = 1_000;
/// How long `--wait` rests between two looks. A look is one query of an index.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// What is said of a run that could not be taken over.
const FAILED: &str = "not resumed";

/// What became of a run.
enum Became {
    /// It went on, to its end or until it waits again.
    Run(Box<Run>),
    /// Somebody alive drives it.
    Held(String),
    /// It goes on with the run that handed it its task.
    Child(RunId),
    /// It could not be taken over.
    Failed(Failure),
}

/// The agents of runs: each file is read, and its tool servers are started, once.
#[derive(Default)]
struct Agents {
    known: BTreeMap<String, Agent>,
}

/// Goes on with all runs that are due and that nobody holds, some at once, and says who holds the others.
pub(super) async fn run(
    log_args: &LogArgs,
    view: ViewArgs,
    wait: bool,
    mut interrupts: Interrupts,
) -> Result<Exit, Failure> {
    let Some(log) = log_args.open_existing()? else {
        out::note("no runs");
        return Ok(Exit::Good);
    };
    let (agents, said) = (Agents::default(), BTreeMap::new());
    let mut all = All { log, agents, view, said, resumed: 0, failed: 0 };
    let mut stop = Interrupts::listen()?;
    loop {
        stop.or(Box::pin(all.each(&mut interrupts))).await??;
        if !wait {
            break;
        }
        stop.or(tokio::time::sleep(LOOK_AGAIN)).await?;
    }
    if !view.json && !view.quiet {
        out::note(format_args!("{} resumed", count(all.resumed, "run")));
    }
    Ok(if all.failed == 0 { Exit::Good } else { Exit::Failed })
}

struct All {
    log: Arc<SqliteLog>,
    agents: Agents,
    view: ViewArgs,
    /// What was said last of each run that did not go on: it is not said again, and what failed is not tried again.
    said: BTreeMap<RunId, String>,
    resumed: u64,
    failed: u64,
}

impl All {
    async fn each(&mut self, interrupts: &mut Interrupts) -> Result<(), Failure> {
        let due = Some(now());
        let mut before = None;
        loop {
            let page = self.log.list(RunFilter { due, before, limit: PAGE, ..RunFilter::default() }).await?;
            let mut ready = Vec::new();
            for line in &page {
                if self.said.get(&line.run).is_some_and(|said| said == FAILED) {
                    continue;
                }
                match self.ready(line, interrupts).await {
                    Ok(agent) => ready.push((line.run, agent)),
                    Err(became) => self.show(line.run, &became)?,
                }
            }
            let mut ends =
                stream::iter(ready).map(|(run, agent)| go_on(agent, run)).buffer_unordered(AT_ONCE);
            while let Some((run, became)) = ends.next().await {
                self.show(run, &became)?;
            }
            before = page.last().map(|line| line.run);
            if page.len() < PAGE {
                return Ok(());
            }
        }
    }

    /// The agent that can go on with a run.
    async fn ready(&mut self, line: &RunSummary, interrupts: &mut Interrupts) -> Result<Agent, Became> {
        if let Some(holder) = &line.holder {
            return Err(Became::Held(holder.0.to_string()));
        }
        if let Some(parent) = line.parent {
            return Err(Became::Child(parent));
        }
        let state = load(&*self.log, line.run).await.map_err(|error| Became::Failed(error.into()))?;
        self.agents.of(&state, &self.log, interrupts).await.map_err(Became::Failed)
    }

    fn show(&mut self, run: RunId, became: &Became) -> std::io::Result<()> {
        let (status, failure) = match became {
            Became::Run(run) => (standing(run), None),
            Became::Held(holder) => (format!("held by {holder}"), None),
            Became::Child(parent) => (format!("goes on with run {parent}"), None),
            Became::Failed(failure) => (FAILED.to_owned(), Some(failure)),
        };
        if matches!(became, Became::Run(_)) {
            self.said.remove(&run);
        } else if self.said.insert(run, status.clone()).is_some_and(|before| before == status) {
            return Ok(());
        }
        self.resumed += u64::from(matches!(became, Became::Run(_)));
        self.failed += u64::from(failure.is_some());
        if self.view.json {
            let failure = failure.map(Failure::json);
            return out::json(&json!({
                "type": "resumed",
                "run": run,
                "resumed": matches!(became, Became::Run(_)),
                "status": status,
                "failure": failure,
            }));
        }
        out::line(format_args!("{run}  {status}"))?;
        if let Some(failure) = failure {
            failure.show();
        }
        Ok(())
    }
}

fn standing(run: &Run) -> String {
    match run.standing() {
        RunStanding::Running => "left".to_owned(),
        RunStanding::Suspended => format!("suspended: {}", count(run.questions().len() as u64, "question")),
        RunStanding::Ended(status) => status.to_string(),
    }
}

async fn go_on(agent: Agent, run: RunId) -> (RunId, Became) {
    let driven = async { agent.resume(run, false, DriveOptions::default()).await?.drive().await };
    let became = match driven.await {
        Ok(run) => Became::Run(Box::new(run)),
        // Somebody was faster.
        Err(Error::Log(StoreError::Held { holder, .. })) => Became::Held(holder),
        Err(error) => Became::Failed(error.into()),
    };
    (run, became)
}

impl Agents {
    async fn of(
        &mut self,
        state: &State,
        log: &Arc<SqliteLog>,
        interrupts: &mut Interrupts,
    ) -> Result<Agent, Failure> {
        let models = agents::models(&**log, state.run()).await?;
        let agent = state.agent().map(|agent| format!("{} {}", agent.name, agent.digest));
        let key = format!("{} {}", agent.unwrap_or_default(), models.join(" "));
        if let Some(agent) = self.known.get(&key) {
            return Ok(agent.clone());
        }
        let found = agents::of_run(state, None, log, interrupts).await?;
        self.known.insert(key, found.agent.clone());
        Ok(found.agent)
    }
}
