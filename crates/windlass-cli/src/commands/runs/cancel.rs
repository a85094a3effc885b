//! `windlass runs cancel`.

use std::time::Duration;

use clap::Args;
use futures_util::StreamExt;
use futures_util::future::join;
use windlass_core::{Fact, RunId, State, What};
use windlass_runtime::{DriveOptions, load, post};
use windlass_store::{EventLog, Holder, StoreError};

use super::{find, stub};
use crate::agents::{self, now};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;

/// How long a holder in another process has to end its run before we say that it has not, beside the run's own grace.
const PATIENCE: Duration = Duration::from_secs(5);

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
        post(&*log, run, now(), What::Cancel { reason }).await?;
        let grace = Duration::from_millis(state.policy().grace_ms);
        match wait(&*log, run, grace + PATIENCE).await? {
            Some(status) => status,
            // Who died meanwhile ends nothing any more.
            None => match log.summary(run).await?.holder {
                Some(holder) => return Err(unheard(run, &holder, log_args)),
                None => end(&load(&*log, run).await?, log.clone()).await?,
            },
        }
    } else {
        end(&state, log.clone()).await?
    };
    out::note(format_args!("run {run}: {status}"));
    Ok(Exit::Good)
}

/// Waits until the holder has ended the run; `None`: it has not within this time.
async fn wait(log: &dyn EventLog, run: RunId, most: Duration) -> Result<Option<String>, StoreError> {
    let mut batches = log.follow(run, 1);
    let end = async {
        while let Some(batch) = batches.next().await {
            for event in batch?.events.iter() {
                if let Fact::RunEnded(end) = &event.fact {
                    return Ok(end.status.to_string());
                }
            }
        }
        Ok("ended".to_owned())
    };
    tokio::time::timeout(most, end).await.ok().transpose()
}

/// The error for a holder that lives and does not do what it was asked.
fn unheard(run: RunId, holder: &Holder, log_args: &LogArgs) -> Failure {
    let pid = holder.0.strip_prefix("pid ").and_then(|rest| rest.split(' ').next()).unwrap_or("PID");
    let words = log_args.words();
    Failure::new(
        Exit::Failed,
        format!("run {run} was asked to stop, and has not ended yet: {} holds it", holder.0),
    )
    .cause("the process is stopped, or busy with something that does not end".to_owned())
    .hint(format!("`kill -CONT {pid}` lets a process go on that was stopped; it then ends the run"))
    .hint(format!("if it is of no use any more: `kill -9 {pid}`, then `windlass runs cancel{words} {run}`"))
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
