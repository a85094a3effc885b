//! `windlass runs replay`.

use std::path::PathBuf;

use clap::Args;
use serde_json::Value;
use windlass_core::run::Difference;
use windlass_core::{Event, State};
use windlass_read::json;
use windlass_read::load_until;
use windlass_read::reports::replay_run;
use windlass_read::words::count;
use windlass_read::words::differences;
use windlass_read::words::{Calls, Cuts, phrase};

use super::find;
use crate::agents;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::out;

const HELP: &str = "\
Decides on the run once more, append by append, from what came from outside: no model is asked and no tool is run. \
Says `same`, or names the first event that differs, with exit code 1. With another version of Windlass or another \
agent's file that is the first place where the run would have gone another way.

Examples:
  windlass runs replay last
  windlass runs replay last --agent changed.yaml";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ReplayArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN")]
    run: String,
    /// Start it with the policy, instructions and tools of this file
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: ReplayArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    out::calm(args.json);
    let (log, run) = find::open(log_args, &args.run).await?;
    let replayed = match &args.agent {
        Some(path) => {
            let mut interrupts = Interrupts::listen()?;
            let (log, _) = find::open_log(log_args, &args.run).await?;
            let agent = agents::to_look_at(path, run, &log, &mut interrupts).await?;
            agent.agent.replay(run).await?
        }
        None => replay_run(&*log, run, None).await?,
    };
    if args.json {
        out::json(&json::replayed(run, &replayed))?;
        return Ok(if replayed.difference.is_some() { Exit::Failed } else { Exit::Good });
    }
    match &replayed.difference {
        None => {
            let (appends, events) = (count(replayed.appends, "append"), count(replayed.events, "event"));
            out::line(format_args!("{appends}, {events}: same"))?;
            Ok(Exit::Good)
        }
        Some(difference) => {
            let before = load_until(&*log, run, difference.seq - 1).await?;
            Err(differs(&before, difference, log_args))
        }
    }
}

/// The first event that differs: what the run did, and what it would do now. `before` is the run's state until there.
fn differs(before: &State, difference: &Difference, log: &LogArgs) -> Failure {
    let (run, seq) = (before.run(), difference.seq);
    let (calls, cuts) = (Calls::of(before), Cuts::default());
    let did = |side: &Option<Event>| match side {
        Some(event) => {
            // The call of a reply is known from the reply itself.
            let mut calls = calls.clone();
            calls.learn(&event.fact);
            phrase(&event.fact, &calls, &cuts)
        }
        None => "did nothing more".to_owned(),
    };
    let (then, now) = (did(&difference.expected), did(&difference.found));
    let message = format!("run {run} does not replay: event {seq} differs");
    let mut failure = Failure::new(Exit::Failed, message)
        .detail(format!("recorded: the run {then}"))
        .detail(format!("now: the run {now}"));
    if let (Some(expected), Some(found)) = (&difference.expected, &difference.found)
        && expected.fact.kind() == found.fact.kind()
    {
        for line in differences::lines(&body(expected), &body(found), ", now ", &cuts) {
            failure = failure.detail(format!("  {line}"));
        }
    }
    if let Some(reason) = &difference.reason {
        failure = failure.cause(reason.as_str());
    }
    let words = log.words();
    if cuts.any() {
        failure = failure.hint(format!("`windlass runs replay{words} {run} --json` shows both sides whole"));
    }
    failure.hint(format!("`windlass runs show{words} -e {run}` shows what happened"))
}

fn body(event: &Event) -> Value {
    let mut value = json::event(0, event);
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| matches!(name.as_str(), "at" | "event" | "data"));
    }
    value
}
