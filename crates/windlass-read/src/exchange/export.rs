//! The lines of an export, made one at a time.

use std::collections::{BTreeMap, VecDeque};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use windlass_core::{Event, Fact, RunId, Text};
use windlass_store::{Batch, Store};

use super::FORMAT;
use super::hashes::{Hashes, Line};
use super::import::at_home;
use crate::error::Error;
use crate::json::stored as forms;
use crate::load::is_known;
use crate::load::pages::{RunPages, numbered, with_bases};
use crate::reports::receipts::MOST_RUNS;
use crate::timeline::Timeline;

/// Bytes of a payload per line.
const PIECE: usize = 4 * 1024 * 1024;

/// Writes a run, the runs that it is based on, and those of the agents that it handed tasks to, as JSON lines.
///
/// The runs come in the order in which an import needs them: bases first, delegates after the run that called them.
#[derive(Debug)]
pub struct Export<'l> {
    log: &'l dyn Store,
    runs: Vec<RunId>,
    /// The number of runs that were begun.
    begun: usize,
    stage: Stage<'l>,
    ready: VecDeque<String>,
}

/// Next part of the exported run.
#[derive(Debug)]
enum Stage<'l> {
    /// The next run begins.
    Head,
    /// Payloads, before the events that refer to them.
    Payloads(Payloads<'l>),
    Events(Events<'l>),
}

/// The bytes that the events of a run refer to.
#[derive(Debug)]
struct Payloads<'l> {
    needed: std::collections::btree_map::IntoIter<Text, u64>,
    /// The payload that is being written: its digest, its size, and how much of it is written.
    current: Option<(Text, u64, u64)>,
    events: Events<'l>,
}

/// The events of a run.
#[derive(Debug)]
struct Events<'l> {
    pages: RunPages<'l>,
    run: RunId,
    /// The last event whose payloads were looked for: a run that is driven meanwhile ends there.
    last: u64,
    hashes: Hashes,
}

/// The run with its bases and, after them, the runs below it with theirs.
async fn family(log: &dyn Store, run: RunId) -> Result<Vec<RunId>, Error> {
    let mut runs = with_bases(log, run).await?;
    let mut looked = 0;
    while let Some(parent) = runs.get(looked).copied() {
        looked += 1;
        for task in Timeline::of(log, parent).await?.tasks {
            if runs.len() >= MOST_RUNS || runs.contains(&task.run) || !is_known(log, task.run).await? {
                continue;
            }
            let child_runs = with_bases(log, task.run).await?;
            runs.extend(child_runs.into_iter().filter(|run| !runs.contains(run)).collect::<Vec<_>>());
        }
    }
    Ok(runs)
}

impl<'l> Export<'l> {
    /// Starts an export.
    ///
    /// # Errors
    /// The log failed.
    pub async fn of(log: &'l dyn Store, run: RunId) -> Result<Self, Error> {
        let runs = family(log, run).await?;
        Ok(Self { log, runs, begun: 0, stage: Stage::Head, ready: VecDeque::new() })
    }

    /// The runs that are written, in order.
    pub fn runs(&self) -> &[RunId] {
        &self.runs
    }

    /// The next line, without its end; `None` after the last one.
    ///
    /// # Errors
    /// One of the runs is not in the log, or the log failed.
    pub async fn next_line(&mut self) -> Result<Option<String>, Error> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Ok(Some(line));
            }
            self.stage = match std::mem::replace(&mut self.stage, Stage::Head) {
                Stage::Head => match self.runs.get(self.begun).copied() {
                    Some(run) => self.begin(run).await?,
                    None => return Ok(None),
                },
                Stage::Payloads(payloads) => self.piece(payloads).await?,
                Stage::Events(events) => self.page(events).await?,
            };
        }
    }

    async fn begin(&mut self, run: RunId) -> Result<Stage<'l>, Error> {
        self.begun += 1;
        let mut head = forms::summary(&self.log.summary(run).await?);
        if let Some(fields) = head.as_object_mut() {
            fields.shift_remove("holder");
            fields.insert("format".to_owned(), json!(FORMAT));
            fields.insert("schema".to_owned(), json!(Fact::SCHEMA));
        }
        self.ready.push_back(head.to_string());
        let mut needed: BTreeMap<Text, u64> = BTreeMap::new();
        let mut last = 0;
        let mut pages = RunPages::new(self.log, run);
        while let Some(batches) = pages.next().await? {
            let refs =
                batches.iter().flat_map(|batch| batch.events.iter()).flat_map(|event| event.fact.refs());
            needed.extend(refs.map(|stored| (stored.sha256.clone(), stored.bytes)));
            last = batches.last().map_or(last, Batch::last);
        }
        let events = Events { pages: RunPages::new(self.log, run), run, last, hashes: Hashes::default() };
        Ok(Stage::Payloads(Payloads { needed: needed.into_iter(), current: None, events }))
    }

    async fn piece(&mut self, mut payloads: Payloads<'l>) -> Result<Stage<'l>, Error> {
        let next = payloads.current.take();
        let next = next.or_else(|| payloads.needed.next().map(|(sha256, bytes)| (sha256, bytes, 0)));
        let Some((sha256, bytes, from)) = next else { return Ok(Stage::Events(payloads.events)) };
        let piece = self.log.get(&sha256, from, PIECE).await?;
        let base64 = STANDARD.encode(&piece);
        let line =
            json!({ "type": "payload", "sha256": sha256, "bytes": bytes, "from": from, "base64": base64 });
        self.ready.push_back(line.to_string());
        let written = from + piece.len() as u64;
        payloads.current = (!piece.is_empty() && written < bytes).then_some((sha256, bytes, written));
        Ok(Stage::Payloads(payloads))
    }

    async fn page(&mut self, mut events: Events<'l>) -> Result<Stage<'l>, Error> {
        let Some(batches) = events.pages.next().await? else { return Ok(Stage::Head) };
        let until = events.last;
        for batch in &batches {
            for (seq, event) in numbered(batch).filter(|(seq, _)| *seq <= until) {
                self.ready.push_back(events.line(seq, event, batch).to_string());
            }
        }
        let more = batches.last().is_some_and(|last| last.last() < until);
        Ok(if more { Stage::Events(events) } else { Stage::Head })
    }
}

impl Events<'_> {
    fn line(&mut self, seq: u64, event: &Event, batch: &Batch) -> Value {
        let mut line = forms::event(seq, &at_home(event));
        let data = line.get("data").unwrap_or(&Value::Null);
        let (run, append, kind) = (self.run, batch.first, event.fact.kind());
        let cause = (seq == append).then(|| json!(batch.cause));
        let hashed = Line { run, seq, at: event.at, event: kind, data, append, cause: cause.as_ref() };
        let hash = self.hashes.next(&hashed).to_owned();
        if let Some(fields) = line.as_object_mut() {
            fields.insert("hash".to_owned(), json!(hash));
            fields.insert("run".to_owned(), json!(self.run));
            fields.insert("append".to_owned(), json!(append));
            if let Some(cause) = cause {
                fields.insert("cause".to_owned(), cause);
            }
        }
        line
    }
}
