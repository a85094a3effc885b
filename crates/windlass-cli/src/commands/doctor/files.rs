//! The data folder and the log.

use std::path::Path;

use windlass_runtime::load;
use windlass_store::{EventLog as _, RunFilter, SqliteLog};

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
    let path = match args.path() {
        Ok(path) => path,
        Err(_) => return Vec::new(),
    };
    let shown = path.display().to_string();
    if !path.exists() {
        let standing = if args.log.is_some() { Standing::Problem } else { Standing::Ok };
        let detail = if args.log.is_some() { "is not there" } else { "(made at the first run)" };
        return vec![Finding::new(standing, what, format!("{shown} {detail}"))];
    }
    let log = match SqliteLog::open(&path) {
        Ok(log) => log,
        Err(error) => return vec![broken(&shown, &error, error.help())],
    };
    let (mut runs, mut events, mut bad) = (0_u64, 0, Vec::new());
    let mut before = None;
    loop {
        let page = match log.list(RunFilter { limit: PAGE, before, ..RunFilter::default() }).await {
            Ok(page) => page,
            Err(error) => return vec![broken(&shown, &error, error.help())],
        };
        for summary in &page {
            runs += 1;
            events += summary.version;
            match load(&log, summary.run).await {
                Ok(state) if state.version() == summary.version => {}
                Ok(state) => bad.push(format!(
                    "run {}: {} events can be read, expected {}",
                    summary.run,
                    state.version(),
                    summary.version
                )),
                Err(error) => bad.push(format!("run {}: {}", summary.run, chain(&error))),
            }
        }
        before = page.last().map(|last| last.run);
        if page.len() < PAGE {
            break;
        }
    }
    let sums = format!("{shown}: {}, {}", count(runs, "run"), count(events, "event"));
    if bad.is_empty() {
        return vec![Finding::new(Standing::Ok, what, sums)];
    }
    let more = bad.len().saturating_sub(NAMED);
    let mut findings: Vec<Finding> =
        bad.into_iter().take(NAMED).map(|bad| Finding::new(Standing::Problem, what, bad)).collect();
    if more > 0 {
        findings.push(Finding::new(
            Standing::Problem,
            what,
            format!("and {more} more runs that cannot be read"),
        ));
    }
    findings
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
