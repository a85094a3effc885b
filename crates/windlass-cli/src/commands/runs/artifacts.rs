//! `windlass runs artifacts`.

use std::path::{Path, PathBuf};

use clap::Args;
use windlass_core::RunId;
use windlass_read::json;
use windlass_read::reports::{Artifact, artifact_bytes, artifacts};
use windlass_read::words::{cut, name};
use windlass_store::Store;

use super::find;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::view::table::aligned;

const COLUMNS: usize = 5;
const HEAD: [&str; COLUMNS] = ["SHA-256", "EVENT", "BYTES", "KIND", "NAME"];

/// Number of digits of a digest that a row has: enough to name it.
const DIGITS: usize = 12;
/// Maximum number of characters of a text's beginning in a row.
const HEAD_CHARS: usize = 60;

const HELP: &str = "\
Images, sound and files that models made, and long texts and files of tools. ARTIFACT is the beginning of a SHA-256, as the \
list shows it.

Examples:
  windlass runs artifacts last
  windlass runs artifacts last 3f2a91bc04d7 --to plot.png
  windlass runs artifacts last --json | jq .items";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ArtifactsArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN")]
    run: String,
    /// The artifact whose bytes are written to a file
    #[arg(value_name = "ARTIFACT", requires = "to")]
    artifact: Option<String>,
    /// The file, which must not exist yet
    #[arg(long, value_name = "FILE", requires = "artifact")]
    to: Option<PathBuf>,
    /// One JSON object
    #[arg(long, conflicts_with = "to")]
    json: bool,
}

pub(super) async fn run(args: ArtifactsArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, run) = find::open(log_args, &args.run).await?;
    let all = artifacts(&*log, run).await?;
    if let (Some(wanted), Some(to)) = (&args.artifact, &args.to) {
        return save(&*log, run, one_of(&all, wanted)?, to).await;
    }
    if args.json {
        out::json(&json::artifacts(&all))?;
        return Ok(Exit::Good);
    }
    if all.is_empty() {
        out::note("the run has no artifacts");
        return Ok(Exit::Good);
    }
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(all.iter().map(row));
    out::rows(&aligned(&rows))?;
    Ok(Exit::Good)
}

fn row(artifact: &Artifact) -> [String; COLUMNS] {
    let digest = artifact.sha256.as_deref().map_or("-", |sha256| sha256.get(..DIGITS).unwrap_or(sha256));
    let bytes = artifact.sha256.as_ref().map_or_else(|| "-".to_owned(), |_| artifact.bytes.to_string());
    let kind = artifact.media_type.as_deref().map_or_else(|| "stored".to_owned(), name);
    let known = artifact.name.as_deref().or(artifact.address.as_deref()).map(name);
    let about = known.unwrap_or_else(|| cut(&artifact.head, HEAD_CHARS));
    [digest.to_owned(), artifact.seq.to_string(), bytes, kind, about]
}

/// The digest that these digits begin.
fn one_of<'a>(all: &'a [Artifact], wanted: &str) -> Result<&'a str, Failure> {
    let digests = all.iter().filter_map(|artifact| artifact.sha256.as_deref());
    let found: Vec<&str> = digests.filter(|sha256| sha256.starts_with(wanted)).collect();
    match *found {
        [one] => Ok(one),
        [] => Err(Failure::new(
            Exit::Failed,
            format!("the run has no artifact {wanted:?} whose bytes are kept"),
        )
        .hint("`windlass runs artifacts RUN` lists them")),
        _ => Err(Failure::new(Exit::Failed, format!("several artifacts begin with {wanted:?}"))
            .hint("give more digits of its SHA-256")),
    }
}

async fn save(log: &dyn Store, run: RunId, sha256: &str, to: &Path) -> Result<Exit, Failure> {
    let bytes = artifact_bytes(log, run, sha256).await?.unwrap_or_default();
    let cannot =
        |error: std::io::Error| Failure::new(Exit::Failed, format!("cannot write {}: {error}", to.display()));
    let mut file = std::fs::File::create_new(to).map_err(cannot)?;
    std::io::Write::write_all(&mut file, &bytes).map_err(cannot)?;
    out::note(format_args!("{} bytes are in {}", bytes.len(), to.display()));
    Ok(Exit::Good)
}
