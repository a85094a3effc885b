//! Result of a pass, complete or cut short, with positions in its log.

use std::collections::BTreeMap;

use super::record::{self, RunRecord};
use crate::fixture::{Mismatch, SentRequest};

/// Result of a pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) runs: Vec<RunRecord>,
    /// Number of restarts from the log.
    pub(crate) restarts: usize,
    pub(crate) requests: Vec<SentRequest>,
    /// Requests to each peer, by its path in the tree of agents.
    pub(crate) peers: BTreeMap<String, Vec<SentRequest>>,
    /// The tools of which each run has an effect of its own.
    pub(crate) once: Vec<String>,
    pub(crate) problem: Option<String>,
    /// The number of the last event of each append, all runs together.
    pub(crate) batch_ends: Vec<u64>,
}

impl Outcome {
    /// The events of all runs, one line each.
    pub(crate) fn log(&self) -> Vec<String> {
        self.runs.iter().flat_map(|run| run.events.iter().map(record::line)).collect()
    }
}

impl Outcome {
    /// Number of log lines before those of a run.
    pub(crate) fn lines_before(&self, run: usize) -> usize {
        self.runs.iter().take(run).map(|run| run.events.len()).sum()
    }

    /// Log lines at which requests were sent; `None`: unknown, because other agents than the case's own sent some.
    fn sent_at(&self) -> Option<Vec<usize>> {
        let events = self.runs.iter().flat_map(|run| run.events.iter()).enumerate();
        let sent = events.filter(|(_, event)| event.fact.attempt().is_some());
        let sent: Vec<usize> = sent.map(|(line, _)| line + 1).collect();
        (sent.len() == self.requests.len()).then_some(sent)
    }

    /// A request, from 1; `None`: the last one.
    pub(crate) fn request(&self, number: Option<u32>) -> Option<&SentRequest> {
        let last = self.requests.len();
        self.requests.get(number.map_or(last, |number| number as usize).checked_sub(1)?)
    }

    /// Number of log lines that lead up to the turn with a request (from 1).
    pub(crate) fn lines_to_request(&self, number: u32) -> Option<usize> {
        self.sent_at()?.get((number as usize).checked_sub(1)?).copied()
    }

    /// The last request of the log's first lines.
    pub(crate) fn requests_within(&self, lines: usize) -> Option<u32> {
        let sent = self.sent_at()?.into_iter().take_while(|line| *line <= lines).count();
        (sent > 0).then_some(sent as u32)
    }
}

/// Why a pass came to no end.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    /// The whole message.
    pub(crate) message: String,
    /// The error; `None`: the agent or its input was refused.
    pub(crate) why: Option<Mismatch>,
    /// Result so far: the completed runs.
    pub(crate) before: Outcome,
    /// The events up to there, one line each.
    pub(crate) log: Vec<String>,
    /// The last request up to there, from 1; `None`: the last one that was sent.
    pub(crate) request: Option<u32>,
}
