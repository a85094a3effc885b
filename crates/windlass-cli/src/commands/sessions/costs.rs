//! `windlass sessions costs`: what the runs of a conversation cost.

use std::sync::Arc;

use clap::Args;
use serde_json::json;
use windlass_core::SessionId;
use windlass_read::json as forms;
use windlass_read::reports::{Cost, session_costs, total_cost};
use windlass_read::words::name;
use windlass_store::Store;

use crate::commands::runs::costs::{price, sum};
use crate::commands::runs::short::ShortIds;
use crate::failure::{Exit, Failure};
use crate::out;
use crate::session::unknown;
use crate::view::table::aligned;

const COLUMNS: usize = 7;
const HEAD: [&str; COLUMNS] = ["RUN", "AGENT", "CALLS", "IN", "CACHED", "OUT", "COST"];

const HELP: &str = "\
The costs of a run include those of the runs that did its tasks. `windlass runs costs RUN` lists its calls.

Examples:
  windlass sessions costs trip
  windlass sessions costs trip --json | jq .total.cost_usd";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct CostsArgs {
    /// The session
    #[arg(value_name = "SESSION")]
    session: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: CostsArgs, log: Option<Arc<dyn Store>>) -> Result<Exit, Failure> {
    let Some(log) = log else { return Err(unknown(None, &args.session).await?) };
    let families = session_costs(&*log, &SessionId::from(args.session.as_str())).await?;
    if families.is_empty() {
        return Err(unknown(Some(&*log), &args.session).await?);
    }
    let total = families.iter().fold(Cost::default(), |all, family| all.plus(&total_cost(family)));
    if args.json {
        let runs: Vec<_> = families.iter().map(|family| forms::costs(family)).collect();
        out::json(&json!({
            "type": "session_costs", "session": args.session, "runs": runs, "total": forms::cost(&total),
        }))?;
        return Ok(Exit::Good);
    }
    let ids = ShortIds::of(&*log).await?;
    let mut rows = vec![HEAD.map(str::to_owned)];
    for family in &families {
        let Some(first) = family.first() else { continue };
        let cost = total_cost(family);
        let numbers = [cost.calls, cost.usage.input, cost.usage.cached, cost.usage.output];
        let [calls, input, cached, output] = numbers.map(|number| number.to_string());
        rows.push([ids.short(first.run), name(&first.agent), calls, input, cached, output, price(&cost)]);
    }
    aligned(&rows).iter().try_for_each(out::line)?;
    out::line(format_args!("in all: {}", sum(&total)))?;
    Ok(Exit::Good)
}
