//! `windlass runs prune`.

use clap::Args;
use windlass_runtime::projections::json;
use windlass_store::{Prune, Pruned, Pruning};

use crate::agents::now;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::view::words::count;

/// The standings that runs can be chosen by.
pub(crate) const RUN_STATES: [&str; 8] =
    ["answered", "concluded", "clarification", "limit", "cancelled", "failed", "suspended", "running"];
/// Units of an age, with their milliseconds.
const UNITS: [(&str, u64); 5] =
    [("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("w", 604_800_000)];

const HELP: &str = "\
Takes out every run that has ended, or those that are named, and the long results that nothing refers to any more.
A run that another one is based on or was started by goes only with it, and one that somebody drives never does.
Interrupted and waiting runs go only if they are named. What is taken out is gone: `--dry-run` shows it first.
The file does not shrink; its free room is used again.

Examples:
  windlass runs prune --older-than 30d --dry-run
  windlass runs prune --older-than 12h --status failed --status cancelled
  windlass runs prune --older-than 90d --status suspended";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct PruneArgs {
    /// Only runs whose last event is that old: a number with s, m, h, d or w
    #[arg(long, value_name = "AGE", value_parser = age)]
    older_than: Option<u64>,
    /// Only runs that stand so: answered, concluded, clarification, limit, cancelled, failed, suspended, running (may be
    /// repeated) [default: every run that has ended]
    #[arg(long = "status", value_name = "STATUS", value_parser = RUN_STATES)]
    statuses: Vec<String>,
    /// Only say what would go
    #[arg(long)]
    dry_run: bool,
    /// One JSON object a run that goes, then one with the sums
    #[arg(long)]
    json: bool,
}

/// Reads an age, such as `30d`, as milliseconds.
pub(crate) fn age(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is not an age: expected a number with s, m, h, d or w, such as 30d");
    let (unit, ms) = UNITS.into_iter().find(|(unit, _)| text.ends_with(unit)).ok_or_else(wrong)?;
    let number: u64 = text.strip_suffix(unit).unwrap_or_default().parse().map_err(|_| wrong())?;
    number.checked_mul(ms).ok_or_else(wrong)
}

pub(super) async fn run(args: PruneArgs, log: &LogArgs) -> Result<Exit, Failure> {
    let prune = Prune {
        before: args.older_than.map(|age| now().saturating_sub(age)),
        statuses: args.statuses.iter().map(|status| status.as_str().into()).collect(),
        ..Prune::default()
    };
    let pruned = match log.open_existing()? {
        None => Pruned::default(),
        Some(log) if args.dry_run => log.prunable(prune).await?,
        Some(log) => log.prune(prune).await?,
    };
    if args.json {
        for line in json::pruned(&pruned, args.dry_run) {
            out::json(&line)?;
        }
    } else {
        in_words(&pruned, args.dry_run)?;
    }
    Ok(Exit::Good)
}

fn in_words(pruned: &Pruned, dry_run: bool) -> std::io::Result<()> {
    if dry_run {
        for run in &pruned.runs {
            out::line(run)?;
        }
    }
    let runs = count(pruned.runs.len() as u64, "run");
    let done = if dry_run { "would go" } else { "taken out" };
    out::note(format_args!("{runs} {done}"));
    if pruned.payloads > 0 {
        let payloads = count(pruned.payloads, "stored result");
        out::note(format_args!("{payloads} taken out, {} bytes", pruned.payload_bytes));
    }
    if pruned.kept > 0 {
        let kept = count(pruned.kept, "run");
        out::note(format_args!("{kept} kept: remaining runs are based on them or were started by them"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
