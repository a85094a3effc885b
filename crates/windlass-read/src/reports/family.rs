//! A run with the runs below it: those that did its tasks, and theirs.

use std::collections::BTreeSet;

use windlass_core::RunId;
use windlass_store::{RunSummary, Store};

use crate::error::Error;
use crate::load::is_known;
use crate::timeline::{Task, Timeline};

/// Maximum number of runs of a family.
const MOST_RUNS: usize = 10_000;

/// A member of a run's family.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The depth of its task: 0 for the run that was asked for, 1 for one that does a task of that one.
    pub depth: usize,
    /// The run, or where it is not in this log its task.
    pub run: FamilyRun,
}

/// A run of a family.
#[derive(Clone, Debug, PartialEq)]
pub enum FamilyRun {
    /// It is in this log.
    Here(Box<RunSummary>),
    /// A remote agent does the task, or its run was pruned: only what came back is known.
    Elsewhere(Box<Task>),
}

/// A run and all runs below it, each followed by those that did its tasks, in the order in which they were handed over.
///
/// # Errors
/// The run is not in the log, or the log failed.
pub async fn family(log: &dyn Store, run: RunId) -> Result<Vec<Member>, Error> {
    let mut found = Vec::new();
    let first = Member { depth: 0, run: FamilyRun::Here(Box::new(log.summary(run).await?)) };
    let (mut seen, mut next) = (BTreeSet::from([run]), vec![first]);
    while let Some(member) = next.pop() {
        if let FamilyRun::Here(summary) = &member.run {
            let mut children = Vec::new();
            for task in Timeline::of(log, summary.run).await?.tasks {
                let run = if !is_known(log, task.run).await? {
                    FamilyRun::Elsewhere(Box::new(task))
                } else if seen.len() < MOST_RUNS && seen.insert(task.run) {
                    FamilyRun::Here(Box::new(log.summary(task.run).await?))
                } else {
                    continue;
                };
                children.push(Member { depth: member.depth + 1, run });
            }
            next.extend(children.into_iter().rev());
        }
        found.push(member);
    }
    Ok(found)
}
