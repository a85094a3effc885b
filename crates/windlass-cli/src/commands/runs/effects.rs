//! `windlass runs effects`.

use clap::Args;
use windlass_core::RunId;
use windlass_core::text::display_args;
use windlass_read::ListPages;
use windlass_read::json;
use windlass_read::reports::{CallEffects, EffectStep, effects, with_delegates};
use windlass_read::words::{LINE_CHARS, count, cut, name, outcome, time};
use windlass_store::RunFilter;

use super::find;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;
use crate::remote::Reach;

const HELP: &str = "\
For each call that was begun: its tool, what running it twice would do, the idempotency key that its tool was given, \
each try (durable before it ran), what came back, and what was in doubt after a crash and who settled it. The calls of \
the agents that the run handed tasks to follow its own.

Examples:
  windlass runs effects last
  windlass runs effects --all --json";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct EffectsArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN", required_unless_present = "all", conflicts_with = "all")]
    run: Option<String>,
    /// Of all runs of the log, the newest first
    #[arg(long)]
    all: bool,
    /// One JSON object a call
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: EffectsArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    if let Some(word) = &args.run {
        let (log, run) = find::open(log_args, word).await?;
        let mut none = true;
        for one in with_delegates(&*log, run).await? {
            let calls = effects(&*log, one).await?;
            if one != run && !calls.is_empty() && !args.json {
                let agent = log.summary(one).await?.agent;
                out::line(format_args!("run {one} of the agent `{}`", name(&agent)))?;
            }
            none &= calls.is_empty();
            show(one, &calls, args.json)?;
        }
        if none && !args.json {
            out::note("no call was started");
        }
        return Ok(Exit::Good);
    }
    let Some(log) = Reach::of(log_args)?.store() else { return Ok(Exit::Good) };
    let mut pages = ListPages::new(&*log, RunFilter::default());
    while let Some(page) = pages.next().await? {
        for line in &page {
            let calls = effects(&*log, line.run).await?;
            if !args.json && !calls.is_empty() {
                out::line(format_args!("run {}", line.run))?;
            }
            show(line.run, &calls, args.json)?;
        }
    }
    Ok(Exit::Good)
}

fn show(run: RunId, calls: &[CallEffects], as_json: bool) -> std::io::Result<()> {
    for call in calls {
        if as_json {
            out::json(&json::call_effects(run, call))?;
        } else {
            plain(call)?;
        }
    }
    Ok(())
}

fn plain(call: &CallEffects) -> std::io::Result<()> {
    let tries = match call.attempts() {
        0 => "not run here".to_owned(),
        tries => format!("tried {}", if tries == 1 { "once".to_owned() } else { format!("{tries} times") }),
    };
    let doubts = match call.doubts().len() {
        0 => String::new(),
        doubts => format!(", {}", count(doubts as u64, "doubt")),
    };
    let words = format!(
        "{} {} {}",
        name(call.call.as_str()),
        name(&call.tool),
        cut(&display_args(&call.args), LINE_CHARS)
    );
    out::line(format_args!("{words}\n  effect {}, {tries}{doubts}", json::effect(call.effect)))?;
    out::line(format_args!("  key    {}", call.key))?;
    for entry in &call.entries {
        let words = cut(&step(&entry.what, call, entry.seq), LINE_CHARS);
        out::line(format_args!("  {:>5}  {}  {words}", entry.seq, time(entry.at)))?;
    }
    Ok(())
}

fn step(step: &EffectStep, call: &CallEffects, seq: u64) -> String {
    match step {
        EffectStep::Intent { attempt } => format!("begins, try {attempt}"),
        EffectStep::Failed(failed) => format!("{}; retried", outcome(failed)),
        EffectStep::Doubt(lost) => {
            let settled = call.doubts().into_iter().find(|(doubt, _)| *doubt == seq);
            let settled = settled.and_then(|(_, settled)| settled).map_or("open", |settled| settled.name());
            let lost = lost.as_ref().map_or_else(|| "the process died".to_owned(), outcome);
            format!("in doubt: {lost} ({settled})")
        }
        EffectStep::Asked(question) => format!("asked a person ({question})"),
        EffectStep::Settled(answer) => format!("a person answered: {}", answer.name()),
        EffectStep::Receipt(ended) if call.attempts() == 0 && call.doubts().is_empty() => {
            format!("ended in the base run: {}", outcome(ended))
        }
        EffectStep::Receipt(ended) => format!("ended: {}", outcome(ended)),
    }
}
