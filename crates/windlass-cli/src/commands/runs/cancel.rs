//! `windlass runs cancel`.

use std::time::Duration;

use clap::Args;
use windlass_core::RunId;
use windlass_read::load;
use windlass_runtime::Run;
use windlass_runtime::control::{Cancelled, run_end};
use windlass_runtime::host::Request;
use windlass_store::{Holder, Index};

use super::find;
use crate::agents::client;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;

/// Time for a holder in another process to end its run, in addition to the run's grace period, before the command reports that
/// it has not.
const PATIENCE: Duration = Duration::from_secs(5);

const HELP: &str = "\
Returns once the run has ended: its model calls and tools were stopped, and what it used is counted. \
A run that nobody drives is ended here, without its agent's file.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct CancelArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN")]
    pub(super) run: String,
}

pub(super) async fn run(args: CancelArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, run) = find::open_log(log_args, &args.run).await?;
    let grace = Duration::from_millis(load(&*log, run).await?.policy().bounds.grace_ms);
    let client = client(&log);
    let cancel = || client.cancel(run, "windlass runs cancel", Request::default());
    let status = match cancel().await? {
        Cancelled::Ended(run) => ended(&run),
        Cancelled::Asked(_) => match tokio::time::timeout(grace + PATIENCE, run_end(&*log, run)).await {
            Ok(end) => end?.status.to_string(),
            // Who died meanwhile ends nothing any more.
            Err(_) => match log.summary(run).await?.holder {
                Some(holder) => return Err(unheard(run, &holder, log_args)),
                None => match cancel().await? {
                    Cancelled::Ended(run) => ended(&run),
                    Cancelled::Asked(holder) => return Err(unheard(run, &holder, log_args)),
                },
            },
        },
    };
    out::note(format_args!("run {run}: {status}"));
    Ok(Exit::Good)
}

fn ended(run: &Run) -> String {
    run.status().map_or_else(|| "not ended".to_owned(), |status| status.to_string())
}

/// The error for a holder that lives and does not do what it was asked.
fn unheard(run: RunId, holder: &Holder, log_args: &LogArgs) -> Failure {
    let pid = holder.0.strip_prefix("pid ").and_then(|rest| rest.split(' ').next()).unwrap_or("PID");
    let words = log_args.words();
    Failure::new(
        Exit::Failed,
        format!("run {run} was asked to stop but has not ended yet: {} holds it", holder.0),
    )
    .cause("the process is stopped or stuck".to_owned())
    .hint(format!("`kill -CONT {pid}` continues a stopped process, which then ends the run"))
    .hint(format!("to give the process up: `kill -9 {pid}`, then `windlass runs cancel{words} {run}`"))
}
