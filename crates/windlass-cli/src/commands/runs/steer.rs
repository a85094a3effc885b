//! `windlass runs steer`.

use clap::Args;
use windlass_runtime::control::{Delivery, steer};

use super::find;
use crate::agents::now;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::out;

#[derive(Debug, Args)]
pub(super) struct SteerArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN")]
    run: String,
    /// Message to the agent
    #[arg(value_name = "TEXT", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    text: Vec<String>,
}

pub(super) async fn run(args: SteerArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let (log, run) = find::open(log_args, &args.run).await?;
    match steer(&*log, run, now(), args.text.join(" ").into()).await? {
        Delivery::Driven(_) => out::note("the message enters at the run's next turn"),
        Delivery::Waiting => out::note(format_args!(
            "the run has no driver now; the message enters after `windlass runs resume{} {run}`",
            log_args.words()
        )),
    }
    Ok(Exit::Good)
}
