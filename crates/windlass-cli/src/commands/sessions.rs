//! `windlass sessions`: conversations, and what happened in them in KAOS' words.

mod delete;
mod events;
mod stats;

use std::sync::Arc;

use clap::{Args, Subcommand};
use windlass_runtime::projections::{json, sessions};
use windlass_store::SqliteLog;

use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::view::words::{count, cut, name, time};

/// Maximum number of characters shown of the first input.
const TITLE_CHARS: usize = 60;

const HELP: &str = "\
Examples:
  windlass sessions list
  windlass sessions events trip
  windlass sessions events trip --json | jq -r .event_type
  windlass sessions stats
  windlass sessions delete --older-than 30d --dry-run";

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
    /// List conversations, most recent first
    List(ListArgs),
    /// Print the events of a conversation in order: messages, calls, results, delegations, answers
    Events(events::EventsArgs),
    /// Say how many conversations and events there are
    Stats(stats::StatsArgs),
    /// Delete conversations for good
    Delete(delete::DeleteArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Maximum number of sessions
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// Include sessions beyond their agent's `memory.max_sessions`: at that number, a listing leaves out the oldest tenth
    #[arg(long)]
    all: bool,
    /// One JSON object a session
    #[arg(long)]
    json: bool,
}

/// Carries out one of the commands.
pub(crate) async fn run(args: SessionsArgs) -> Result<Exit, Failure> {
    let log = args.log.open_existing()?;
    match args.command {
        SessionsCommand::List(list) => self::list(log, list).await,
        SessionsCommand::Events(events) => events::run(events, log).await,
        SessionsCommand::Stats(stats) => stats::run(stats, log).await,
        SessionsCommand::Delete(delete) => delete::run(delete, log).await,
    }
}

/// The failure that there is no such session.
fn unknown(session: &str) -> Failure {
    Failure::new(Exit::Failed, format!("there is no session `{session}`"))
        .hint("`windlass sessions list --all` lists all sessions")
}

async fn list(log: Option<Arc<SqliteLog>>, args: ListArgs) -> Result<Exit, Failure> {
    let known = match log {
        Some(log) => sessions(&*log).await?,
        None => Vec::new(),
    };
    if known.is_empty() && !args.json {
        out::note("no sessions");
    }
    let dropped = known.iter().filter(|session| !session.held).count() as u64;
    let wanted = known.iter().filter(|session| args.all || session.held);
    for session in wanted.take(args.limit as usize) {
        if args.json {
            out::json(&json::session(session))?;
            continue;
        }
        out::line(format_args!(
            "{}  {}  {}  {}  {}",
            name(session.id.as_str()),
            time(session.newest.updated_at),
            count(session.runs as u64, "run"),
            name(&session.newest.agent),
            cut(&session.first.title, TITLE_CHARS)
        ))?;
    }
    if dropped > 0 && !args.all && !args.json {
        let dropped = count(dropped, "older session");
        out::note(format_args!("{dropped} beyond `memory.max_sessions`: `--all` lists them, too"));
    }
    Ok(Exit::Good)
}
