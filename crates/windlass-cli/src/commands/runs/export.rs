//! `windlass runs export`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::{Value, json};
use windlass_core::{Fact, RunId, Text};
use windlass_runtime::{at_home, numbered};
use windlass_store::EventLog;

use super::hashes::{Hashes, Line};
use super::{find, list, show};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::view::json;

/// How many runs may stand one upon another.
const DEEPEST_BASE: usize = 100_000;
/// How many bytes of a payload one line has.
const PIECE: usize = 4 * 1024 * 1024;

const HELP: &str = "\
For each run one line of type `run`, then one of type `event` for each of its events, in order; `append` is the number
of the first event of the same atomic append. Bytes that events refer to come before them, in lines of type `payload`.
Runs that this one is based on come first. `docs/log-format.md` has the whole format.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ExportArgs {
    /// The run's id, the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    run: String,
}

pub(super) async fn run(args: ExportArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, run) = find::open(log_args, &args.run).await?;
    let mut chain: Vec<RunId> = vec![run];
    while let Some(last) = chain.last().copied().filter(|_| chain.len() < DEEPEST_BASE) {
        let first = log.read(last, 1, 1).await?;
        match first.first().and_then(|batch| batch.events.first()).map(|event| &event.fact) {
            Some(Fact::RunStarted(start)) => match &start.base {
                Some(base) => chain.push(base.run),
                None => break,
            },
            _ => break,
        }
    }
    for run in chain.into_iter().rev() {
        if let Some(seq) = log.changed(run).await? {
            let what = format!("run {run} is not what was written: an append up to event {seq} was changed");
            return Err(Failure::new(Exit::Internal, what).hint(
                "`windlass doctor --log FILE` names all that is damaged; a backup may have it as it was",
            ));
        }
        let mut head = list::as_json(&log.summary(run).await?);
        if let Some(fields) = head.as_object_mut() {
            fields.shift_remove("holder");
            fields.insert("schema".to_owned(), json!(Fact::SCHEMA));
        }
        out::exact(&head.to_string())?;
        payloads(&*log, run).await?;
        let mut hashes = Hashes::default();
        show::each(&*log, run, |batch| {
            for (seq, event) in numbered(batch) {
                let mut line = json::event(seq, &at_home(event));
                let (at, append) = (event.at, batch.first);
                let data = line.get("data").unwrap_or(&Value::Null);
                let hashed = Line { run, seq, at, event: event.fact.kind(), data, append };
                let hash = hashes.next(&hashed).to_owned();
                if let Some(fields) = line.as_object_mut() {
                    fields.insert("hash".to_owned(), json!(hash));
                    fields.insert("run".to_owned(), json!(run));
                    fields.insert("append".to_owned(), json!(batch.first));
                }
                out::exact(&line.to_string())?;
            }
            Ok(())
        })
        .await?;
    }
    Ok(Exit::Good)
}

/// The bytes that the events of a run refer to, in pieces.
async fn payloads(log: &dyn EventLog, run: RunId) -> Result<(), Failure> {
    let mut needed: BTreeMap<Text, u64> = BTreeMap::new();
    show::each(log, run, |batch| {
        let refs = batch.events.iter().flat_map(|event| event.fact.refs());
        needed.extend(refs.map(|stored| (stored.sha256.clone(), stored.bytes)));
        Ok(())
    })
    .await?;
    for (sha256, bytes) in needed {
        let mut from = 0;
        loop {
            let piece = log.payload(&sha256, from, PIECE).await?;
            let base64 = STANDARD.encode(&piece);
            let fields = json!({ "type": "payload", "sha256": sha256, "bytes": bytes, "from": from, "base64": base64 });
            out::exact(&fields.to_string())?;
            from += piece.len() as u64;
            if piece.is_empty() || from >= bytes {
                break;
            }
        }
    }
    Ok(())
}
