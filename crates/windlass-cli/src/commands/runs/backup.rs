//! `windlass runs backup`.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::home::{LogArgs, absolute};
use crate::out;

const HELP: &str = "\
Copies the whole log, as it is at this moment, to a file that is not there yet; runs may go on meanwhile. \
The copy is a log like any other: `windlass runs list --log FILE`, `windlass doctor --log FILE`.

Example:
  windlass runs backup runs-2026-08-05.db";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct BackupArgs {
    /// The file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The result as one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: BackupArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let file = absolute(&args.file);
    let Some(log) = log_args.open_existing()? else {
        let path = log_args.path()?;
        return Err(Failure::new(Exit::Failed, format!("the log {} does not exist", path.display()))
            .hint("name a log with --log"));
    };
    if file.exists() {
        let message = format!("{} already exists, and a backup overwrites nothing", file.display());
        return Err(Failure::new(Exit::Failed, message).hint("choose a file that does not exist yet"));
    }
    let bytes = log.backup(&file).await?;
    if args.json {
        out::json(&json!({ "type": "backup", "file": file, "bytes": bytes }))?;
    } else {
        out::note(format_args!("{}: {bytes} bytes", file.display()));
    }
    Ok(Exit::Good)
}
