//! `windlass runs list`.

use clap::Args;
use windlass_core::SessionId;
use windlass_read::ListPages;
use windlass_read::json;
use windlass_store::{RunFilter, RunStatus, RunSummary, Store};

use super::find::newest;
use super::listed;
use super::since::{Moment, moment};
use crate::agents::now;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::remote::Reach;
use crate::session::near as near_session;
use crate::view::table::left_out;

/// The number up to which runs beyond the list are counted.
const COUNTED: usize = 1_000;
/// The statuses of runs.
const STATUSES: [&str; 9] = [
    "running",
    "interrupted",
    "suspended",
    "answered",
    "concluded",
    "clarification",
    "limit",
    "cancelled",
    "failed",
];

const HELP: &str = "\
Runs are listed newest first. The runs that a run started stand below it, oldest first. \
RUN is the end of the run's id, long enough to denote one run of the log; every command takes it.

  running      a process drives the run
  interrupted  the process that drove it has died: `windlass runs resume RUN` goes on
  suspended    it waits for an answer or a time: `windlass runs show RUN` says which
  waiting (at a terminal)  its process has asked a question there; the input's column has the question

TOOK is the time from a run's start to its end, waits included. Of an interrupted run only the time to its last event is known: `over`. \
COST is that of its own model calls.

Examples:
  windlass runs list --status suspended
  windlass runs list --since 12h
  windlass runs list --agent lead --limit 5";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ListArgs {
    /// Only runs of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only runs of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only runs with this status
    #[arg(long, value_name = "STATUS", value_parser = STATUSES)]
    status: Option<String>,
    /// Only runs begun since then: an age, such as 30m, 12h or 7d, or a day or time, such as 2026-11-26 or "2026-11-26 15:30"
    #[arg(long, value_name = "AGE|TIME", value_parser = moment)]
    since: Option<Moment>,
    /// Maximum number of runs, not counting those that stand below another run
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// One JSON object for each run, with its whole id; `--limit` counts all runs
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: ListArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let log_words = log_args.words();
    let log = Reach::of(log_args)?.store();
    let wanted = Wanted::of(&args);
    let runs = match &log {
        Some(log) => wanted.newest(&**log, args.limit).await?,
        None => Vec::new(),
    };
    if args.json {
        runs.iter().try_for_each(|line| out::json(&json::summary(line)))?;
    } else if let Some(log) = log.as_ref().filter(|_| !runs.is_empty()) {
        out::rows(&listed::table(&**log, &runs).await?)?;
        let listed = runs.iter().filter(|line| wanted.counts(line)).count();
        if out::stdout_is_terminal() && listed >= args.limit as usize {
            left_out(listed, wanted.count(&**log).await?, COUNTED);
        }
        if let Some(line) = runs.iter().find(|line| line.parent.is_none() && line.is_interrupted()) {
            let run = line.run;
            out::note(format_args!("`windlass runs resume{log_words} {run}` continues an interrupted run"));
        }
    } else {
        out::empty(&none(&args, log_args, log.as_deref()).await?);
    }
    Ok(Exit::Good)
}

/// Why there is nothing to list, and what to type.
async fn none(args: &ListArgs, log_args: &LogArgs, log: Option<&dyn Store>) -> Result<String, Failure> {
    let Some(log) = log else { return Ok(log_args.no_runs()) };
    if newest(log).await?.is_none() {
        return Ok(log_args.no_runs());
    }
    let near = match &args.session {
        Some(session) => near_session(log, session).await?,
        None => None,
    };
    Ok(match near {
        Some(near) => format!("no runs; did you mean session `{near}`?"),
        None => format!("no such runs; `windlass runs list{}` lists all", log_args.words()),
    })
}

/// The runs that the options ask for.
struct Wanted<'a> {
    filter: RunFilter,
    status: Option<&'a str>,
    /// Whether each run counts, and not only those that stand below no other run.
    counts_all: bool,
}

impl<'a> Wanted<'a> {
    fn of(args: &'a ListArgs) -> Self {
        let filter = RunFilter {
            session: args.session.as_deref().map(SessionId::from),
            agent: args.agent.as_deref().map(Into::into),
            // A log calls both running: they differ in having a holder.
            status: args.status.as_deref().map(stored),
            since: args.since.map(|since| since.at(now())),
            ..RunFilter::default()
        };
        // A filter may let children through without their parents, so each run counts.
        let filtered =
            args.session.is_some() || args.agent.is_some() || args.status.is_some() || args.since.is_some();
        Self { filter, status: args.status.as_deref(), counts_all: args.json || filtered }
    }

    fn fits(&self, line: &RunSummary) -> bool {
        match self.status {
            Some("running") => line.holder.is_some(),
            Some("interrupted") => line.holder.is_none(),
            Some(_) | None => true,
        }
    }

    fn counts(&self, line: &RunSummary) -> bool {
        self.counts_all || line.parent.is_none()
    }

    /// The runs to list, newest first.
    async fn newest(&self, log: &dyn Store, limit: u32) -> Result<Vec<RunSummary>, Failure> {
        newest_of(log, self.filter.clone(), limit, |line| self.fits(line), |line| self.counts(line)).await
    }

    /// The number of runs that count, of a large log a number above [`COUNTED`].
    async fn count(&self, log: &dyn Store) -> Result<usize, Failure> {
        let mut found = 0;
        let mut pages = ListPages::new(log, self.filter.clone());
        while let Some(page) = pages.next().await? {
            found += page.iter().filter(|line| self.fits(line) && self.counts(line)).count();
            if found > COUNTED {
                break;
            }
        }
        Ok(found)
    }
}

/// The newest runs that fit: up to `limit` that count, and those between them.
pub(crate) async fn newest_of(
    log: &dyn Store,
    filter: RunFilter,
    limit: u32,
    fits: impl Fn(&RunSummary) -> bool,
    counts: impl Fn(&RunSummary) -> bool,
) -> Result<Vec<RunSummary>, Failure> {
    let mut left = limit;
    let mut runs = Vec::new();
    let mut pages = ListPages::new(log, filter);
    while let Some(page) = pages.next().await? {
        for line in page.into_iter().filter(&fits) {
            left -= u32::from(counts(&line));
            runs.push(line);
            if left == 0 {
                return Ok(runs);
            }
        }
    }
    Ok(runs)
}

/// The status in a log, which calls an interrupted run running.
pub(crate) fn stored(status: &str) -> RunStatus {
    RunStatus::from_name(status).unwrap_or(RunStatus::Running)
}
