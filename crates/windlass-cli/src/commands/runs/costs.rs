//! `windlass runs costs`.

use std::collections::BTreeMap;

use clap::Args;
use windlass_core::Text;
use windlass_core::tool::HostedTool;
use windlass_read::PrefixBreak;
use windlass_read::json;
use windlass_read::reports::{CallCost, Cost, RunCosts, run_costs, total_cost};
use windlass_read::words::{count, money, name, usage};

use super::find;
use super::short::ShortIds;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::view::table::aligned;

const COLUMNS: usize = 9;
const HEAD: [&str; COLUMNS] = ["RUN", "EVENT", "TURN", "PURPOSE", "MODEL", "IN", "CACHED", "OUT", "COST"];

const HELP: &str = "\
Prices are those of the run's start: list prices that Windlass knows (`windlass models list --prices`), or the agent file's. \
A price that is not known is `unknown`, never zero. Where a provider reports the cost itself, the larger of both counts.

Examples:
  windlass runs costs last
  windlass runs costs last --json | jq .total.cost_usd
  windlass sessions costs trip";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct CostsArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN")]
    run: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: CostsArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, run) = find::open(log_args, &args.run).await?;
    let family = run_costs(&*log, run).await?;
    if args.json {
        out::json(&json::costs(&family))?;
        return Ok(Exit::Good);
    }
    let ids = ShortIds::of(&*log).await?;
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(family.iter().flat_map(|run| calls(run, &ids)));
    aligned(&rows).iter().try_for_each(out::line)?;
    if family.len() > 1 {
        for run in &family {
            let words = sum(&run.total());
            out::line(format_args!("run {} ({}): {words}", ids.short(run.run), name(&run.agent)))?;
        }
    }
    for run in &family {
        for words in hosted(run).chain(caching(run)) {
            out::line(format_args!("{}: {words}", ids.short(run.run)))?;
        }
    }
    out::line(format_args!("in all: {}", sum(&total_cost(&family))))?;
    Ok(Exit::Good)
}

/// The tools that providers ran, with their costs.
fn hosted(run: &RunCosts) -> impl Iterator<Item = String> {
    let mut all: BTreeMap<(&Text, HostedTool), (u64, Option<u64>)> = BTreeMap::new();
    for (call, used) in run.calls.iter().flat_map(|call| call.hosted.iter().map(move |used| (call, used))) {
        let (uses, pico) = all.entry((&call.model, used.tool)).or_insert((0, Some(0)));
        *uses += used.uses;
        *pico = pico.zip(used.pico_usd).map(|(sum, more)| sum.saturating_add(more));
    }
    let words = all.into_iter().map(|((model, tool), (uses, pico))| {
        let times = count(uses, "use");
        let cost = pico.map_or_else(
            || "the price of one is unknown, and no part of the cost".to_owned(),
            |pico| format!("${} of the cost", money(pico as f64 / 1e12)),
        );
        format!("{times} of {} by {}: {cost}", tool.name(), name(model))
    });
    words.collect::<Vec<_>>().into_iter()
}

/// The savings of the providers' caches, and the requests that they could not serve.
fn caching(run: &RunCosts) -> Vec<String> {
    let saved = run.saved_usd().map(|usd| {
        let what = if usd < 0.0 {
            "writing to the provider's cache has cost more than it saved, by"
        } else {
            "the provider's cache saved"
        };
        format!("{what} ${}", money(usd.abs()))
    });
    let broke = run.breaks.iter().map(|broke| {
        let PrefixBreak { turn, seq, cause } = broke;
        format!("turn {turn} does not begin as the one before it: {} (event {seq})", cause.words())
    });
    saved.into_iter().chain(broke).collect()
}

fn calls<'r>(run: &'r RunCosts, ids: &'r ShortIds) -> impl Iterator<Item = [String; COLUMNS]> + 'r {
    let short = ids.short(run.run);
    let first = short.clone();
    let calls = run.calls.iter().map(move |call| {
        let failed = if call.failed.is_some() { ", failed" } else { "" };
        [
            first.clone(),
            call.seq.to_string(),
            call.turn.to_string(),
            format!("{}{failed}", call.purpose.name()),
            name(&call.model),
            call.usage.input.to_string(),
            call.usage.cached.to_string(),
            call.usage.output.to_string(),
            price_of(call),
        ]
    });
    let tasks = run.elsewhere.iter().map(move |task| {
        let used = &task.returned.usage;
        [
            short.clone(),
            String::new(),
            String::new(),
            "task".to_owned(),
            name(&task.agent),
            used.input.to_string(),
            used.cached.to_string(),
            used.output.to_string(),
            price(&task.returned),
        ]
    });
    calls.chain(tasks)
}

/// The cost of a call in a cell, with what its provider reported if that is another amount.
fn price_of(call: &CallCost) -> String {
    let counted = price(&call.cost());
    let reported = call.usage.reported.get();
    if reported == 0 || call.pico_usd == Some(reported) {
        return counted;
    }
    format!("{counted} (reported: ${})", money(reported as f64 / 1e12))
}

/// The cost in a cell.
pub(crate) fn price(cost: &Cost) -> String {
    cost.usd().map_or_else(|| "unknown".to_owned(), |usd| format!("${}", money(usd)))
}

/// The calls, tokens and cost of a sum.
pub(crate) fn sum(cost: &Cost) -> String {
    let used = format!("{}, {}", count(cost.calls, "model call"), usage(&cost.usage, None));
    match (cost.usd(), cost.known) {
        (Some(usd), _) => format!("{used}, ${}", money(usd)),
        (None, 0) => format!("{used}, cost unknown"),
        (None, _) => {
            let known = money(cost.known_usd());
            format!("{used}, at least ${known} (the price of {} is unknown)", count(cost.unpriced, "token"))
        }
    }
}
