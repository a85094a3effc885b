//! `windlass runs export`.

use clap::Args;
use windlass_runtime::exchange::Export;

use super::find;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;

const HELP: &str = "\
For each run one line of type `run`, then one of type `event` for each of its events, in order; `append` is the number \
of the first event of the same atomic append. Bytes that events refer to come before them, in lines of type `payload`. \
Runs that this one is based on come first. `docs/log-format.md` has the whole format.";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ExportArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN")]
    run: String,
}

pub(super) async fn run(args: ExportArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, run) = find::open(log_args, &args.run).await?;
    let mut export = Export::of(&*log, run).await?;
    for run in export.runs() {
        if let Some(seq) = log.changed(*run).await? {
            let what =
                format!("run {run} is damaged: an append up to event {seq} was changed after it was written");
            return Err(Failure::new(Exit::Internal, what)
                .hint("`windlass doctor --log FILE` lists all damage; a backup may hold the original"));
        }
    }
    while let Some(line) = export.next_line().await? {
        out::exact(&line)?;
    }
    Ok(Exit::Good)
}
