//! `windlass runs cancel`.

use std::time::Duration;

use clap::Args;
use futures_util::StreamExt;
use futures_util::future::join;
use windlass_core::{Fact, InputKind, RunId, State};
use windlass_runtime::{DriveOptions, load, post};
use windlass_store::{EventLog, StoreError};

use super::{find, stub};
use crate::agents::{self, now};
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
    let state = load(&*log, run).await?;
    let reason = Some("windlass runs cancel".into());
    let status = if log.summary(run).await?.holder.is_some() {
        post(&*log, run, now(), InputKind::Cancel { reason }).await?;
        wait(&*log, run).await?
    } else {
        end(&state, log.clone()).await?
    };
    out::note(format_args!("run {run}: {status}"));
    Ok(Exit::Good)
}

/// Waits until the holder has ended the run.
async fn wait(log: &dyn EventLog, run: RunId) -> Result<String, Failure> {
    let mut batches = log.follow(run, 1);
    let end = async {
        while let Some(batch) = batches.next().await {
            for event in batch?.events.iter() {
                if let Fact::RunEnded(end) = &event.fact {
                    return Ok(end.status.to_string());
                }
            }
        }
        Ok::<_, StoreError>("ended".to_owned())
    };
    match tokio::time::timeout(PATIENCE, end).await {
        Ok(status) => Ok(status?),
        Err(_) => {
            Err(Failure::new(Exit::Failed, format!("run {run} was asked to stop, and has not ended yet"))
                .hint(format!("`windlass runs watch {run}` follows it")))
        }
    }
}

/// Ends a run that nobody holds.
async fn end(state: &State, log: std::sync::Arc<dyn EventLog>) -> Result<String, Failure> {
    let models = agents::models(&*log, state.run()).await?;
    let agent = stub::agent(state, &models, log)?;
    // It is brought to its end, and asks no model.
    let options = DriveOptions { by_hand: true, ..DriveOptions::default() };
    let prepared = agent.resume(state.run(), true, options).await?;
    let handle = prepared.handle();
    // The wish to stop lies in the inbox before the driver looks for work.
    let (cancelled, run) = join(handle.cancel(Some("windlass runs cancel".into())), prepared.drive()).await;
    let run = run?;
    cancelled?;
    Ok(run.status().map_or_else(|| "not ended".to_owned(), |status| status.to_string()))
}
