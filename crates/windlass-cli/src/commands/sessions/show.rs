//! `windlass sessions show`: a whole conversation, run by run.

use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use windlass_core::SessionId;
use windlass_read::json as forms;
use windlass_read::reports::session_runs;
use windlass_read::words::{count, name, time};
use windlass_store::{RunSummary, Store};

use crate::commands::runs::short::ShortIds;
use crate::commands::runs::show::Transcript;
use crate::failure::{Exit, Failure};
use crate::out;
use crate::session::unknown;

const HELP: &str = "\
Examples:
  windlass sessions show trip
  windlass sessions show trip --limit 1";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ShowArgs {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// Only the last so many runs
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    limit: u32,
    /// One JSON object for each run
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: ShowArgs, log: Option<Arc<dyn Store>>) -> Result<Exit, Failure> {
    let Some(log) = log else { return Err(unknown(None, &args.session).await?) };
    // Newest first.
    let runs = session_runs(&*log, Some(&SessionId::from(args.session.as_str()))).await?;
    let (Some(newest), Some(first)) = (runs.first(), runs.last()) else {
        return Err(unknown(Some(&*log), &args.session).await?);
    };
    let listed: Vec<&RunSummary> = runs.iter().take(args.limit as usize).rev().collect();
    if args.json {
        for line in listed {
            let part = Transcript::of(&*log, line.run).await?;
            out::json(&as_json(line, &part))?;
        }
        return Ok(Exit::Good);
    }
    let field = |what: &str, value: &str| out::line(format_args!("{what:<9}{value}"));
    field("session", &name(&args.session))?;
    field("agent", &agents(&runs))?;
    field("runs", &format!("{}, the last one {}", runs.len(), forms::listed_state(newest)))?;
    field("started", &time(first.started_at))?;
    field("last", &time(newest.updated_at))?;
    let left_out = runs.len().saturating_sub(listed.len()) as u64;
    if left_out > 0 {
        out::line(format_args!("\n({} before; `--limit` shows more)", count(left_out, "run")))?;
    }
    let ids = ShortIds::of(&*log).await?;
    for line in listed {
        let at = time(line.started_at);
        out::line(format_args!("\nrun {}, {at}, {}", ids.short(line.run), forms::listed_state(line)))?;
        Transcript::of(&*log, line.run).await?.show()?;
    }
    Ok(Exit::Good)
}

/// The agents that led the conversation, the first one first.
fn agents(runs: &[RunSummary]) -> String {
    let mut names: Vec<String> = runs.iter().rev().map(|run| name(&run.agent)).collect();
    names.dedup();
    names.join(", then ")
}

fn as_json(line: &RunSummary, part: &Transcript) -> Value {
    let mut value = forms::summary(line);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("messages".to_owned(), part.messages());
        fields.insert("text".to_owned(), json!(part.run.text()));
    }
    value
}
