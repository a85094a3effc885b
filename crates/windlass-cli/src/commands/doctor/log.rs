//! The log: its file, its references and payloads, and every run, folded from its first event.

use windlass_core::State;
use windlass_runtime::{in_full, load};
use windlass_store::{
    Checked, EventLog as _, RunFilter, RunSummary, SqliteLog, Standing as Stands, StoreError,
};

use super::{Finding, Standing};
use crate::home::LogArgs;
use crate::view::words::count;

/// How many runs are read in one go.
const PAGE: usize = 1_000;
/// How many faults are named.
const NAMED: usize = 10;

/// Whether the log opens, whether its file is sound, and whether every run in it can be folded.
pub(super) async fn look(args: &LogArgs) -> Vec<Finding> {
    let what = "log";
    // Without a data folder there is no log to look at: that was said.
    let Ok(path) = args.path() else { return Vec::new() };
    let shown = path.display().to_string();
    if !path.exists() {
        let standing = if args.log.is_some() { Standing::Problem } else { Standing::Ok };
        let detail = if args.log.is_some() { "is not there" } else { "(made at the first run)" };
        return vec![Finding::new(standing, what, format!("{shown} {detail}"))];
    }
    let looked = match SqliteLog::open(&path) {
        Ok(log) => look_through(&log).await,
        Err(error) => Err(error),
    };
    match looked {
        Ok((checked, faults)) if faults.is_empty() => {
            vec![Finding::new(Standing::Ok, what, format!("{shown}: {}", sums(&checked)))]
        }
        Ok((_, faults)) => {
            let more = faults.len().saturating_sub(NAMED);
            let more = (more > 0).then(|| format!("and {more} more"));
            let todo =
                "keep the file as it is; a backup (`windlass runs backup`) has what it had when it was made";
            let named = faults.into_iter().take(NAMED).chain(more);
            named.map(|fault| Finding::new(Standing::Problem, what, fault).todo(todo)).collect()
        }
        Err(error) => vec![broken(&shown, &error, error.help())],
    }
}

/// What is there, in numbers.
fn sums(checked: &Checked) -> String {
    let mut sums =
        vec![count(checked.runs, "run"), count(checked.events, "event"), count(checked.appends, "append")];
    if checked.payloads > 0 {
        sums.push(format!("{} of {} bytes", count(checked.payloads, "stored result"), checked.payload_bytes));
    }
    if checked.unnamed > 0 {
        sums.push(format!("{} that nothing refers to", checked.unnamed));
    }
    if checked.unhashed > 0 {
        let of = count(checked.unhashed, "append");
        sums.push(format!("{of} without a hash (of an earlier version)"));
    }
    sums.push(format!("format {}", checked.format));
    sums.join(", ")
}

/// The file first, then every run.
async fn look_through(log: &SqliteLog) -> Result<(Checked, Vec<String>), StoreError> {
    let checked = log.check().await?;
    let mut faults = checked.faults.clone();
    let mut before = None;
    loop {
        let page = log.list(RunFilter { limit: PAGE, before, ..RunFilter::default() }).await?;
        for summary in &page {
            let run = summary.run;
            match load(log, run).await {
                Ok(state) => {
                    faults.extend(unlike(summary, &state).map(|fault| format!("run {run}: {fault}")));
                }
                Err(error) => faults.push(format!("run {run}: {}", in_full(&error))),
            }
        }
        before = page.last().map(|last| last.number);
        if page.len() < PAGE {
            return Ok((checked, faults));
        }
    }
}

/// How the fold of a run differs from what the log's listing says of it.
fn unlike(summary: &RunSummary, state: &State) -> Option<String> {
    // A run that goes on has more events by now.
    let (found, expected) = (state.version(), summary.version);
    if found < expected {
        return Some(format!("{found} events can be read, expected {expected}"));
    }
    match (summary.standing, state.ended()) {
        (Stands::Ended(status), Some(end)) if end.status != status => {
            Some(format!("its events end with {}, listed as {status}", end.status))
        }
        (Stands::Ended(status), None) => Some(format!("its events do not end, listed as {status}")),
        (Stands::Running | Stands::Suspended, Some(end)) if found == expected => {
            Some(format!("its events end with {}, listed as {}", end.status, summary.standing.name()))
        }
        _ => None,
    }
}

fn broken(shown: &str, error: &dyn std::error::Error, help: Option<String>) -> Finding {
    let finding = Finding::new(Standing::Problem, "log", format!("{shown}: {}", in_full(error)));
    match help {
        Some(help) => finding.todo(help),
        None => finding,
    }
}
