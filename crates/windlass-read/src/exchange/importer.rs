//! Reads the lines of an export, and writes its runs into a log.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use windlass_core::event::{Cause, Millis};
use windlass_core::{Event, Fact, Owner, RunId};
use windlass_store::{Batch, Holder, PAYLOAD_BYTES, Store};

use super::FORMAT;
use super::hashes::{Hashes, Line as Hashed};
use super::import::{Imported, import_run};
use crate::error::Error;

/// The most bytes of one line: readers of untrusted exports stop there.
pub const LINE_BYTES: u64 = 256 * 1024 * 1024;

/// A line of an export.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Run {
        run: RunId,
        format: Option<u32>,
        schema: u32,
        events: Option<u64>,
    },
    Payload {
        sha256: String,
        bytes: u64,
        from: u64,
        base64: String,
    },
    Event {
        run: RunId,
        seq: u64,
        at: Millis,
        event: String,
        data: Value,
        append: u64,
        cause: Option<Value>,
        hash: Option<String>,
    },
}

/// Takes an export line by line. A run is written into the log once all of it is there and sound; the runs before it stay
/// where a later one is refused.
#[derive(Debug)]
pub struct Importer<'l> {
    log: &'l dyn Store,
    holder: Holder,
    owner: Owner,
    /// The number of the last line.
    number: u64,
    coming: Option<Coming>,
    payload: Payload,
}

impl<'l> Importer<'l> {
    /// Imports into that log. The holder is the name under which the runs are written.
    pub fn new(log: &'l dyn Store, holder: Holder) -> Self {
        Self { log, holder, owner: Owner::default(), number: 0, coming: None, payload: Payload::default() }
    }

    /// Imports the runs as those of that owner. Default: `local`.
    #[must_use]
    pub fn owner(mut self, owner: Owner) -> Self {
        self.owner = owner;
        self
    }

    /// Takes the next line; blank lines are skipped. Gives the run that was coming if this line begins another one.
    ///
    /// # Errors
    /// The line is no line of an export ([`Error::BadExport`]), the export is from before format 1 ([`Error::OldExport`]) or of a
    /// newer version ([`Error::NewerExport`]), the run cannot be imported (see [`import_run`]), or the log failed.
    pub async fn line(&mut self, text: &str) -> Result<Option<Imported>, Error> {
        self.number += 1;
        if text.trim().is_empty() {
            return Ok(None);
        }
        match serde_json::from_str(text).map_err(|error| self.bad(error.to_string()))? {
            Line::Run { run, format, schema, events } => {
                self.known(format, schema)?;
                let begun = self.coming.replace(Coming::new(run, schema, events.unwrap_or(0)));
                match begun {
                    Some(whole) => self.write(whole).await.map(Some),
                    None => Ok(None),
                }
            }
            Line::Payload { sha256, bytes, from, base64 } => {
                let piece = STANDARD.decode(&base64).map_err(|error| self.bad(error.to_string()))?;
                let whole = self.payload.add(Piece { sha256, total: bytes, from, bytes: piece });
                if let Some(bytes) = whole.map_err(|what| self.bad(what))? {
                    self.keep(bytes).await?;
                }
                Ok(None)
            }
            Line::Event { run, seq, at, event, data, append, cause, hash } => {
                let (event, data, cause) = (&*event, &data, cause.as_ref());
                let hashed = Hashed { run, seq, at, event, data, append, cause };
                self.event(&hashed, hash.as_deref()).map_err(|what| self.bad(what))?;
                Ok(None)
            }
        }
    }

    /// Ends the import, and gives its last run.
    ///
    /// # Errors
    /// As for [`line`](Self::line); the export held no run ([`Error::EmptyExport`]).
    pub async fn finish(mut self) -> Result<Imported, Error> {
        let last = self.coming.take().ok_or(Error::EmptyExport)?;
        self.write(last).await
    }

    /// Whether this version reads runs of that format and schema.
    fn known(&self, format: Option<u32>, schema: u32) -> Result<(), Error> {
        let line = self.number;
        let format = format.ok_or(Error::OldExport { line })?;
        for (part, found, known) in [("format", format, FORMAT), ("schema", schema, Fact::SCHEMA)] {
            if found > known {
                return Err(Error::NewerExport { line, part, found, known });
            }
        }
        Ok(())
    }

    fn event(&mut self, line: &Hashed<'_>, hash: Option<&str>) -> Result<(), String> {
        let Some(coming) = self.coming.as_mut().filter(|coming| coming.run == line.run) else {
            return Err("an event before the line of its run".to_owned());
        };
        coming.check(line, hash)?;
        coming.add(line)
    }

    async fn keep(&self, bytes: Vec<u8>) -> Result<(), Error> {
        let found = self.log.put(bytes.into()).await?;
        if *found != *self.payload.sha256 {
            let expected = &self.payload.sha256;
            return Err(self.bad(format!("expected a payload of SHA-256 {expected}, found {found}")));
        }
        Ok(())
    }

    async fn write(&self, coming: Coming) -> Result<Imported, Error> {
        coming.is_whole().map_err(|what| self.bad(what))?;
        let Coming { run, batches, hashed, .. } = coming;
        let batches = batches.into_iter().map(|(first, cause, events)| {
            let events = events.into();
            Batch { first, cause, events }
        });
        let imported = import_run(self.log, &self.holder, &self.owner, run, batches.collect()).await?;
        Ok(Imported { hashed: hashed == Some(true), ..imported })
    }

    fn bad(&self, what: impl Into<String>) -> Error {
        Error::BadExport { line: self.number, what: what.into() }
    }
}

/// A run that is being read.
#[derive(Debug)]
struct Coming {
    run: RunId,
    /// The schema version of its events and causes.
    schema: u32,
    batches: Vec<(u64, Cause, Vec<Event>)>,
    next: u64,
    /// The number of its events when its export began; it may have gone on since.
    expected: u64,
    hashes: Hashes,
    /// Whether its events carry hashes; `None`: there was no event yet.
    hashed: Option<bool>,
}

impl Coming {
    fn new(run: RunId, schema: u32, expected: u64) -> Self {
        Self { run, schema, batches: Vec::new(), next: 1, expected, hashes: Hashes::default(), hashed: None }
    }

    /// Checks the hash of an event's line. An export may come without any.
    fn check(&mut self, line: &Hashed<'_>, hash: Option<&str>) -> Result<(), String> {
        let seq = line.seq;
        if *self.hashed.get_or_insert(hash.is_some()) != hash.is_some() {
            return Err(format!("event {seq}: either all events of a run have a hash, or none"));
        }
        match hash {
            Some(hash) if self.hashes.next(line) != hash => {
                Err(format!("event {seq} was changed after the export, or an earlier event is missing"))
            }
            _ => Ok(()),
        }
    }

    /// Whether its last events are there too.
    fn is_whole(&self) -> Result<(), String> {
        let (found, expected, run) = (self.next - 1, self.expected, self.run);
        if found < expected {
            return Err(format!("run {run} ends here after {found} events, expected {expected}"));
        }
        Ok(())
    }

    fn add(&mut self, line: &Hashed<'_>) -> Result<(), String> {
        let Hashed { seq, append, .. } = *line;
        if seq != self.next {
            return Err(format!("expected event {}, found event {seq}", self.next));
        }
        self.next += 1;
        let at_event = |error: serde_json::Error| format!("event {seq}: {error}");
        let fact = Fact::from_body_of(self.schema, line.event, &line.data.to_string()).map_err(at_event)?;
        let event = Event { at: line.at, fact };
        match (self.batches.last_mut(), line.cause) {
            (Some((first, _, events)), None) if *first == append => events.push(event),
            (_, Some(cause)) if append == seq => {
                let cause = Cause::from_json_of(self.schema, &cause.to_string()).map_err(at_event)?;
                self.batches.push((append, cause, vec![event]));
            }
            (_, None) if append == seq => {
                return Err(format!("event {seq} begins an append without a `cause`"));
            }
            _ => {
                return Err(format!(
                    "event {seq} begins no append, but names append {append} or has a `cause`"
                ));
            }
        }
        Ok(())
    }
}

/// A piece of a payload, as a line of the export holds it.
struct Piece {
    sha256: String,
    /// Number of bytes of the whole payload.
    total: u64,
    /// Number of its bytes before this piece.
    from: u64,
    bytes: Vec<u8>,
}

/// A payload that comes in pieces.
#[derive(Debug, Default)]
struct Payload {
    sha256: String,
    bytes: Vec<u8>,
}

impl Payload {
    /// Adds a piece; gives the whole payload once it is there.
    fn add(&mut self, piece: Piece) -> Result<Option<Vec<u8>>, String> {
        let Piece { sha256, total, from, bytes } = piece;
        if total > PAYLOAD_BYTES {
            return Err(format!("a payload of {total} bytes, the maximum is {PAYLOAD_BYTES}"));
        }
        if from == 0 {
            *self = Self { sha256, bytes: Vec::new() };
        } else if self.sha256 != sha256 || self.bytes.len() as u64 != from {
            return Err(format!("a piece from byte {from} on does not follow the previous one"));
        }
        self.bytes.extend_from_slice(&bytes);
        match (self.bytes.len() as u64).cmp(&total) {
            std::cmp::Ordering::Less => Ok(None),
            std::cmp::Ordering::Equal => Ok(Some(std::mem::take(&mut self.bytes))),
            std::cmp::Ordering::Greater => Err(format!("a payload longer than its declared {total} bytes")),
        }
    }
}
