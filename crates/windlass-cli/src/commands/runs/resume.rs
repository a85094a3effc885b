//! `windlass runs resume`.

use std::path::PathBuf;

use clap::Args;
use windlass_core::policy::LimitKind;
use windlass_core::{Answer, Status};
use windlass_read::load;
use windlass_runtime::Unpause;
use windlass_runtime::control::{answer as answer_paused, pause_waits, resumed_at};
use windlass_store::Index;

use super::go_on::GoOn;
use super::{all, find};
use crate::agents::{Again, Wanted, changed, now};
use crate::cassettes::CassetteArgs;
use crate::drive::in_session;
use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::out;
use crate::overrides;
use crate::remote::{Resuming, Server, not_on_a_server};
use crate::view::ViewArgs;

const HELP: &str = "\
Goes on from the last event: finished tool calls are not run again. Calls that had started when the process died \
follow their tool's effect: read_only and idempotent ones run again, for `once` a person is asked. \
A pause is over then. A run that a limit cut goes on with a higher one, as a new run that begins where the old one ended.

Examples:
  windlass runs resume last
  windlass runs resume --all
  windlass runs resume --all --wait
  windlass runs resume last --limit model_calls=20
  windlass runs resume last --record rest.cassette
  windlass runs resume 5b2e1c90 --with changed-agent.yaml";

#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(super) struct ResumeArgs {
    /// The run's id, the beginning or end of one, or `last`
    #[arg(value_name = "RUN", required_unless_present = "all", conflicts_with = "all")]
    pub(super) run: Option<String>,
    /// All runs that can go on: of processes that died, and those whose answer has come or whose timer is due
    #[arg(long, conflicts_with_all = ["with", "agents", "limits", "record", "replay"])]
    pub(super) all: bool,
    /// Go on looking, each second, for runs that can go on, until Ctrl-C or another signal
    #[arg(long, requires = "all")]
    pub(super) wait: bool,
    /// The agent's file, where it has moved or changed
    #[arg(long, value_name = "FILE")]
    pub(super) with: Option<PathBuf>,
    /// The new place of an agent that the run was started with as `--agent NAME=FILE` (may be repeated)
    #[arg(long = "agent", value_name = "NAME=FILE", value_parser = overrides::delegate)]
    pub(super) agents: Vec<(String, PathBuf)>,
    /// Raise the limit that cut the run (may be repeated)
    #[arg(long = "limit", value_name = "NAME=N", value_parser = overrides::limit)]
    pub(super) limits: Vec<(LimitKind, f64)>,
    /// With the end of a pause, say this to the agent
    #[arg(long, value_name = "TEXT", conflicts_with = "all")]
    pub(super) say: Option<String>,
    #[command(flatten)]
    pub(super) cassette: CassetteArgs,
    #[command(flatten)]
    pub(super) view: ViewArgs,
}

impl ResumeArgs {
    /// The request to a server.
    pub(super) async fn on_a_server(self, server: &Server) -> Result<Resuming, Failure> {
        let Some(word) = &self.run else {
            return Err(Failure::new(Exit::Usage, "a server goes on with all runs that can go on by itself")
                .hint("`windlass runs list --status suspended` shows those that wait"));
        };
        if !self.agents.is_empty() || self.cassette.is_given() {
            return Err(not_on_a_server());
        }
        let run = find::run(&*server.store, word).await?;
        let with = self.with.map(|name| name.display().to_string());
        Ok(Resuming { run, limits: self.limits, message: self.say, with, view: self.view })
    }
}

pub(super) async fn run(args: ResumeArgs, log_args: &LogArgs) -> Result<Exit, Failure> {
    let interrupts = Interrupts::listen()?;
    let Some(word) = &args.run else {
        return all::run(log_args, args.view, args.wait, interrupts).await;
    };
    let (log, named) = find::open_log(log_args, word).await?;
    let run = resumed_at(&*log, named).await?;
    if run != named {
        out::note(format_args!("run {named} does a task of run {run}, which is resumed"));
    }
    let state = load(&*log, run).await?;
    match (state.ended().map(|end| end.status), args.limits.is_empty()) {
        (Some(Status::Limit(limit)), true) => {
            let most = state.cut_by().map_or_else(|| limit.to_string(), |cut| limit.amount(cut.max));
            let stopped = Failure::new(Exit::Usage, format!("run {run} stopped at its limit of {most}"));
            let log = log_args.words();
            let hint = if LimitKind::SETTABLE.contains(&limit) {
                Some(format!("raise it: `windlass runs resume{log} {run} --limit {limit}=N`"))
            } else {
                state.session().map(|session| in_session(&format!("windlass run{log} FILE"), session))
            };
            return Err(stopped.maybe_hint(hint));
        }
        (None, false) => {
            return Err(Failure::new(
                Exit::Usage,
                format!("run {run} has not ended, so its limits cannot be raised yet"),
            )
            .hint("resume it without `--limit`; a limit can be raised once the run has stopped at it"));
        }
        _ => {}
    }
    let paused = state.pause().map(|open| open.id.clone());
    // One that was asked for while nobody drove the run counts from the take-over on.
    let waits = state.ended().is_none() && pause_waits(&*log, run).await?;
    if paused.is_none() && !waits && args.say.is_some() {
        return Err(Failure::new(Exit::Usage, format!("run {run} is not paused, so `--say` has no place"))
            .hint(format!("`windlass runs steer{} {run} TEXT` says something to it", log_args.words())));
    }
    let text = args.say.map(Into::into);
    let is_paused = paused.is_some();
    if let (Some(question), Some(holder)) = (paused, log.summary(run).await?.holder) {
        answer_paused(&*log, run, now(), question, Answer::Resume { text }).await?;
        out::note(format_args!("the pause is over; {} goes on with the run", holder.0));
        return Ok(Exit::Good);
    }
    let unpause = Some(Unpause { text });
    let cassette = args.cassette.open()?;
    let mut go_on = GoOn { log_args, log: log.clone(), view: args.view, interrupts, unpause, cassette };
    let again =
        Again::new(format!("windlass runs resume{} {run}", log_args.words())).then_limits(&args.limits);
    let wanted = Wanted { with: args.with.as_deref(), agents: &args.agents, replaces: false, again };
    let found = go_on.agent(&state, &wanted).await?;
    if is_paused && let Err(error) = found.resume(run).check().await {
        return Err(changed(error, &found.path, &wanted.again).detail("the run is still paused"));
    }
    Box::pin(go_on.drive(&state, found, &args.limits, &wanted.again)).await
}
