//! `windlass runs cancel`.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use windlass_core::RunId;
use windlass_runtime::control::{Cancelled, cancel, run_end};
use windlass_store::EventLog;

use super::find;
use crate::agents::now;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;

/// How long a holder in another process has to stop its run before we say that it has not, beside its own grace.
const PATIENCE: Duration = Duration::from_secs(30);

const HELP: &str = "\
Returns once the run has ended: its model calls and tools were stopped, and what it used is counted.
A run that nobody drives is ended here, without its agent's file.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct CancelArgs {
    /// The run's id, the beginning of one, or `last`
    #[arg(value_name = "RUN")]
    run: String,
}

pub(super) async fn run(args: CancelArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, run) = find::open(log_args, &args.run).await?;
    let shared: Arc<dyn EventLog> = log.clone();
    let status = match cancel(&shared, run, now(), "windlass runs cancel".into()).await? {
        Cancelled::Ended(run) => {
            run.status().map_or_else(|| "not ended".to_owned(), |status| status.to_string())
        }
        Cancelled::Asked(_) => wait(&*log, run).await?,
    };
    out::note(format_args!("run {run}: {status}"));
    Ok(Exit::Good)
}

/// Waits until the holder has ended the run.
async fn wait(log: &dyn EventLog, run: RunId) -> Result<String, Failure> {
    match tokio::time::timeout(PATIENCE, run_end(log, run)).await {
        Ok(end) => Ok(end?.status.to_string()),
        Err(_) => {
            Err(Failure::new(Exit::Failed, format!("run {run} was asked to stop, and has not ended yet"))
                .hint(format!("`windlass runs watch {run}` follows it")))
        }
    }
}
