//! `windlass runs export`.

use clap::{Args, ValueEnum};
use windlass_core::RunId;
use windlass_read::compat::session10::session_log;
use windlass_read::exchange::Export;
use windlass_read::exchange::RunLog;
use windlass_read::reports::with_delegates;
use windlass_read::words::count;
use windlass_store::Store;

use super::find;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::remote::Reach;

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
    /// One JSON object an event: time, run, agent, session, seq, event, data; delegates' events follow those of the run that called them
    Jsonl,
    /// The session log that docs/coming-from-session10.md describes: one JSON object, of this run alone
    Session10,
}

pub(super) async fn run(args: ExportArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let reach = Reach::of(log_args)?;
    // Of a server, its own log is checked on its machine.
    let checked = if let Reach::Log(log) = &reach { log.clone() } else { None };
    let log = reach.store().ok_or_else(|| log_args.missing())?;
    let run = find::run(&*log, &args.run).await?;
    match args.form {
        Form::Windlass => {}
        Form::Jsonl => return lines(&*log, run).await,
        Form::Session10 => {
            out::json(&session_log(&*log, run).await?)?;
            let others = with_delegates(&*log, run).await?.len().saturating_sub(1);
            if others > 0 {
                out::note(format_args!(
                    "this form has no place for {}: each has an export of its own (`windlass runs list` has their ids)",
                    count(others as u64, "delegate's run")
                ));
            }
            return Ok(Exit::Good);
        }
    }
    let mut export = Export::of(&*log, run).await?;
    for run in export.runs() {
        if let Some(log) = &checked
            && let Some(seq) = log.changed(*run).await?
        {
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

/// The run log: a line an event, each run's in order, delegates' after those of the run that called them.
async fn lines(log: &dyn Store, run: RunId) -> Result<Exit, Failure> {
    for run in with_delegates(log, run).await? {
        let mut log = RunLog::of(log, run).await?;
        while let Some(lines) = log.next().await? {
            lines.iter().try_for_each(out::json)?;
        }
    }
    Ok(Exit::Good)
}
