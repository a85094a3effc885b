//! The run log: one JSON object an event, for log collectors.

use chrono::{DateTime, SecondsFormat};
use serde_json::{Value, json};
use windlass_core::RunId;
use windlass_store::{Batch, Log};

use crate::error::Error;
use crate::json::data;
use crate::load::pages::{RunPages, numbered};
use crate::load::start_of;

/// The lines of a run's log, a page at a time.
#[derive(Debug)]
pub struct RunLog<'l> {
    pages: RunPages<'l>,
    common: Value,
}

impl<'l> RunLog<'l> {
    /// The run log of this run.
    ///
    /// # Errors
    /// The run is not in the log, or the log failed.
    pub async fn of(log: &'l dyn Log, run: RunId) -> Result<Self, Error> {
        let start = start_of(log, run).await?;
        let common = json!({ "run": run, "agent": start.agent.name, "session": start.session });
        Ok(Self { pages: RunPages::new(log, run), common })
    }

    /// The next lines; `None` at the end. Each is an object with `time` (RFC 3339, UTC), `run`, `agent`, `session`, `seq`, `event`
    /// (the event's name) and `data` (its fields, as in the log).
    ///
    /// # Errors
    /// The log failed.
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>, Error> {
        let batches = self.pages.next().await?;
        Ok(batches.map(|batches| batches.iter().flat_map(|batch| self.lines(batch)).collect()))
    }

    fn lines(&self, batch: &Batch) -> Vec<Value> {
        let lines = numbered(batch).map(|(seq, event)| {
            let time = i64::try_from(event.at).ok().and_then(DateTime::from_timestamp_millis);
            let time = time.map(|time| time.to_rfc3339_opts(SecondsFormat::Millis, true));
            json!({
                "time": time,
                "run": self.common.get("run"),
                "agent": self.common.get("agent"),
                "session": self.common.get("session"),
                "seq": seq,
                "event": event.fact.kind(),
                "data": data(&event.fact),
            })
        });
        lines.collect()
    }
}
