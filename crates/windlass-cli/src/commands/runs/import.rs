//! `windlass runs import`.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::PathBuf;

use clap::Args;
use windlass_read::Error;
use windlass_read::exchange::{Imported, Importer, LINE_BYTES};
use windlass_read::json;
use windlass_read::words::count;
use windlass_store::Holder;

use crate::failure::hints::Hinted as _;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;

/// In whose name imported runs are written.
const HOLDER: &str = "windlass runs import";

const HELP: &str = "\
Reads what `windlass runs export` wrote, from FILE or from stdin (-). Runs that others are based on come first. Each is \
checked: no event is missing or changed, and its base is the very one that it names. A run that is here already is left alone.

An imported run does nothing by itself. Going on with one that has not ended needs an agent of yours: its \
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
    let mut importer = Importer::new(&*log, Holder(HOLDER.into()));
    let mut number = 0_u64;
    while let Some(text) = next_line(&mut reader, &name, number + 1)? {
        number += 1;
        if let Some(imported) = importer.line(&text).await.map_err(|error| unread(&name, error))? {
            report(&imported, &args, log_args)?;
        }
    }
    report(&importer.finish().await.map_err(|error| unread(&name, error))?, &args, log_args)?;
    Ok(Exit::Good)
}

/// An error with the file that it is about.
fn unread(name: &str, error: Error) -> Failure {
    if matches!(error, Error::BadExport { .. } | Error::OldExport { .. } | Error::NewerExport { .. }) {
        Failure::new(Exit::BadFile, format!("{name}, {error}")).maybe_hint(error.hint())
    } else if matches!(error, Error::EmptyExport) {
        Failure::new(Exit::BadFile, format!("{name} contains no run"))
    } else {
        error.into()
    }
}

/// One line without its end; `None`: there is no more.
fn next_line(reader: &mut dyn BufRead, name: &str, number: u64) -> Result<Option<String>, Failure> {
    let mut bytes = Vec::new();
    let read = reader
        .take(LINE_BYTES)
        .read_until(b'\n', &mut bytes)
        .map_err(|error| at_line(name, number, error.to_string()))?;
    if read as u64 >= LINE_BYTES && bytes.last() != Some(&b'\n') {
        return Err(at_line(name, number, format!("the line is longer than {LINE_BYTES} bytes")));
    }
    if read == 0 {
        return Ok(None);
    }
    String::from_utf8(bytes).map(Some).map_err(|error| at_line(name, number, error.to_string()))
}

fn at_line(name: &str, number: u64, what: impl Into<String>) -> Failure {
    Failure::new(Exit::BadFile, format!("{name}, line {number}: {}", what.into()))
}

fn report(imported: &Imported, args: &ImportArgs, log_args: &LogArgs) -> io::Result<()> {
    let run = imported.state.run();
    if args.json {
        return out::json(&json::imported(imported));
    }
    let events = count(imported.state.version(), "event");
    match imported.written {
        0 => out::line(format_args!("run {run}: {events}, already in this log"))?,
        _ => out::line(format_args!("run {run}: {events}"))?,
    }
    if let Some(seq) = imported.unlike {
        out::note(format_args!(
            "this version would not produce its event {seq}: `windlass runs replay` shows the difference"
        ));
    }
    if !imported.hashed {
        out::note("the export carries no hashes: a change within its events would not be found");
    }
    if imported.written > 0 && !imported.state.is_finished() {
        out::note(format_args!("`windlass runs resume{} {run} --with FILE` continues it", log_args.words()));
    }
    Ok(())
}
