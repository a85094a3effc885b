//! `windlass runs stats`: statistics per tool and per query, and Session 10's tables.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use windlass_core::Text;
use windlass_read::compat::session10::tables;
use windlass_read::reports::{RELIABILITY_RUNS, Statistics, UsageReport, Used, newest_runs, statistics};
use windlass_read::words::{count, cut, name, span};

use super::costs::price;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::remote::Reach;
use crate::view::table::aligned;

const COLUMNS: usize = 10;
const HEAD: [&str; COLUMNS] = ["BY", "NAME", "COUNT", "FAILED", "IN", "CACHED", "OUT", "COST", "P50", "P95"];
/// Maximum number of characters of a query in a line.
const QUERY_CHARS: usize = 60;

const HELP: &str = "\
The table counts the runs of each agent, and the calls of each model and tool, with the runs that did tasks of others: tokens, \
cost, and the times that half of them and 95 % of them stayed within.

A tool is `reliable` if at least 80 % of its calls succeeded, `unsteady` from 50 %, `unreliable` below, and to `avoid` once its \
last three calls failed. A run counts as succeeded if the agent itself answered: an answer that a person gave is a failure.

Examples:
  windlass runs stats --agent librarian
  windlass runs stats --csv reports";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct StatsArgs {
    /// Only runs of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Number of runs, the newest
    #[arg(long, value_name = "N", default_value_t = RELIABILITY_RUNS)]
    limit: usize,
    /// Also write `tool_performance.csv` and `query_text.csv` into this folder
    #[arg(long, value_name = "FOLDER")]
    csv: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: StatsArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let Some(log) = Reach::of(log_args)?.store() else {
        out::empty(&log_args.no_runs());
        return Ok(Exit::Good);
    };
    let runs = newest_runs(&*log, args.agent.map(Text::from), args.limit).await?;
    if let Some(folder) = &args.csv {
        let tables = tables(&*log, &runs).await?;
        write(folder, "tool_performance.csv", &tables.performance)?;
        write(folder, "query_text.csv", &tables.queries)?;
    }
    let statistics = statistics(&*log, &runs).await?;
    let used = UsageReport::of(&*log, &runs).await?;
    if args.json {
        let mut value = json!(statistics);
        if let Some(fields) = value.as_object_mut() {
            fields.insert("used".to_owned(), used.to_json());
            fields.insert("type".to_owned(), "statistics".into());
        }
        out::json(&value)?;
    } else {
        show(&statistics, &used)?;
    }
    Ok(Exit::Good)
}

/// The table by agent, model and tool.
fn table(used: &UsageReport) -> Vec<String> {
    let mut rows = vec![HEAD.map(str::to_owned)];
    for (kind, all) in [("agent", &used.agents), ("model", &used.models), ("tool", &used.tools)] {
        rows.extend(all.iter().map(|(named, used)| row(kind, named, used)));
    }
    aligned(&rows)
}

fn row(kind: &str, named: &str, used: &Used) -> [String; COLUMNS] {
    let (cost, time) = (&used.cost, |percent| used.percentile(percent).map_or_else(|| "-".to_owned(), span));
    let tokens = |number: u64| if kind == "tool" { "-".to_owned() } else { number.to_string() };
    [
        kind.to_owned(),
        name(named),
        used.count.to_string(),
        used.failed.to_string(),
        tokens(cost.usage.input),
        tokens(cost.usage.cached),
        tokens(cost.usage.output),
        if kind == "tool" { "-".to_owned() } else { price(cost) },
        time(50),
        time(95),
    ]
}

fn show(all: &Statistics, used: &UsageReport) -> std::io::Result<()> {
    out::line(format_args!("{}, {} succeeded", count(all.runs, "run"), all.succeeded))?;
    if all.runs > 0 {
        table(used).iter().try_for_each(out::line)?;
    }
    for tool in &all.tools {
        out::line(format_args!(
            "tool {}: {}, {} succeeded, {} retried, {} each: {}",
            name(&tool.tool),
            count(tool.calls, "call"),
            tool.succeeded,
            tool.retries,
            span(tool.mean_ms),
            tool.reliability.name()
        ))?;
    }
    for query in &all.queries {
        out::line(format_args!(
            "query {}: {}, {} succeeded, {} each",
            cut(&query.query, QUERY_CHARS),
            count(query.runs, "run"),
            query.succeeded,
            span(query.mean_ms)
        ))?;
    }
    Ok(())
}

fn write(folder: &Path, file: &str, text: &str) -> Result<(), Failure> {
    let path = folder.join(file);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    written.map_err(|error| {
        Failure::new(Exit::Failed, format!("cannot write {}", path.display())).cause(error.to_string())
    })
}
