//! `windlass runs diff`.

use clap::Args;
use serde_json::Value;
use windlass_core::event::Decision;
use windlass_core::text::shown_args;
use windlass_core::{CallId, Event, Fact};
use windlass_runtime::projections::{Comparison, PlacedEvent, comparable, compare_runs, json};

use super::find;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::view::differences;
use crate::view::words::{LINE_CHARS, count, cut, limit, outcome, usage};

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
        plain(&comparison)?;
    }
    Ok(if comparison.is_same() { Exit::Good } else { Exit::Failed })
}

fn plain(comparison: &Comparison) -> std::io::Result<()> {
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
    out::line("")?;
    let (one, other) = comparison.first_difference();
    first_difference(one, other)?;
    for (name, side) in sides {
        out::line(format_args!("\n{name} from there on"))?;
        let names = names(&side.events);
        let rest = side.events.iter().skip(comparison.common);
        let mut any = false;
        for line in rest.filter_map(|placed| step(&placed.event, &names)) {
            any = true;
            out::line(format_args!("  {line}"))?;
        }
        if !any {
            out::line("  nothing")?;
        }
    }
    Ok(())
}

fn first_difference(one: Option<&PlacedEvent>, other: Option<&PlacedEvent>) -> std::io::Result<()> {
    let name = |placed: Option<&PlacedEvent>| match placed {
        Some(placed) => format!("{} (its event {})", placed.event.fact.kind(), placed.seq),
        None => "nothing more".to_owned(),
    };
    out::line(format_args!("first difference: A {}, B {}", name(one), name(other)))?;
    let (Some(one), Some(other)) = (one, other) else { return Ok(()) };
    if one.event.fact.kind() != other.event.fact.kind() {
        return Ok(());
    }
    for line in differences::lines(&data(&one.event), &data(&other.event)) {
        out::line(format_args!("  {}", line.replace(", now ", " | ")))?;
    }
    Ok(())
}

fn data(event: &Event) -> Value {
    comparable(event).body().ok().and_then(|body| serde_json::from_str(&body).ok()).unwrap_or_default()
}

type Names<'e> = Vec<(&'e CallId, &'e str, &'e str)>;

/// The calls, each with the arguments that it runs with.
fn names(events: &[PlacedEvent]) -> Names<'_> {
    let mut names: Names<'_> = Vec::new();
    for placed in events {
        if let Fact::TurnCompleted(turn) = &placed.event.fact {
            names.extend(turn.calls.iter().map(|call| (&call.id, &*call.name, &*call.args)));
        } else if let Fact::CallDecided(decided) = &placed.event.fact
            && let Decision::Edited { args } = &decided.decision
            && let Some((.., old)) = names.iter_mut().rev().find(|(call, ..)| **call == decided.call)
        {
            *old = args;
        }
    }
    names
}

/// One line for an event; `None`: the event adds nothing for a reader.
fn step(event: &Event, names: &Names<'_>) -> Option<String> {
    let call = |id: &CallId| match names.iter().rev().find(|(call, ..)| *call == id) {
        Some((_, name, args)) => format!("{name} {}", cut(&shown_args(args), LINE_CHARS)),
        None => id.to_string(),
    };
    match &event.fact {
        Fact::TurnCompleted(turn) => {
            let text = turn.beside_calls().unwrap_or_default();
            let asks: Vec<_> = turn.calls.iter().map(|call| &*call.name).collect();
            let asks = if asks.is_empty() { String::new() } else { format!(" [calls {}]", asks.join(", ")) };
            Some(format!("turn {}: {}{asks}", turn.turn, cut(&text, LINE_CHARS)))
        }
        Fact::TurnFailed(failed) => Some(format!("turn {} failed: {}", failed.turn, failed.failure.message)),
        Fact::CallFinished(finished) => {
            let ended = cut(&outcome(&finished.outcome), LINE_CHARS);
            Some(format!("{} -> {ended}", call(&finished.call)))
        }
        Fact::DelegationFinished(finished) => {
            let ended = cut(&outcome(&finished.outcome), LINE_CHARS);
            Some(format!("{} -> {ended}", call(&finished.call)))
        }
        Fact::InputRequested(asked) => Some(format!("asked: {}", cut(&asked.text, LINE_CHARS))),
        Fact::InputReceived(received) => Some(format!("answered: {}", received.answer.name())),
        Fact::Steered(steered) => Some(format!("told: {}", cut(&steered.text, LINE_CHARS))),
        Fact::LimitReached(reached) => Some(format!("limit reached: {}", limit(reached))),
        Fact::CancelRequested(_) => Some("cancelled".to_owned()),
        Fact::RunEnded(end) => {
            let text = end.text.as_deref().or(end.error.as_deref()).unwrap_or_default();
            Some(format!("ended {}: {}", end.status, cut(text, LINE_CHARS)))
        }
        Fact::RunStarted(_)
        | Fact::RunResumed(_)
        | Fact::TurnStarted(_)
        | Fact::CallHeld(_)
        | Fact::CallDecided(_)
        | Fact::ToolAllowed(_)
        | Fact::CallStarted(_)
        | Fact::CallRetried(_)
        | Fact::CallDoubted(_)
        | Fact::DelegationStarted(_)
        | Fact::Adjusted(_)
        | Fact::HistoryEdited(_)
        | Fact::StepBranched(_)
        | Fact::OutputRejected(_)
        | Fact::LimitRaised(_) => None,
    }
}
