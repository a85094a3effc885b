//! Resolves the run that an argument denotes.

use std::sync::Arc;

use windlass_core::RunId;
use windlass_read::ListPages;
use windlass_store::{Index, RunFilter, SqliteLog, Store};

use super::short::denotes;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::remote::Reach;

/// The fewest hexadecimal digits that a part of an id must have.
const FEWEST_DIGITS: usize = 6;
/// Number of runs read at a time to find the last one.
const NEWEST: usize = 16;
/// Maximum number of matching runs listed.
const NAMED: usize = 5;

/// Finds the run in the log, or on the server, that the arguments name.
pub(crate) async fn open(args: &LogArgs, word: &str) -> Result<(Arc<dyn Store>, RunId), Failure> {
    let log = Reach::of(args)?.store().ok_or_else(|| args.missing())?;
    let run = run(&*log, word).await?;
    Ok((log, run))
}

/// The same, of a command that goes on with the run in this process.
pub(crate) async fn open_log(args: &LogArgs, word: &str) -> Result<(Arc<SqliteLog>, RunId), Failure> {
    let log = args.open_existing()?.ok_or_else(|| args.missing())?;
    let run = run(&*log, word).await?;
    Ok((log, run))
}

pub(crate) async fn run(log: &dyn Index, word: &str) -> Result<RunId, Failure> {
    if word == "last" {
        let newest = newest(log).await?;
        return newest.ok_or_else(|| {
            Failure::new(Exit::Failed, "there are no runs in this log")
                .hint("`windlass \"What is 17% of 2350?\"` makes the first one")
        });
    }
    if let Ok(run) = word.parse::<RunId>() {
        return Ok(log.summary(run).await?.run);
    }
    let digits: String = word.chars().filter(|char| *char != '-').collect::<String>().to_lowercase();
    if digits.len() < FEWEST_DIGITS || !digits.chars().all(|char| char.is_ascii_hexdigit()) {
        return Err(Failure::new(Exit::Usage, format!("`{word}` is not a run id"))
            .hint(format!("give an id, its first or last {FEWEST_DIGITS} digits or more, or `last`")));
    }
    part(log, word, &digits).await
}

/// The newest run that no other run has handed over: a child run is part of its root's work.
pub(super) async fn newest(log: &dyn Index) -> Result<Option<RunId>, Failure> {
    let mut pages = ListPages::new(log, RunFilter { limit: NEWEST, ..RunFilter::default() });
    while let Some(page) = pages.next().await? {
        if let Some(root) = page.iter().find(|line| line.parent.is_none()) {
            return Ok(Some(root.run));
        }
    }
    Ok(None)
}

/// The run whose id begins or ends with the digits.
async fn part(log: &dyn Index, word: &str, digits: &str) -> Result<RunId, Failure> {
    let mut fitting = Vec::new();
    let mut pages = ListPages::new(log, RunFilter::default());
    while let Some(page) = pages.next().await? {
        fitting.extend(page.iter().map(|line| line.run).filter(|run| denotes(digits, *run)));
    }
    match fitting.as_slice() {
        [run] => Ok(*run),
        [] => Err(Failure::new(Exit::Failed, format!("no run id begins or ends with `{word}`"))
            .hint("`windlass runs list` shows the runs of this log")),
        several => {
            let failure =
                Failure::new(Exit::Failed, format!("{} run ids begin or end with `{word}`", several.len()));
            let failure =
                several.iter().take(NAMED).fold(failure, |failure, run| failure.detail(run.to_string()));
            Err(failure.hint("give more digits"))
        }
    }
}
