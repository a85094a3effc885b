//! `windlass runs resume --all`: going on with everything that can.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_core::budget::LOST_ATTEMPTS;
use windlass_core::{RunId, RunState, State};
use windlass_read::ListPages;
use windlass_read::words::{count, time};
use windlass_runtime::supervisor::{AgentSource, Outcome, Report, Supervisor};
use windlass_runtime::{Agent, Error, Lost, Run};
use windlass_store::{RunFilter, RunStatus, SqliteLog};

use crate::agents::{self, Again, Wanted, changed};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::out::{self, Stream};
use crate::view::ViewArgs;

/// The agents of runs: each file is read, and its tool servers are started, once.
struct Agents {
    log: Arc<SqliteLog>,
    /// The log's arguments in suggested commands.
    words: String,
    interrupts: Interrupts,
    known: BTreeMap<String, Agent>,
}

/// Resumes all due runs without a holder, several at once, and names the holders of the others.
pub(super) async fn run(
    log_args: &LogArgs,
    view: ViewArgs,
    wait: bool,
    interrupts: Interrupts,
) -> Result<Exit, Failure> {
    view.calm();
    let Some(log) = log_args.open_existing()? else {
        out::note("no runs");
        return Ok(Exit::Good);
    };
    if wait && !view.json && !view.quiet {
        waiting(&log).await?;
    }
    let agents = Agents { log: log.clone(), words: log_args.words(), interrupts, known: BTreeMap::new() };
    let mut supervisor = Supervisor::new(log, agents);
    let mut sums = Sums { view, resumed: 0, failed: 0 };
    let (mut signals, leave) = (Interrupts::listen()?, CancellationToken::new());
    let first = Cell::new(None);
    let stop = async {
        first.set(Some(signals.next().await));
        leave.cancel();
        signals.next().await
    };
    let show = |report| sums.show(report);
    let work = async {
        if wait { supervisor.watch(&leave, show).await } else { supervisor.pass(&leave, show).await }
    };
    tokio::select! {
        biased;
        again = stop => return Err(again.failure()),
        done = work => done?,
    }
    if let Some(interrupt) = first.get() {
        return Err(interrupt.failure());
    }
    if !view.json && !view.quiet {
        out::note(format_args!("{} resumed", count(sums.resumed, "run")));
    }
    Ok(if sums.failed == 0 { Exit::Good } else { Exit::Failed })
}

/// Says what is waited for.
async fn waiting(log: &SqliteLog) -> Result<(), Failure> {
    let (mut answers, mut timers) = (0, 0);
    let filter = RunFilter { status: Some(RunStatus::Suspended), ..RunFilter::default() };
    let mut pages = ListPages::new(log, filter);
    while let Some(page) = pages.next().await? {
        for line in page.iter().filter(|line| line.parent.is_none()) {
            *(if line.wake_at.is_some() { &mut timers } else { &mut answers }) += 1;
        }
    }
    let (answers, timers) = (count(answers, "suspended run"), count(timers, "run"));
    out::note(format_args!(
        "waiting for answers to {answers}, for the time of {timers}, and for runs of dead processes"
    ));
    out::note("runs are resumed here as they become due; Ctrl-C stops");
    Ok(())
}

/// Counts of the reports so far.
struct Sums {
    view: ViewArgs,
    resumed: u64,
    failed: u64,
}

impl Sums {
    fn show(&mut self, report: Report<Failure>) -> Result<(), Failure> {
        let Report { run, outcome } = report;
        let status = match &outcome {
            Outcome::Driven(run) => run_state(run),
            Outcome::Held { holder } => format!("held by {holder}"),
            Outcome::Child { parent } => format!("is resumed with its parent run {parent}"),
            Outcome::GivenUp(lost) => format!("passed over: {}", lost_words(run, *lost)),
            Outcome::Failed(_) => "not resumed".to_owned(),
        };
        let failure = if let Outcome::Failed(failure) = &outcome { Some(failure) } else { None };
        let resumed = matches!(outcome, Outcome::Driven(_));
        self.resumed += u64::from(resumed);
        self.failed += u64::from(failure.is_some());
        // Runs go on whether or not anybody reads what became of them.
        if !out::has_room(Stream::Out) || !out::has_room(Stream::Err) {
            out::left_out();
            return Ok(());
        }
        if self.view.json {
            let mut line = json!({
                "type": "resumed",
                "run": run,
                "resumed": resumed,
                "status": status,
                "failure": failure.map(Failure::json),
            });
            if let (Outcome::GivenUp(lost), Some(line)) = (&outcome, line.as_object_mut()) {
                line.insert("lost_attempts".to_owned(), lost.attempts.into());
                line.insert("lost_in".to_owned(), json!(lost.run));
            }
            return Ok(out::json(&line)?);
        }
        out::line(format_args!("{run}  {status}"))?;
        if matches!(outcome, Outcome::GivenUp(_)) {
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

fn run_state(run: &Run) -> String {
    match run.run_state() {
        RunState::Running => "left".to_owned(),
        RunState::Suspended if let Some(wait) = run.state().quota_wait() => {
            format!("suspended until {}", time(wait.until))
        }
        RunState::Suspended => format!("suspended: {}", count(run.questions().len() as u64, "question")),
        RunState::Ended(status) => status.to_string(),
    }
}

impl AgentSource for Agents {
    type Error = Failure;

    async fn agent_of(&mut self, state: &State) -> Result<Agent, Failure> {
        let models = agents::models(&*self.log, state.run()).await?;
        let agent = state.agent().map(|agent| format!("{} {}", agent.name, agent.digest));
        let key = format!("{} {}", agent.unwrap_or_default(), models.join(" "));
        if let Some(agent) = self.known.get(&key) {
            return Ok(agent.clone());
        }
        let run = state.run();
        let again = Again::new(format!("windlass runs resume{} {run}", self.words));
        let wanted = Wanted { with: None, agents: &[], replaces: false, again };
        let found = agents::of_run(state, &wanted, (&self.log, None), &mut self.interrupts).await?;
        // The supervisor does not know the file's name.
        if let Err(error @ Error::AgentChanged { .. }) = found.resume(run).check().await {
            return Err(changed(error, &found.path, &wanted.again));
        }
        self.known.insert(key, found.agent.clone());
        Ok(found.agent)
    }
}
