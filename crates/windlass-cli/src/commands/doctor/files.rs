//! The data folder and the log.

use std::path::Path;

use windlass_runtime::load;
use windlass_store::{EventLog as _, RunFilter, RunSummary, SqliteLog, StoreError};

use super::{Finding, Standing};
use crate::home::{self, LogArgs};
use crate::view::words::count;

/// How many runs are read in one go.
const PAGE: usize = 1_000;
/// How many broken runs are named.
const NAMED: usize = 10;

/// The data folder.
pub(super) fn home() -> Vec<Finding> {
    let what = "data folder";
    let folder = match home::folder() {
        Ok(folder) => folder,
        Err(failure) => {
            return vec![
                Finding::new(Standing::Problem, what, failure.message())
                    .todo("set WINDLASS_HOME to a folder"),
            ];
        }
    };
    let shown = folder.display().to_string();
    let todo = "make it writable for you, or set WINDLASS_HOME to another folder";
    vec![match writable(&folder) {
        Ok(true) => Finding::new(Standing::Ok, what, shown),
        Ok(false) => Finding::new(Standing::Ok, what, format!("{shown} (made when it is needed)")),
        Err(error) => Finding::new(Standing::Problem, what, format!("{shown}: {error}")).todo(todo),
    }]
}

/// Whether files can be made in the folder, or it can be made: `false`.
fn writable(folder: &Path) -> std::io::Result<bool> {
    if !folder.exists() {
        let parent = folder.ancestors().skip(1).find(|above| above.exists());
        return match parent {
            Some(parent) => rustix::fs::access(parent, rustix::fs::Access::WRITE_OK)
                .map(|()| false)
                .map_err(std::io::Error::from),
            None => Ok(false),
        };
    }
    let probe = folder.join(format!(".probe.{}", std::process::id()));
    std::fs::write(&probe, b"")?;
    std::fs::remove_file(probe)?;
    Ok(true)
}

/// The log: whether it opens, and whether every run in it can be folded.
pub(super) async fn log(args: &LogArgs) -> Vec<Finding> {
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
        Ok(log) => look(&log).await,
        Err(error) => Err(error),
    };
    match looked {
        Ok(Looked { runs, events, bad }) if bad.is_empty() => {
            let sums = format!("{shown}: {}, {}", count(runs, "run"), count(events, "event"));
            vec![Finding::new(Standing::Ok, what, sums)]
        }
        Ok(Looked { bad, .. }) => {
            let more = bad.len().saturating_sub(NAMED);
            let more = (more > 0).then(|| format!("and {more} more runs that cannot be read"));
            let named = bad.into_iter().take(NAMED).chain(more);
            named.map(|bad| Finding::new(Standing::Problem, what, bad)).collect()
        }
        Err(error) => vec![broken(&shown, &error, error.help())],
    }
}

/// What is in a log.
#[derive(Default)]
struct Looked {
    runs: u64,
    events: u64,
    /// What is wrong with runs that cannot be read.
    bad: Vec<String>,
}

/// Folds every run.
async fn look(log: &SqliteLog) -> Result<Looked, StoreError> {
    let mut looked = Looked::default();
    let mut before = None;
    loop {
        let page = log.list(RunFilter { limit: PAGE, before, ..RunFilter::default() }).await?;
        for RunSummary { run, version, .. } in &page {
            looked.runs += 1;
            looked.events += version;
            match load(log, *run).await {
                Ok(state) if state.version() == *version => {}
                Ok(state) => {
                    let found = state.version();
                    looked.bad.push(format!("run {run}: {found} events can be read, expected {version}"));
                }
                Err(error) => looked.bad.push(format!("run {run}: {}", chain(&error))),
            }
        }
        before = page.last().map(|last| last.run);
        if page.len() < PAGE {
            return Ok(looked);
        }
    }
}

fn broken(shown: &str, error: &dyn std::error::Error, help: Option<String>) -> Finding {
    let finding = Finding::new(Standing::Problem, "log", format!("{shown}: {}", chain(error)));
    match help {
        Some(help) => finding.todo(help),
        None => finding,
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
