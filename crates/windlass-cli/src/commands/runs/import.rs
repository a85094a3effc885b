//! `windlass runs import`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_core::{Event, Fact, Millis, RunId, RunState};
use windlass_runtime::{Imported, import_run};
use windlass_store::{Batch, EventLog, Holder, PAYLOAD_BYTES};

use super::hashes::{Hashes, Line as Hashed};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::view::words::count;

/// The most bytes of one line.
const MAX_LINE: u64 = 256 * 1024 * 1024;
/// In whose name imported runs are written.
const HOLDER: &str = "windlass runs import";

const HELP: &str = "\
Reads what `windlass runs export` wrote, from FILE or from stdin (-). Runs that others are based on come first. Each is
checked: no event is missing or changed, and its base is the very one that it names. A run that is here already is left alone.

An imported run does nothing by itself. Going on with one that has not ended needs an agent of yours: its
instructions, policy and tools apply from there on, and people are asked anew.

Examples:
  windlass runs import run.jsonl
  ssh there windlass runs export last | windlass runs import -
  windlass runs resume last --with agent.yaml";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ImportArgs {
    /// The file, or - for stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// One JSON object a run
    #[arg(long)]
    json: bool,
}

/// A line of an export.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Line {
    Run { run: RunId, schema: u32, events: Option<u64> },
    Payload { sha256: String, bytes: u64, from: u64, base64: String },
    Event { run: RunId, seq: u64, at: Millis, event: String, data: Value, append: u64, hash: Option<String> },
}

/// A run that is being read.
#[derive(Debug)]
struct Coming {
    run: RunId,
    batches: Vec<(u64, Vec<Event>)>,
    next: u64,
    /// How many events it had when its export began; it may have gone on since.
    expected: u64,
    hashes: Hashes,
    /// Whether its events carry hashes; `None`: there was no event yet.
    hashed: Option<bool>,
}

pub(super) async fn run(args: ImportArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let name = args.file.display().to_string();
    let mut reader: Box<dyn BufRead> = if name == "-" {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(&args.file)
            .map_err(|error| Failure::of(Exit::BadFile, &error).cause(format!("cannot read {name}")))?;
        Box::new(BufReader::new(file))
    };
    let log = log_args.open()?;
    let mut coming: Option<Coming> = None;
    let mut payload = Payload::default();
    let mut number = 0_u64;
    while let Some(text) = next_line(&mut reader, &name, number + 1)? {
        number += 1;
        if text.trim().is_empty() {
            continue;
        }
        let line = serde_json::from_str(&text).map_err(|error| at_line(&name, number, error.to_string()))?;
        match line {
            Line::Run { run, schema, events } => {
                if schema > Fact::SCHEMA {
                    let what = format!("events of schema {schema}, but this version knows {}", Fact::SCHEMA);
                    return Err(at_line(&name, number, what).hint("import it with a newer Windlass"));
                }
                if let Some(whole) = coming.replace(Coming::new(run, events.unwrap_or(0))) {
                    whole.is_whole().map_err(|what| at_line(&name, number, what))?;
                    import(&*log, whole, &args, log_args).await?;
                }
            }
            Line::Payload { sha256, bytes, from, base64 } => {
                let piece =
                    STANDARD.decode(&base64).map_err(|error| at_line(&name, number, error.to_string()))?;
                let whole = payload.add(sha256, (bytes, from), &piece);
                if let Some(bytes) = whole.map_err(|what| at_line(&name, number, what))? {
                    let found = log.put(bytes.into()).await?;
                    if *found != *payload.sha256 {
                        let what = format!("expected a payload of SHA-256 {}, found {found}", payload.sha256);
                        return Err(at_line(&name, number, what));
                    }
                }
            }
            Line::Event { run, seq, at, event, data, append, hash } => {
                let Some(coming) = coming.as_mut().filter(|coming| coming.run == run) else {
                    return Err(at_line(&name, number, "an event before the line of its run"));
                };
                let hashed = Hashed { run, seq, at, event: &event, data: &data, append };
                coming.check(&hashed, hash.as_deref()).map_err(|what| at_line(&name, number, what))?;
                let fact = Fact::from_body(&event, &data.to_string());
                let fact = fact.map_err(|error| at_line(&name, number, error.to_string()))?;
                coming.add(seq, append, Event { at, fact }).map_err(|what| at_line(&name, number, what))?;
            }
        }
    }
    match coming {
        Some(whole) => {
            whole.is_whole().map_err(|what| at_line(&name, number, what))?;
            import(&*log, whole, &args, log_args).await?;
        }
        None => return Err(Failure::new(Exit::BadFile, format!("{name} holds no run"))),
    }
    Ok(Exit::Good)
}

/// A payload that comes in pieces.
#[derive(Debug, Default)]
struct Payload {
    sha256: String,
    bytes: Vec<u8>,
}

impl Payload {
    /// Adds a piece; gives the whole once it is there.
    fn add(
        &mut self,
        sha256: String,
        (all, from): (u64, u64),
        piece: &[u8],
    ) -> Result<Option<Vec<u8>>, String> {
        if all > PAYLOAD_BYTES {
            return Err(format!("a payload of {all} bytes, where {PAYLOAD_BYTES} is the most"));
        }
        if from == 0 {
            *self = Self { sha256, bytes: Vec::new() };
        } else if self.sha256 != sha256 || self.bytes.len() as u64 != from {
            return Err(format!("a piece from byte {from} on does not follow the one before"));
        }
        self.bytes.extend_from_slice(piece);
        match (self.bytes.len() as u64).cmp(&all) {
            std::cmp::Ordering::Less => Ok(None),
            std::cmp::Ordering::Equal => Ok(Some(std::mem::take(&mut self.bytes))),
            std::cmp::Ordering::Greater => Err(format!("a payload of more than its {all} bytes")),
        }
    }
}

impl Coming {
    fn new(run: RunId, expected: u64) -> Self {
        Self { run, batches: Vec::new(), next: 1, expected, hashes: Hashes::default(), hashed: None }
    }

    /// Checks the hash of an event's line. Exports of earlier versions have none.
    fn check(&mut self, line: &Hashed<'_>, hash: Option<&str>) -> Result<(), String> {
        let seq = line.seq;
        if *self.hashed.get_or_insert(hash.is_some()) != hash.is_some() {
            return Err(format!("event {seq}: either all events of a run have a hash, or none"));
        }
        match hash {
            Some(hash) if self.hashes.next(line) != hash => {
                Err(format!("event {seq} is not what was exported, or one before it is missing"))
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

    fn add(&mut self, seq: u64, append: u64, event: Event) -> Result<(), String> {
        if seq != self.next {
            return Err(format!("expected event {}, found event {seq}", self.next));
        }
        self.next += 1;
        match self.batches.last_mut() {
            Some((first, events)) if *first == append => events.push(event),
            _ if append == seq => self.batches.push((append, vec![event])),
            _ => return Err(format!("event {seq} begins no append, but names append {append}")),
        }
        Ok(())
    }
}

/// One line without its end; `None`: there is no more.
fn next_line(reader: &mut dyn BufRead, name: &str, number: u64) -> Result<Option<String>, Failure> {
    let mut bytes = Vec::new();
    let read = reader
        .take(MAX_LINE)
        .read_until(b'\n', &mut bytes)
        .map_err(|error| at_line(name, number, error.to_string()))?;
    if read as u64 >= MAX_LINE && bytes.last() != Some(&b'\n') {
        return Err(at_line(name, number, format!("the line is longer than {MAX_LINE} bytes")));
    }
    if read == 0 {
        return Ok(None);
    }
    String::from_utf8(bytes).map(Some).map_err(|error| at_line(name, number, error.to_string()))
}

fn at_line(name: &str, number: u64, what: impl Into<String>) -> Failure {
    Failure::new(Exit::BadFile, format!("{name}, line {number}: {}", what.into()))
}

async fn import(
    log: &dyn EventLog,
    coming: Coming,
    args: &ImportArgs,
    log_args: &LogArgs,
) -> Result<(), Failure> {
    let Coming { run, batches, hashed, .. } = coming;
    let batches = batches.into_iter().map(|(first, events)| Batch { first, events: events.into() });
    let imported = import_run(log, &Holder(HOLDER.into()), run, batches.collect()).await?;
    if args.json {
        out::json(&as_json(run, &imported))?;
        return Ok(());
    }
    let events = count(imported.state.version(), "event");
    match imported.written {
        0 => out::line(format_args!("run {run}: {events}, was here already"))?,
        _ => out::line(format_args!("run {run}: {events}"))?,
    }
    if let Some(seq) = imported.unlike {
        out::note(format_args!(
            "this version would not have made its event {seq}: `windlass runs replay` says more"
        ));
    }
    if hashed == Some(false) {
        out::note("the export carries no hashes: a change within its events would not be found");
    }
    if imported.written > 0 && !imported.state.is_finished() {
        out::note(format_args!(
            "`windlass runs resume{} {run} --with FILE` goes on with it",
            log_args.words()
        ));
    }
    Ok(())
}

fn as_json(run: RunId, imported: &Imported) -> Value {
    let status = match imported.state.standing() {
        RunState::Running => "interrupted".to_owned(),
        RunState::Suspended => "suspended".to_owned(),
        RunState::Ended(status) => status.to_string(),
    };
    json!({
        "type": "imported",
        "run": run,
        "events": imported.state.version(),
        "written": imported.written,
        "status": status,
        "unlike": imported.unlike,
    })
}
