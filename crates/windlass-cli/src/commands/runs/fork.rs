//! `windlass runs fork`.

use std::path::PathBuf;

use clap::Args;
use windlass_read::load_until;
use windlass_read::words::{count, usage};
use windlass_runtime::host::Forked;
use windlass_runtime::{DriveOptions, Error, ForkOptions, RunMessages, Saved};

use super::find;
use super::go_on::GoOn;
use crate::agents::{self, Again, Wanted, changed};
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::out;
use crate::view::ViewArgs;

const HELP: &str = "\
Begins a new run that goes on from where RUN stood after its event N (`windlass runs show -e RUN` numbers them). What \
came before is shared, not copied, and nothing of it is done or paid again: tool calls that RUN has ended keep their \
result, those that it lost follow their tool's effect. People are asked anew: no approval is inherited. \
INPUT is said to the agent as it goes on; after the end of RUN it begins anew with it. \
With another agent's file its instructions, policy, tools and models apply from there on.

Examples:
  windlass runs fork last --at 4
  windlass runs fork last --at 4 --with changed.yaml
  windlass runs fork last --at 12 'Look at the other folder, too.'";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ForkArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN")]
    pub(super) run: String,
    /// The event after which the new run continues
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) at: u64,
    /// The agent's file, where it has moved or changed: the new run follows it
    #[arg(long, value_name = "FILE")]
    pub(super) with: Option<PathBuf>,
    /// Message to the agent
    #[arg(value_name = "INPUT")]
    pub(super) input: Option<String>,
    #[command(flatten)]
    pub(super) view: ViewArgs,
}

pub(super) async fn run(args: ForkArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let interrupts = Interrupts::listen()?;
    let (log, base) = find::open_log(log_args, &args.run).await?;
    let state = load_until(&*log, base, args.at).await?;
    let mut go_on = GoOn { log_args, log, view: args.view, interrupts, unpause: None, cassette: None };
    let again = Again::new(format!("windlass runs fork{} {base} --at {}", log_args.words(), args.at))
        .then(args.input.as_deref());
    let wanted = Wanted { with: args.with.as_deref(), agents: &[], replaces: true, again };
    let found = go_on.agent(&state, &wanted).await?;
    let terminal = go_on.terminal(&found);
    let people = terminal.people();
    let how = ForkOptions { at: args.at, changed: found.named, say: args.input.map(RunMessages::from) };
    let options = DriveOptions { hold_for_quota: people.is_some(), people, ..DriveOptions::default() };
    let fork = agents::client(&go_on.log).fork(base, &found.agent, how, options).await;
    let Forked { run: id, saved, live } = fork.map_err(|error| changed(error, &found.path, &wanted.again))?;
    let live = live.ok_or(Error::Repeated { run: id })?;
    if args.view.json {
        out::json(&saved.to_json(base, args.at, id))?;
    } else if !args.view.quiet {
        out::note(format_args!("run {id} continues from event {} of {base}; {}", args.at, words(&saved)));
    }
    go_on.finish(live, &state, &found, terminal).await
}

fn words(saved: &Saved) -> String {
    if saved.model_calls + saved.tool_calls == 0 {
        return "no work was done by then".to_owned();
    }
    let calls = [count(saved.model_calls, "model call"), count(saved.tool_calls, "tool call")].join(" and ");
    format!("not repeated: {calls}, {}", usage(&saved.usage, Some(saved.cost as f64 / 1e12)))
}
