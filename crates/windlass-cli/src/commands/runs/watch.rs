//! `windlass runs watch`.

use std::time::Duration;
use windlass_core::event::RunFact;

use clap::Args;
use futures_util::{Stream, StreamExt};
use windlass_core::{Fact, RunId};
use windlass_read::{load_until, numbered};
use windlass_store::{Batch, Store, StoreError};

use super::find;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::view::{View, ViewArgs};
use crate::waiting::Withdrawn;

/// Time after which a watcher looks whether the run's process is alive.
const LOOK: Duration = Duration::from_secs(1);

const HELP: &str = "\
Shows everything from the run's beginning (or from event N) and goes on live until the run ends, whoever drives it. \
If the run's process dies, that is said on stderr, and the run is watched further: somebody may resume it. \
The exit code is 0 however the run ends; Ctrl-C stops the watching, not the run.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct WatchArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN")]
    pub(super) run: String,
    /// Begin with this event
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) from: u64,
    #[command(flatten)]
    pub(super) view: ViewArgs,
}

pub(super) async fn run(args: WatchArgs, log: &LogArgs) -> Result<Exit, Failure> {
    let words = log.words();
    let (log, run) = find::open(log, &args.run).await?;
    let mut view = View::new(args.view).logged(&words);
    // What was before: a fork begins with the counts of its base.
    view.watch(&load_until(&*log, run, (args.from - 1).max(1)).await?, log.summary(run).await?.started_at);
    let mut batches = log.follow(run, args.from);
    let _at_last = Withdrawn::default();
    while let Some(batch) = view.waiting(next(&mut batches, &*log, run, &words)).await {
        let batch = batch?;
        for (number, event) in numbered(&batch) {
            view.event(number, event);
        }
        if view.is_broken()
            || batch.events.iter().any(|event| matches!(event.fact, Fact::Run(RunFact::Ended(_))))
        {
            break;
        }
    }
    view.close()?;
    Ok(Exit::Good)
}

/// The next events; reports once if nobody drives the run any more.
async fn next(
    batches: &mut (impl Stream<Item = Result<Batch, StoreError>> + Unpin),
    log: &dyn Store,
    run: RunId,
    words: &str,
) -> Option<Result<Batch, StoreError>> {
    let mut reported = false;
    loop {
        if let Ok(batch) = tokio::time::timeout(LOOK, batches.next()).await {
            return batch;
        }
        if reported {
            continue;
        }
        match log.summary(run).await {
            Ok(summary) if summary.is_interrupted() => {
                out::note(format_args!(
                    "the process that drove run {run} has died; `windlass runs resume{words} {run}` goes on"
                ));
                reported = true;
            }
            Ok(_) => {}
            Err(error) => return Some(Err(error)),
        }
    }
}
