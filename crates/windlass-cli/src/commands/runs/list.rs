//! `windlass runs list`.

use std::collections::HashSet;

use clap::Args;
use windlass_core::SessionId;
use windlass_runtime::projections::json;
use windlass_store::{Index, RunFilter, RunSummary};

use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::view::words::{cut, name, time};

/// Number of digits shown of an id: its creation time in milliseconds.
const ID_CHARS: usize = 13;
/// Maximum number of characters shown of the input.
const TITLE_CHARS: usize = 60;

/// Number of columns of a listing.
const COLUMNS: usize = 5;

/// The cells of a line.
type Row = [String; COLUMNS];

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only runs of this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only runs of this agent
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only runs that stand so: running, suspended, answered, concluded, clarification, limit, cancelled, failed
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Maximum number of runs
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// One JSON object a run
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: ListArgs, log: &LogArgs) -> Result<Exit, Failure> {
    let runs = match log.open_existing()? {
        None => Vec::new(),
        Some(log) => {
            let filter = RunFilter {
                session: args.session.map(SessionId::from),
                agent: args.agent.map(Into::into),
                status: args.status.map(Into::into),
                limit: args.limit as usize,
                ..RunFilter::default()
            };
            log.list(filter).await?
        }
    };
    if args.json {
        for summary in &runs {
            out::json(&json::summary(summary))?;
        }
        return Ok(Exit::Good);
    }
    if runs.is_empty() {
        out::note("no runs");
        return Ok(Exit::Good);
    }
    table(&runs)?;
    Ok(Exit::Good)
}

fn table(runs: &[RunSummary]) -> std::io::Result<()> {
    let head = ["RUN", "STARTED", "STATUS", "AGENT", "INPUT"].map(str::to_owned);
    let rows: Vec<Row> = std::iter::once(head).chain(cells(runs)).collect();
    aligned(&rows).iter().try_for_each(out::line)
}

/// The lines of a listing without its head.
pub(super) fn rows(runs: &[RunSummary]) -> Vec<String> {
    aligned(&cells(runs))
}

fn cells(runs: &[RunSummary]) -> Vec<Row> {
    let short: HashSet<String> = runs.iter().map(|line| start(&line.run.to_string())).collect();
    let id = |line: &RunSummary| {
        let whole = line.run.to_string();
        if short.len() == runs.len() { start(&whole) } else { whole }
    };
    let cells = runs.iter().map(|line| {
        let title = match cut(&line.title, TITLE_CHARS) {
            title if title.is_empty() => "(goes on)".to_owned(),
            title => title,
        };
        [id(line), time(line.started_at), json::listed_state(line), name(&line.agent), title]
    });
    cells.collect()
}

/// Each row as a line, with its cells padded to their column's width.
fn aligned(rows: &[Row]) -> Vec<String> {
    let mut widths = [0; COLUMNS];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &Row| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn start(id: &str) -> String {
    id.chars().take(ID_CHARS).collect()
}
