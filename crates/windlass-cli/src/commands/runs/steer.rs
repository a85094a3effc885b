//! `windlass runs steer` and `windlass runs pause`.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use windlass_api::SteerRun;
use windlass_core::event::{SteerKind, Steered};
use windlass_runtime::control::Delivery;
use windlass_runtime::host::Request;

use super::{find, word};
use crate::agents::client;
use crate::attachments::AttachArgs;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::input::sent;
use crate::out;

const HELP: &str = "\
Kinds: `steering` (usual) is something to take into account, `correction` something that the agent has got wrong, \
`clarification` what an earlier message meant. An `objective` takes the place of the agent's instructions from the \
next turn on. Options stand before RUN.

Examples:
  windlass runs steer last also in French
  windlass runs steer --kind correction last the year is 2025
  windlass runs steer -a plan.png last this is the plan
  windlass runs steer --kind objective last write the tests first";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct SteerArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN")]
    pub(super) run: String,
    /// Message to the agent
    #[arg(value_name = "TEXT", required = true, trailing_var_arg = true, allow_hyphen_values = true, value_parser = word)]
    pub(super) text: Vec<String>,
    /// The kind of the message
    #[arg(long, value_name = "KIND", default_value = SteerKind::Steering.name(), value_parser = kinds())]
    pub(super) kind: SteerKind,
    #[command(flatten)]
    pub(super) attach: AttachArgs,
}

impl SteerArgs {
    /// The request for a server.
    pub(super) fn on_a_server(&self) -> Result<SteerRun, Failure> {
        let parts = self.attach.read()?.into_iter().filter_map(sent).collect();
        let (kind, pin) = (self.kind, self.attach.pin);
        Ok(SteerRun { message: self.text.join(" "), parts, kind, pin, seen: None })
    }
}

fn kinds() -> impl TypedValueParser<Value = SteerKind> {
    let names = PossibleValuesParser::new(SteerKind::ALL.map(SteerKind::name));
    names.map(|name| SteerKind::ALL.into_iter().find(|kind| kind.name() == name).unwrap_or_default())
}

const PAUSE_HELP: &str = "\
Calls that are going on come to their end, and the model is not asked again. The run waits then, also across restarts, \
until `windlass runs resume RUN`. To stop it for good: `windlass runs cancel RUN`.

Examples:
  windlass runs pause last
  windlass runs pause last until the meeting is over";

#[derive(Debug, Args)]
#[command(after_help = PAUSE_HELP)]
pub(super) struct PauseArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN")]
    pub(super) run: String,
    /// Why it is paused
    #[arg(value_name = "REASON", trailing_var_arg = true)]
    pub(super) reason: Vec<String>,
}

pub(super) async fn run(args: SteerArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, run) = find::open_log(log_args, &args.run).await?;
    let (parts, pinned) = (args.attach.read()?, args.attach.pin);
    let message = Steered { pinned, parts, ..Steered::new(args.kind, args.text.join(" ")) };
    match client(&log).steer(run, message, Request::default()).await? {
        Delivery::Driven(_) | Delivery::Taken => out::note("the message enters at the run's next turn"),
        Delivery::Waiting => out::note(format_args!(
            "the run has no driver now; the message enters after `windlass runs resume{} {run}`",
            log_args.words()
        )),
    }
    Ok(Exit::Good)
}

pub(super) async fn pause_run(args: PauseArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, run) = find::open_log(log_args, &args.run).await?;
    let reason = (!args.reason.is_empty()).then(|| args.reason.join(" ").into());
    let words = log_args.words();
    match client(&log).pause(run, reason, Request::default()).await? {
        Delivery::Driven(_) | Delivery::Taken => out::note(format_args!(
            "the run pauses once its calls have ended; `windlass runs resume{words} {run}` continues it"
        )),
        Delivery::Waiting => {
            out::note(format_args!(
                "the run has no driver now; it is paused before its next model call; \
                 `windlass runs resume{words} {run}` continues it"
            ));
        }
    }
    Ok(Exit::Good)
}
