//! `windlass sessions`: conversations, and what happened in them in KAOS' words.

mod events;

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use windlass_core::SessionId;
use windlass_store::{EventLog as _, RunFilter, RunSummary, SqliteLog};

use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::view::words::{count, cut, time};

/// How many runs are looked through at most: a bound on the work of a listing.
const MOST_RUNS: usize = 100_000;
/// How many runs are read at once.
const PAGE: usize = 1_000;
/// How many sessions are listed at most (KAOS' limit).
const MOST_SESSIONS: usize = 1_000;
/// How many characters of the first input a line shows.
const TITLE_CHARS: usize = 60;

const HELP: &str = "\
Examples:
  windlass sessions list
  windlass sessions events trip
  windlass sessions events trip --json | jq -r .event_type";

/// The arguments of `windlass sessions`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    command: SessionsCommand,
    #[command(flatten)]
    log: LogArgs,
}

#[derive(Debug, Subcommand)]
enum SessionsCommand {
    /// List conversations, the one that went on last first
    List {
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
        limit: u32,
        /// One JSON object a session
        #[arg(long)]
        json: bool,
    },
    /// Print the events of a conversation in order: messages, calls, results, delegations, answers
    Events(events::EventsArgs),
}

/// Carries out one of the commands.
pub(crate) async fn run(args: SessionsArgs) -> Result<Exit, Failure> {
    let log = args.log.open_existing()?;
    match args.command {
        SessionsCommand::List { limit, json } => list(log, limit as usize, json).await,
        SessionsCommand::Events(events) => events::run(events, log).await,
    }
}

/// The runs of a session or of all, the newest first. Runs that do tasks of others belong to no session.
async fn runs(log: &SqliteLog, session: Option<&SessionId>) -> Result<Vec<RunSummary>, Failure> {
    let mut all: Vec<RunSummary> = Vec::new();
    while all.len() < MOST_RUNS {
        let filter = RunFilter {
            session: session.cloned(),
            before: all.last().map(|run| run.run),
            limit: PAGE,
            ..RunFilter::default()
        };
        let page = log.list(filter).await?;
        let last = page.len() < PAGE;
        all.extend(page);
        if last {
            break;
        }
    }
    Ok(all)
}

/// What is known of a session: its newest run, its first one, and how many it has.
struct Session {
    newest: RunSummary,
    first: RunSummary,
    runs: usize,
}

async fn list(log: Option<Arc<SqliteLog>>, limit: usize, as_json: bool) -> Result<Exit, Failure> {
    let all = match log {
        Some(log) => runs(&log, None).await?,
        None => Vec::new(),
    };
    let mut places: BTreeMap<SessionId, usize> = BTreeMap::new();
    let mut sessions: Vec<Session> = Vec::new();
    for run in all {
        let Some(id) = run.session.clone() else { continue };
        let known = places.get(&id).and_then(|place| sessions.get_mut(*place));
        if let Some(session) = known {
            session.runs += 1;
            session.first = run;
        } else if sessions.len() < MOST_SESSIONS {
            places.insert(id, sessions.len());
            sessions.push(Session { newest: run.clone(), first: run, runs: 1 });
        }
    }
    if sessions.is_empty() && !as_json {
        out::note("no sessions");
    }
    for session in sessions.iter().take(limit) {
        if as_json {
            out::json(&line(session))?;
            continue;
        }
        let id = session.newest.session.as_ref().map(SessionId::as_str).unwrap_or_default();
        out::line(format_args!(
            "{}  {}  {}  {}  {}",
            out::plain(id),
            time(session.newest.updated_at),
            count(session.runs as u64, "run"),
            out::plain(&session.newest.agent),
            cut(&session.first.title, TITLE_CHARS)
        ))?;
    }
    Ok(Exit::Good)
}

fn line(session: &Session) -> Value {
    json!({
        "type": "session",
        "session_id": session.newest.session,
        "agent": session.newest.agent,
        "runs": session.runs,
        "started_at": session.first.started_at,
        "updated_at": session.newest.updated_at,
        "last_run": session.newest.run,
        "title": session.first.title,
    })
}
