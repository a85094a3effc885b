//! `windlass runs diff`.

use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};
use windlass_core::{CallId, Event, Fact, RunId, shown_args};
use windlass_runtime::{load, numbered};
use windlass_store::EventLog;

use super::{find, show};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::view::words::{LINE_CHARS, count, cut, outcome, usage};
use crate::view::{differences, json};

/// How many runs may stand one upon another.
const DEEPEST_BASE: usize = 100_000;

const HELP: &str = "\
Shows what two runs have in common (a shared base, or equal events from the start; times do not count), where they
first differ, and what each of them did from there on. The exit code is 0 if they did the same, else 1.

Examples:
  windlass runs diff 0199aabbccdd last
  windlass runs diff 0199aabbccdd last --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct DiffArgs {
    /// A run's id, the beginning of one, or `last`
    #[arg(value_name = "A")]
    one: String,
    /// The other run
    #[arg(value_name = "B")]
    other: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

/// An event of a line of runs, with where it stands.
struct Placed {
    run: RunId,
    seq: u64,
    event: Event,
}

/// A run with all that it stands on.
struct Told {
    run: RunId,
    events: Vec<Placed>,
    status: String,
    usage: String,
}

pub(super) async fn run(args: DiffArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, one) = find::open(log_args, &args.one).await?;
    let (_, other) = find::open(log_args, &args.other).await?;
    let log: Arc<dyn EventLog> = log;
    let (one, other) = (told(&*log, one).await?, told(&*log, other).await?);
    let common = one.events.iter().zip(&other.events).take_while(|(one, other)| same(one, other)).count();
    let equal = common == one.events.len() && common == other.events.len();
    if args.json {
        out::json(&as_json(&one, &other, common))?;
    } else {
        plain(&one, &other, common, equal)?;
    }
    Ok(if equal { Exit::Good } else { Exit::Failed })
}

/// All events that a run stands on, and its own. The start of a fork is no event of the line: nothing happens there.
async fn told(log: &dyn EventLog, run: RunId) -> Result<Told, Failure> {
    let state = load(log, run).await?;
    let mut pieces = Vec::new();
    let (mut next, mut until) = (Some(run), u64::MAX);
    while let Some(run) = next.filter(|_| pieces.len() < DEEPEST_BASE) {
        let mut events = Vec::new();
        show::each(log, run, |batch| {
            let own = numbered(batch).filter(|(seq, _)| *seq <= until);
            events.extend(own.map(|(seq, event)| Placed { run, seq, event: event.clone() }));
            Ok(())
        })
        .await?;
        let base = events.first().and_then(|first| match &first.event.fact {
            Fact::RunStarted(start) => start.base.clone(),
            _ => None,
        });
        if base.is_some() {
            events.retain(|placed| !is_fork(&placed.event));
        }
        pieces.push(events);
        next = base.as_ref().map(|base| base.run);
        until = base.map_or(0, |base| base.version);
    }
    let status = match state.ended() {
        Some(end) => end.status.to_string(),
        None => "not ended".to_owned(),
    };
    let used = usage(state.usage(), state.cost().map(|pico| pico as f64 / 1e12));
    Ok(Told { run, events: pieces.into_iter().rev().flatten().collect(), status, usage: used })
}

fn is_fork(event: &Event) -> bool {
    matches!(&event.fact, Fact::RunStarted(start) if matches!(start.input, windlass_core::RunInput::Fork(_)))
}

/// The same event of a shared base, or the same fact. Runs of their own differ in their ids only.
fn same(one: &Placed, other: &Placed) -> bool {
    one.run == other.run && one.seq == other.seq || fact(&one.event) == fact(&other.event)
}

fn fact(event: &Event) -> Fact {
    let mut fact = event.fact.clone();
    match &mut fact {
        Fact::RunStarted(start) => {
            start.run = RunId::from_number(0);
            start.session = None;
            // Under salts of their own they say nothing about each other; the agent's digest does.
            start.seals = None;
        }
        Fact::Adjusted(adjusted) => adjusted.seals = None,
        Fact::RunResumed(resumed) => {
            resumed.epoch = 0;
            resumed.holder = "".into();
        }
        Fact::CallRetried(retried) => retried.retry_at = 0,
        Fact::TurnFailed(failed) => failed.retry_at = failed.retry_at.map(|_| 0),
        _ => {}
    }
    fact
}

fn plain(one: &Told, other: &Told, common: usize, equal: bool) -> std::io::Result<()> {
    out::line(format_args!("A {}: {}, {}", one.run, one.status, one.usage))?;
    out::line(format_args!("B {}: {}, {}", other.run, other.status, other.usage))?;
    let shared = one.events.iter().zip(&other.events).take(common);
    let shared = shared.filter(|(one, other)| one.run == other.run).count() as u64;
    let on_base = if shared > 0 { format!(" ({shared} of a shared base)") } else { String::new() };
    out::line(format_args!("in common: {}{on_base}", count(common as u64, "event")))?;
    if equal {
        return out::line("they did the same");
    }
    out::line("")?;
    first_difference(one.events.get(common), other.events.get(common))?;
    for (name, told) in [("A", one), ("B", other)] {
        out::line(format_args!("\n{name} from there on"))?;
        let names = names(&told.events);
        let mut any = false;
        for line in told.events.iter().skip(common).filter_map(|placed| step(&placed.event, &names)) {
            any = true;
            out::line(format_args!("  {line}"))?;
        }
        if !any {
            out::line("  nothing")?;
        }
    }
    Ok(())
}

fn first_difference(one: Option<&Placed>, other: Option<&Placed>) -> std::io::Result<()> {
    let name = |placed: Option<&Placed>| match placed {
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
    let fact = fact(event);
    fact.body().ok().and_then(|body| serde_json::from_str(&body).ok()).unwrap_or_default()
}

type Names<'e> = Vec<(&'e CallId, &'e str, &'e str)>;

fn names(events: &[Placed]) -> Names<'_> {
    let turns = events.iter().filter_map(|placed| match &placed.event.fact {
        Fact::TurnCompleted(turn) => Some(&turn.calls),
        _ => None,
    });
    turns.flatten().map(|call| (&call.id, &*call.name, &*call.args)).collect()
}

/// What an event did, in a line; `None`: nothing that a reader would miss.
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
        Fact::LimitReached(reached) => Some(format!("the limit {} is reached", reached.limit)),
        Fact::CancelRequested(_) => Some("cancelled".to_owned()),
        Fact::RunEnded(end) => {
            let text = end.text.as_deref().or(end.error.as_deref()).unwrap_or_default();
            Some(format!("ended {}: {}", end.status, cut(text, LINE_CHARS)))
        }
        _ => None,
    }
}

fn as_json(one: &Told, other: &Told, common: usize) -> Value {
    let side = |told: &Told| {
        let rest = told.events.iter().skip(common);
        json!({
            "run": told.run,
            "status": told.status,
            "events": rest.map(|placed| {
                let mut event = json::event(placed.seq, &placed.event);
                if let Some(fields) = event.as_object_mut() {
                    fields.insert("run".to_owned(), json!(placed.run));
                }
                event
            }).collect::<Vec<_>>(),
        })
    };
    json!({ "type": "diff", "common": common, "a": side(one), "b": side(other) })
}
