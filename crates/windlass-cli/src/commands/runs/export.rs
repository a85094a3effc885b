//! `windlass runs export`.

use clap::{Args, ValueEnum};
use windlass_core::RunId;
use windlass_runtime::exchange::Export;
use windlass_runtime::projections::RunLog;
use windlass_runtime::projections::session10::session_log;
use windlass_store::Log;

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
    /// The form
    #[arg(long = "as", value_name = "FORM", value_enum, default_value_t = Form::Windlass)]
    form: Form,
}

/// The form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// What `windlass runs import` reads: the run, and those that it is based on
    Windlass,
    /// One JSON object an event: time, run, agent, session, seq, event, data
    Jsonl,
    /// The session log that docs/coming-from-session10.md describes: one JSON object
    Session10,
}

pub(super) async fn run(args: ExportArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, run) = find::open(log_args, &args.run).await?;
    match args.form {
        Form::Windlass => {}
        Form::Jsonl => return lines(&*log, run).await,
        Form::Session10 => {
            out::json(&session_log(&*log, run).await?)?;
            return Ok(Exit::Good);
        }
    }
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

/// The run log: a line an event.
async fn lines(log: &dyn Log, run: RunId) -> Result<Exit, Failure> {
    let mut log = RunLog::of(log, run).await?;
    while let Some(lines) = log.next().await? {
        lines.iter().try_for_each(out::json)?;
    }
    Ok(Exit::Good)
}
