//! `windlass runs resume --all`: going on with everything that can.

use std::cell::Cell;
use std::sync::Arc;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use windlass_core::budget::LOST_ATTEMPTS;
use windlass_core::{RunId, RunState};
use windlass_read::words::{count, time};
use windlass_read::{ListPages, load};
use windlass_runtime::host::{Outcome, Report};
use windlass_runtime::{Error, Lost, Run, kept_files_of};
use windlass_store::{RunFilter, RunStatus, SqliteLog};

use crate::agents::{self, Again, changed, now};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::out::{self, Stream};
use crate::view::ViewArgs;

/// Resumes all due runs without a holder, several at once, and names the holders of the others.
pub(super) async fn run(
    log_args: &LogArgs,
    view: ViewArgs,
    wait: bool,
    mut signals: Interrupts,
) -> Result<Exit, Failure> {
    view.calm();
    let Some(log) = log_args.open_existing()? else {
        out::empty(&log_args.no_runs());
        return Ok(Exit::Good);
    };
    if wait && !view.json && !view.quiet {
        waiting(&log).await?;
    }
    let host = if wait { agents::supervisor(&log) } else { agents::host(&log) };
    let mut sums = Sums { log: log.clone(), words: log_args.words(), view, resumed: 0, failed: 0 };
    sums.left_alone().await?;
    let leave = CancellationToken::new();
    let (first, failed) = (Cell::new(None), Cell::new(None));
    let stop = async {
        first.set(Some(signals.next().await));
        leave.cancel();
        signals.next().await
    };
    let (sender, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let work = async {
        // The reports end with it.
        let sender = sender;
        let send = |report| {
            let _sent = sender.send(report);
            Ok::<_, Error>(())
        };
        if wait { host.supervise(&leave, send).await } else { host.take_up_due(&leave, send).await }
    };
    let show = async {
        while let Some(report) = reports.recv().await {
            if let Err(failure) = sums.show(report).await {
                failed.set(Some(failure));
                leave.cancel();
                break;
            }
        }
    };
    tokio::select! {
        biased;
        again = stop => return Err(again.failure()),
        (done, ()) = futures_util::future::join(work, show) => done?,
    }
    if let Some(failure) = failed.take() {
        return Err(failure);
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
    log: Arc<SqliteLog>,
    /// The log's arguments in suggested commands.
    words: String,
    view: ViewArgs,
    resumed: u64,
    failed: u64,
}

impl Sums {
    /// Says which due runs are others' to go on with: their holders', and their parents'.
    async fn left_alone(&mut self) -> Result<(), Failure> {
        let log = self.log.clone();
        let mut pages = ListPages::new(&*log, RunFilter { due: Some(now()), ..RunFilter::default() });
        while let Some(page) = pages.next().await? {
            for line in &page {
                if let Some(holder) = &line.holder {
                    self.print(line.run, &format!("held by {}", holder.0), None)?;
                } else if let Some(parent) = line.parent {
                    self.print(line.run, &format!("is resumed with its parent run {parent}"), None)?;
                }
            }
        }
        Ok(())
    }

    async fn show(&mut self, report: Report) -> Result<(), Failure> {
        let Report { run, outcome } = report;
        match outcome {
            Outcome::Driven(driven) => {
                self.resumed += 1;
                self.print(run, &run_state(&driven), Some(Printed::Resumed))
            }
            Outcome::GivenUp(lost) => {
                let words = format!("passed over: {}", lost_words(run, lost));
                self.print(run, &words, Some(Printed::GivenUp(lost)))
            }
            Outcome::Failed(error) => {
                self.failed += 1;
                let failure = self.failure(run, error).await?;
                self.print(run, "not resumed", Some(Printed::Failed(failure)))
            }
        }
    }

    /// The failure, with the command that goes on with another agent where that helps.
    async fn failure(&self, run: RunId, error: Error) -> Result<Failure, Failure> {
        if !matches!(error, Error::AgentChanged { .. } | Error::UnknownAgent { .. }) {
            return Ok(error.into());
        }
        let again = Again::new(format!("windlass runs resume{} {run}", self.words));
        let state = load(&*self.log, run).await?;
        Ok(match kept_files_of(&*self.log, &state).await? {
            Some(kept) => changed(error, &agents::file_of(&kept), &again),
            None => agents::unknown(&state, &again),
        })
    }

    fn print(&self, run: RunId, status: &str, outcome: Option<Printed>) -> Result<(), Failure> {
        // Runs go on whether or not anybody reads what became of them.
        if !out::has_room(Stream::Out) || !out::has_room(Stream::Err) {
            out::left_out();
            return Ok(());
        }
        if self.view.json {
            let failure = if let Some(Printed::Failed(failure)) = &outcome { Some(failure) } else { None };
            let mut line = json!({
                "type": "resumed",
                "run": run,
                "resumed": matches!(outcome, Some(Printed::Resumed)),
                "status": status,
                "failure": failure.map(Failure::json),
            });
            if let (Some(Printed::GivenUp(lost)), Some(line)) = (&outcome, line.as_object_mut()) {
                line.insert("lost_attempts".to_owned(), lost.attempts.into());
                line.insert("lost_in".to_owned(), json!(lost.run));
            }
            return Ok(out::json(&line)?);
        }
        out::line(format_args!("{run}  {status}"))?;
        match outcome {
            Some(Printed::GivenUp(_)) => {
                out::note(format_args!("`windlass runs resume {run}` allows {LOST_ATTEMPTS} more attempts"));
            }
            Some(Printed::Failed(failure)) => failure.show(),
            Some(Printed::Resumed) | None => {}
        }
        Ok(())
    }
}

/// The outcome for a due run, as it is printed.
enum Printed {
    Resumed,
    GivenUp(Lost),
    Failed(Failure),
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
