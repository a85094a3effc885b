//! The log: its file, its references and payloads, and every run, folded from its first event.

use windlass_read::reports::damaged_runs;
use windlass_read::words::count;
use windlass_runtime::in_full;
use windlass_store::{Checked, SqliteLog, StoreError};

use super::{Finding, Level};
use crate::failure::hints::Hinted as _;
use crate::home::{LogArgs, quoted};

/// Maximum number of faults listed.
const NAMED: usize = 10;

/// Whether the log opens, whether its file is sound, and whether every run in it can be folded.
pub(super) async fn look(args: &LogArgs) -> Vec<Finding> {
    let what = "log";
    // Without a data folder there is no log to look at: that was said.
    let Ok(path) = args.path() else { return Vec::new() };
    let display_path = path.display().to_string();
    if !path.exists() {
        let level = if args.log.is_some() { Level::Problem } else { Level::Ok };
        let detail = if args.log.is_some() { "is not there" } else { "(created at the first run)" };
        let finding = Finding::new(level, what, format!("{display_path} {detail}"));
        let todo = format!("`windlass run FILE INPUT --log {}` makes it", quoted(&display_path));
        return vec![if level == Level::Problem { finding.todo(todo) } else { finding }];
    }
    let looked = match SqliteLog::open(&path) {
        Ok(log) => look_through(&log).await,
        Err(error) => Err(error),
    };
    match looked {
        Ok((checked, faults)) if faults.is_empty() => {
            vec![Finding::new(Level::Ok, what, format!("{display_path}: {}", sums(&checked)))]
        }
        Ok((_, faults)) => {
            let more = faults.len().saturating_sub(NAMED);
            let more = (more > 0).then(|| format!("and {more} more"));
            let todo = format!(
                "keep the file unchanged, and restore a copy that `windlass runs backup` made: `cp COPY {}`",
                quoted(&display_path)
            );
            let named = faults.into_iter().take(NAMED).chain(more);
            named.map(|fault| Finding::new(Level::Problem, what, fault).todo(&*todo)).collect()
        }
        Err(error) => vec![broken(&display_path, &error, error.hint())],
    }
}

/// Summary of the log's contents.
fn sums(checked: &Checked) -> String {
    let mut sums =
        vec![count(checked.runs, "run"), count(checked.events, "event"), count(checked.appends, "append")];
    if checked.payloads > 0 {
        sums.push(format!("{} of {} bytes", count(checked.payloads, "stored result"), checked.payload_bytes));
    }
    if checked.unnamed > 0 {
        sums.push(format!("{} that nothing refers to", checked.unnamed));
    }
    sums.push(format!("format {}", checked.format));
    sums.join(", ")
}

/// The file first, then every run.
async fn look_through(log: &SqliteLog) -> Result<(Checked, Vec<String>), StoreError> {
    let checked = log.check().await?;
    let mut faults = checked.faults.clone();
    let damaged = damaged_runs(log).await?;
    faults.extend(damaged.iter().map(|damaged| format!("run {}: {}", damaged.run, damaged.fault)));
    Ok((checked, faults))
}

fn broken(display_path: &str, error: &dyn std::error::Error, help: Option<String>) -> Finding {
    let full = in_full(error);
    // Most errors of a store name its file.
    let detail = if full.contains(display_path) { full } else { format!("{display_path}: {full}") };
    let finding = Finding::new(Level::Problem, "log", detail);
    match help {
        Some(help) => finding.todo(help),
        None => finding,
    }
}
