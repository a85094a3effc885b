//! `windlass sessions`: conversations, and what happened in them in KAOS' words.

mod costs;
mod delete;
mod events;
mod show;
mod stats;

use std::sync::Arc;

use clap::{Args, Subcommand};
use windlass_read::json;
use windlass_read::reports::{Session, sessions};
use windlass_read::words::{count, cut, name, time};
use windlass_store::Store;

use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::remote::{Reach, only_on_a_log};
use crate::session::is_unnamed;
use crate::view::table::{aligned, left_out};

/// Maximum number of characters shown of the first input.
const TITLE_CHARS: usize = 60;

const COLUMNS: usize = 6;
const HEAD: [&str; COLUMNS] = ["SESSION", "LAST", "RUNS", "STATUS", "AGENT", "FIRST INPUT"];

const HELP: &str = "\
Examples:
  windlass sessions list
  windlass sessions show trip
  windlass sessions events trip
  windlass sessions events trip --json | jq -r .event_type
  windlass sessions costs trip
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
    /// List conversations by name, most recent first
    List(ListArgs),
    /// Show a whole conversation: what was said and done in each of its runs
    Show(show::ShowArgs),
    /// Print the events of a conversation in order: messages, calls, results, delegations, answers
    Events(events::EventsArgs),
    /// List what each run of a conversation cost, with the sum
    Costs(costs::CostsArgs),
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
    /// Include single runs without a session name (`--json` always does), and sessions beyond their agent's
    /// `memory.max_sessions`: at that number, a listing leaves out the oldest tenth
    #[arg(long)]
    all: bool,
    /// One JSON object a session
    #[arg(long)]
    json: bool,
}

/// Carries out one of the commands.
pub(crate) async fn run(args: SessionsArgs) -> Result<Exit, Failure> {
    let SessionsArgs { command, log } = args;
    let reached = || Reach::of(&log).map(Reach::store);
    match command {
        SessionsCommand::List(list) => self::list(reached()?, list).await,
        SessionsCommand::Show(show) => show::run(show, reached()?).await,
        SessionsCommand::Events(events) => events::run(events, reached()?).await,
        SessionsCommand::Costs(costs) => costs::run(costs, reached()?).await,
        SessionsCommand::Stats(stats) => stats::run(stats, reached()?).await,
        SessionsCommand::Delete(_) if log.server().is_some() => Err(only_on_a_log("sessions delete")),
        SessionsCommand::Delete(delete) => delete::run(delete, log.open_existing()?).await,
    }
}

async fn list(log: Option<Arc<dyn Store>>, args: ListArgs) -> Result<Exit, Failure> {
    let known = match log {
        Some(log) => sessions(&*log).await?,
        None => Vec::new(),
    };
    let held = |session: &&Session| args.all || session.held;
    if args.json {
        let wanted = known.iter().filter(held).take(args.limit as usize);
        wanted.map(json::session).try_for_each(|session| out::json(&session))?;
        return Ok(Exit::Good);
    }
    let is_single = |session: &Session| session.runs == 1 && is_unnamed(&session.id);
    let wanted = known.iter().filter(held).filter(|session| args.all || !is_single(session));
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(wanted.clone().take(args.limit as usize).map(row));
    if rows.len() > 1 {
        out::rows(&aligned(&rows))?;
        if out::stdout_is_terminal() {
            left_out(rows.len() - 1, wanted.count(), usize::MAX);
        }
    } else {
        out::empty("no sessions; `windlass chat --session NAME` begins one");
    }
    if args.all {
        return Ok(Exit::Good);
    }
    let single = known.iter().filter(|session| session.held && is_single(session)).count() as u64;
    if single > 0 {
        out::note(format_args!("{} without a session name: `--all` lists them, too", count(single, "run")));
    }
    let dropped = known.iter().filter(|session| !session.held).count() as u64;
    if dropped > 0 {
        let dropped = count(dropped, "older session");
        out::note(format_args!("{dropped} beyond `memory.max_sessions`: `--all` lists them, too"));
    }
    Ok(Exit::Good)
}

fn row(session: &Session) -> [String; COLUMNS] {
    [
        name(session.id.as_str()),
        time(session.newest.updated_at),
        session.runs.to_string(),
        json::listed_state(&session.newest),
        name(&session.newest.agent),
        cut(&session.first.title, TITLE_CHARS),
    ]
}
