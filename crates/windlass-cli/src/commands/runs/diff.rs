//! `windlass runs diff`.

use clap::Args;
use windlass_core::Fact;
use windlass_core::event::{CallFact, ModelFact, RunFact};
use windlass_read::json;
use windlass_read::reports::{Comparison, PlacedEvent, comparable, compare_runs};
use windlass_read::words::differences;
use windlass_read::words::{Calls, Cuts, phrase};
use windlass_read::words::{count, usage};

use super::find;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;

const HELP: &str = "\
Shows what two runs have in common (a shared base, or equal events from the start; times do not count), where they \
first differ, and what each of them did from there on. The exit code is 0 if they did the same, else 1.

Examples:
  windlass runs diff 5b2e1c90 last
  windlass runs diff 5b2e1c90 last --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct DiffArgs {
    /// A run's id, the beginning or end of one, or `last`
    #[arg(value_name = "A")]
    one: String,
    /// The other run
    #[arg(value_name = "B")]
    other: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: DiffArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, one) = find::open(log_args, &args.one).await?;
    let (_, other) = find::open(log_args, &args.other).await?;
    let comparison = compare_runs(&*log, one, other).await?;
    if args.json {
        out::json(&json::comparison(&comparison))?;
    } else {
        let cuts = Cuts::default();
        plain(&comparison, &cuts)?;
        if cuts.any() {
            let log = log_args.words();
            out::note(format_args!(
                "lines that end with … were cut: `windlass runs diff{log} {one} {other} --json` shows everything"
            ));
        }
    }
    Ok(if comparison.is_same() { Exit::Good } else { Exit::Failed })
}

fn plain(comparison: &Comparison, cuts: &Cuts) -> std::io::Result<()> {
    let sides = [("A", &comparison.a), ("B", &comparison.b)];
    for (name, side) in sides {
        let status = side.status.map_or_else(|| "not ended".to_owned(), |status| status.to_string());
        out::line(format_args!("{name} {}: {status}, {}", side.run, usage(&side.usage, side.cost_usd)))?;
    }
    let shared = comparison.shared();
    let on_base = if shared > 0 { format!(" ({shared} of a shared base)") } else { String::new() };
    out::line(format_args!("in common: {}{on_base}", count(comparison.common as u64, "event")))?;
    if comparison.is_same() {
        return out::line("the runs do not differ");
    }
    first_difference(comparison, cuts)?;
    for (name, side) in sides {
        out::line(format_args!("\n{name} from there on"))?;
        let calls = calls(&side.events);
        let rest = side.events.iter().skip(comparison.common);
        let mut any = false;
        for placed in rest.filter(|placed| matters(&placed.event.fact)) {
            any = true;
            out::line(format_args!("  {}", phrase(&placed.event.fact, &calls, cuts)))?;
        }
        if !any {
            out::line("  nothing")?;
        }
    }
    Ok(())
}

fn first_difference(comparison: &Comparison, cuts: &Cuts) -> std::io::Result<()> {
    let (one, other) = comparison.first_difference();
    out::line("\nfirst difference")?;
    for (name, side, first) in [("A", &comparison.a, one), ("B", &comparison.b, other)] {
        match first {
            Some(first) => {
                let did = phrase(&first.event.fact, &calls(&side.events), cuts);
                out::line(format_args!("  {name} {did} (its event {})", first.seq))?;
            }
            None => out::line(format_args!("  {name} did nothing more"))?,
        }
    }
    let (Some(one), Some(other)) = (one, other) else { return Ok(()) };
    if one.event.fact.kind() != other.event.fact.kind() {
        return Ok(());
    }
    let [one, other] = [one, other].map(|placed| json::data(&comparable(&placed.event)));
    for line in differences::lines(&one, &other, " | ", cuts) {
        out::line(format_args!("    {line}"))?;
    }
    Ok(())
}

/// The calls of a run, each with the arguments that it runs with.
fn calls(events: &[PlacedEvent]) -> Calls {
    let mut calls = Calls::default();
    for placed in events {
        calls.learn(&placed.event.fact);
    }
    calls
}

/// Whether the event says something that its neighbours do not.
fn matters(fact: &Fact) -> bool {
    !matches!(
        fact,
        Fact::Run(RunFact::Started(_)) | Fact::Model(ModelFact::Started(_)) | Fact::Call(CallFact::Held(_))
    )
}
