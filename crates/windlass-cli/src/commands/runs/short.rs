//! Short ids: the end of a run's id, as long as it must be to denote one run of the log.

use windlass_core::RunId;
use windlass_read::ListPages;
use windlass_store::{Index, RunFilter};

use crate::failure::Failure;

/// The fewest hexadecimal digits of a short id. The beginnings of ids are times, so runs of the same minute share them.
const FEWEST: usize = 8;

/// Number of runs read at a time to find those that have come.
const NEWEST: usize = 100;

/// All run ids of a log.
#[derive(Debug, Default)]
pub(crate) struct ShortIds {
    /// The digits of each id, sorted.
    starts: Vec<String>,
    /// The same with their digits reversed, sorted.
    ends: Vec<String>,
}

/// The digits of an id.
pub(super) fn digits(run: RunId) -> String {
    run.0.simple().to_string()
}

/// Whether these digits denote the run: its id begins or ends with them.
pub(super) fn denotes(given: &str, run: RunId) -> bool {
    let whole = digits(run);
    whole.starts_with(given) || whole.ends_with(given)
}

impl ShortIds {
    /// Reads the ids of all runs in the log.
    pub(crate) async fn of(log: &dyn Index) -> Result<Self, Failure> {
        let mut runs = Vec::new();
        let mut pages = ListPages::new(log, RunFilter::default());
        while let Some(page) = pages.next().await? {
            runs.extend(page.iter().map(|line| line.run));
        }
        Ok(Self::among(&runs))
    }

    /// Whether the run was in the log when it was read.
    pub(super) fn has(&self, run: RunId) -> bool {
        self.starts.binary_search(&digits(run)).is_ok()
    }

    /// Reads the ids of runs that have come since: the newest, back to those that are known.
    pub(super) async fn extend(&mut self, log: &dyn Index) -> Result<(), Failure> {
        let mut pages = ListPages::new(log, RunFilter { limit: NEWEST, ..RunFilter::default() });
        while let Some(page) = pages.next().await? {
            let come: Vec<String> =
                page.iter().filter(|line| !self.has(line.run)).map(|line| digits(line.run)).collect();
            if come.is_empty() {
                break;
            }
            self.ends.extend(come.iter().map(|id| reversed(id)));
            self.starts.extend(come);
            self.starts.sort_unstable();
            self.ends.sort_unstable();
        }
        Ok(())
    }

    fn among(runs: &[RunId]) -> Self {
        let mut starts: Vec<String> = runs.iter().copied().map(digits).collect();
        let mut ends: Vec<String> = starts.iter().map(|id| reversed(id)).collect();
        starts.sort_unstable();
        ends.sort_unstable();
        Self { starts, ends }
    }

    /// The shortest end of the run's id, of eight digits or more, that denotes no other run of the log.
    pub(crate) fn short(&self, run: RunId) -> String {
        let (whole, back) = (digits(run), reversed(&digits(run)));
        let lengths = FEWEST..whole.len();
        let mut ends =
            lengths.filter_map(|length| Some((whole.get(whole.len() - length..)?, back.get(..length)?)));
        let unique = ends.find(|(end, back)| {
            count(&self.ends, back) <= 1 && count(&self.starts, end) == usize::from(whole.starts_with(end))
        });
        unique.map_or(whole.clone(), |(end, _)| end.to_owned())
    }
}

fn reversed(id: &str) -> String {
    id.chars().rev().collect()
}

/// Number of sorted ids with that beginning.
fn count(sorted: &[String], start: &str) -> usize {
    let first = sorted.partition_point(|id| &**id < start);
    sorted.iter().skip(first).take_while(|id| id.starts_with(start)).count()
}

#[cfg(test)]
mod tests;
