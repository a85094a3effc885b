//! `windlass runs resume --all`: going on with everything that can.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_core::{LOST_ATTEMPTS, RunId, RunState, State};
use windlass_runtime::{Agent, DriveOptions, Error, Lost, Run, given_up, load};
use windlass_store::{EventLog as _, RunFilter, RunSummary, SqliteLog, StoreError};

use crate::agents::{self, now};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::out::{self, Stream};
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
    /// Its model call was lost with its process too often: only a person lets it go on.
    GivenUp(Lost),
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
    let mut all = All { log, agents, view, said, passed: BTreeMap::new(), resumed: 0, failed: 0 };
    let (mut stop, leave) = (Interrupts::listen()?, CancellationToken::new());
    let first = Cell::new(None);
    let signals = async {
        first.set(Some(stop.next().await));
        leave.cancel();
        stop.next().await
    };
    let work = async {
        loop {
            Box::pin(all.each(&mut interrupts, &leave)).await?;
            if !wait || leave.is_cancelled() {
                return Ok::<_, Failure>(());
            }
            leave.run_until_cancelled(tokio::time::sleep(LOOK_AGAIN)).await;
        }
    };
    tokio::select! {
        biased;
        again = signals => return Err(again.failure()),
        done = work => done?,
    }
    if let Some(interrupt) = first.get() {
        return Err(interrupt.failure());
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
    /// Runs that were passed over because their model call was lost too often, at which version each.
    passed: BTreeMap<RunId, u64>,
    resumed: u64,
    failed: u64,
}

impl All {
    /// Goes on with what is due. Once the process is to end, nothing more is begun, and what goes on is laid down.
    async fn each(&mut self, interrupts: &mut Interrupts, leave: &CancellationToken) -> Result<(), Failure> {
        let due = Some(now());
        let mut before = None;
        loop {
            let page = self.log.list(RunFilter { due, before, limit: PAGE, ..RunFilter::default() }).await?;
            let mut ready = Vec::new();
            for line in &page {
                let failed = self.said.get(&line.run).is_some_and(|said| said == FAILED);
                if failed || self.passed.get(&line.run) == Some(&line.version) {
                    continue;
                }
                match self.ready(line, interrupts).await {
                    _ if leave.is_cancelled() => return Ok(()),
                    Ok(agent) => ready.push((line.run, agent)),
                    Err(became) => self.show(line.run, &became)?,
                }
            }
            let mut ends =
                stream::iter(ready).map(|(run, agent)| go_on(agent, run, leave)).buffer_unordered(AT_ONCE);
            while let Some(end) = ends.next().await {
                if let Some((run, became)) = end {
                    self.show(run, &became)?;
                }
            }
            if leave.is_cancelled() {
                return Ok(());
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
        let failed = |error: Error| Became::Failed(error.into());
        let state = load(&*self.log, line.run).await.map_err(failed)?;
        if let Some(lost) = given_up(&*self.log, &state).await.map_err(failed)? {
            self.passed.insert(line.run, line.version);
            return Err(Became::GivenUp(lost));
        }
        self.agents.of(&state, &self.log, interrupts).await.map_err(Became::Failed)
    }

    fn show(&mut self, run: RunId, became: &Became) -> std::io::Result<()> {
        let (status, failure) = match became {
            Became::Run(run) => (standing(run), None),
            Became::Held(holder) => (format!("held by {holder}"), None),
            Became::Child(parent) => (format!("goes on with run {parent}"), None),
            Became::GivenUp(lost) => (format!("passed over: {}", lost_words(run, *lost)), None),
            Became::Failed(failure) => (FAILED.to_owned(), Some(failure)),
        };
        if matches!(became, Became::Run(_)) {
            self.said.remove(&run);
        } else if self.said.insert(run, status.clone()).is_some_and(|before| before == status) {
            return Ok(());
        }
        self.resumed += u64::from(matches!(became, Became::Run(_)));
        self.failed += u64::from(failure.is_some());
        // Runs go on whether or not anybody reads what became of them.
        if !out::has_room(Stream::Out) || !out::has_room(Stream::Err) {
            out::left_out();
            return Ok(());
        }
        if self.view.json {
            let failure = failure.map(Failure::json);
            let mut line = json!({
                "type": "resumed",
                "run": run,
                "resumed": matches!(became, Became::Run(_)),
                "status": status,
                "failure": failure,
            });
            if let (Became::GivenUp(lost), Some(line)) = (became, line.as_object_mut()) {
                line.insert("lost_attempts".to_owned(), lost.attempts.into());
                line.insert("lost_in".to_owned(), json!(lost.run));
            }
            return out::json(&line);
        }
        out::line(format_args!("{run}  {status}"))?;
        if matches!(became, Became::GivenUp(_)) {
            out::note(format_args!("`windlass runs resume {run}` allows {LOST_ATTEMPTS} more attempts"));
        }
        if let Some(failure) = failure {
            failure.show();
        }
        Ok(())
    }
}

/// Why a run is passed over.
fn lost_words(run: RunId, lost: Lost) -> String {
    let of = if lost.run == run { String::new() } else { format!(" of run {}", lost.run) };
    format!("{} attempts at one model call{of} were lost with their processes", lost.attempts)
}

fn standing(run: &Run) -> String {
    match run.standing() {
        RunState::Running => "left".to_owned(),
        RunState::Suspended => format!("suspended: {}", count(run.questions().len() as u64, "question")),
        RunState::Ended(status) => status.to_string(),
    }
}

/// `None`: the process was to end before it began.
async fn go_on(agent: Agent, run: RunId, leave: &CancellationToken) -> Option<(RunId, Became)> {
    if leave.is_cancelled() {
        return None;
    }
    let driven = async {
        let prepared = agent.resume(run, false, DriveOptions::default()).await?;
        let handle = prepared.handle();
        let mut driven = pin!(prepared.drive());
        tokio::select! {
            biased;
            () = leave.cancelled() => handle.leave(),
            ended = &mut driven => return ended,
        }
        driven.await
    };
    let became = match driven.await {
        Ok(run) => Became::Run(Box::new(run)),
        // Somebody was faster.
        Err(Error::Log(StoreError::Held { holder, .. })) => Became::Held(holder),
        // Another process lost one more attempt meanwhile.
        Err(Error::LostAttempts { run, attempts }) => Became::GivenUp(Lost { run, attempts }),
        Err(error) => Became::Failed(error.into()),
    };
    Some((run, became))
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
