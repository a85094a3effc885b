//! `windlass runs prune`.

use clap::Args;
use windlass_read::json;
use windlass_read::words::count;
use windlass_runtime::holding_messages;
use windlass_store::{Index, Prunable, Prune, Pruned, Pruning, SqliteLog};

use super::list::stored;
use super::listed;
use super::since::age;
use crate::agents::now;
use crate::consent::{Doomed, delete};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;

/// The statuses that runs can be chosen by. A run with a live process is never deleted.
pub(crate) const STATUSES: [&str; 8] =
    ["answered", "concluded", "clarification", "limit", "cancelled", "failed", "suspended", "interrupted"];
const HELP: &str = "\
Deletes the runs of a given age, status or both, and the long results that no remaining run refers to. \
Interrupted and suspended runs are deleted only if `--status` names them. A run stays while a process drives it, or while \
a run that stays is based on it or was started by it, or while it holds a message (`while_running`) that no run has answered.

Deleted runs cannot be restored. At a terminal, the command lists them and asks; elsewhere it needs `--yes`. \
The file does not shrink; its free room is used again.

Examples:
  windlass runs prune --older-than 30d --dry-run
  windlass runs prune --older-than 12h --status failed --status cancelled
  windlass runs prune --older-than 90d --status suspended --yes";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct PruneArgs {
    /// Only runs whose last event is at least this old: a number with s, m, h, d or w
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<u64>,
    /// Only runs with this status (may be repeated) [default: all runs that have ended]
    #[arg(long = "status", value_name = "STATUS", value_parser = STATUSES)]
    statuses: Vec<String>,
    /// Only list the runs that would be deleted
    #[arg(long)]
    dry_run: bool,
    /// Delete without a question
    #[arg(short, long, conflicts_with = "dry_run")]
    yes: bool,
    /// One JSON object for each deleted run, then one with the sums
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: PruneArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    if args.older_than.is_none() && args.statuses.is_empty() && !args.dry_run {
        let what =
            "`runs prune` needs an age or a status: without one, it would delete every run that has ended";
        return Err(Failure::new(Exit::Usage, what)
            .hint("nothing was deleted; add `--older-than 30d`, `--status failed` or both"));
    }
    let Some(log) = log_args.open_existing()? else {
        return report(&Pruned::default(), 0, &args);
    };
    let now = now();
    let mut prune = Prune {
        // A run that ends while the user is asked was not listed, so it stays.
        before: Some(args.older_than.map_or(now + 1, |age| now.saturating_sub(age))),
        statuses: args.statuses.iter().map(|status| stored(status)).collect(),
        ..Prune::default()
    };
    // Somebody waits for an answer to what they hold.
    prune.keep = holding_messages(&*log, &log.prunable(prune.clone()).await?.runs).await?;
    let held = prune.keep.len() as u64;
    if args.dry_run || !args.yes {
        let Prunable { runs, kept } = log.prunable(prune.clone()).await?;
        let found = Pruned { runs, kept, ..Pruned::default() };
        if args.dry_run && args.json {
            return report(&found, held, &args);
        }
        let lines = lines(&log, &found).await?;
        if args.dry_run {
            lines.iter().try_for_each(out::line)?;
            return report(&found, held, &args);
        }
        let doomed = Doomed { what: count(found.runs.len() as u64, "run"), lines };
        if !doomed.consent().await? {
            return Ok(Exit::Failed);
        }
    }
    report(&delete(&*log, prune).await?, held, &args)
}

/// The runs as `runs list` shows them.
async fn lines(log: &SqliteLog, found: &Pruned) -> Result<Vec<String>, Failure> {
    let mut runs = Vec::new();
    for run in &found.runs {
        runs.push(log.summary(*run).await?);
    }
    if runs.is_empty() { Ok(Vec::new()) } else { listed::table(log, &runs).await }
}

fn report(pruned: &Pruned, held: u64, args: &PruneArgs) -> Result<Exit, Failure> {
    if args.json {
        for line in json::pruned(pruned, args.dry_run) {
            out::json(&line)?;
        }
    } else {
        in_words(pruned, held, args.dry_run);
    }
    Ok(Exit::Good)
}

/// `held`: the number of kept runs that hold messages.
fn in_words(pruned: &Pruned, held: u64, dry_run: bool) {
    let runs = count(pruned.runs.len() as u64, "run");
    let done = if dry_run { "would be deleted" } else { "deleted" };
    out::note(format_args!("{runs} {done}"));
    if pruned.payloads.payloads > 0 {
        let payloads = count(pruned.payloads.payloads, "stored result");
        out::note(format_args!("{payloads} deleted, {} bytes", pruned.payloads.bytes));
    }
    if held > 0 {
        let kept = count(held, "run");
        out::note(format_args!("{kept} kept: a message to the session waits there for its run"));
    }
    if let Some(kept @ 1..) = pruned.kept.checked_sub(held) {
        let kept = count(kept, "run");
        out::note(format_args!("{kept} kept: remaining runs are based on them or were started by them"));
    }
}

#[cfg(test)]
mod tests;
