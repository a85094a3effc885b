//! `windlass runs`: what there is, how it went, and reaching runs from another process.

mod all;
pub(crate) mod answer;
mod approvals;
mod artifacts;
mod backup;
mod cancel;
pub(crate) mod costs;
mod diff;
mod effects;
mod export;
pub(crate) mod find;
mod fork;
mod go_on;
mod import;
pub(crate) mod list;
pub(crate) mod listed;
mod measures;
pub(crate) mod prune;
mod replay;
mod request;
mod resume;
pub(crate) mod short;
pub(crate) mod show;
pub(crate) mod since;
mod stats;
mod steer;
mod watch;

use clap::{Args, Command, Subcommand};
use windlass_api::ForkRun;

use crate::failure::{Exit, Failure};
use crate::home::LogArgs;
use crate::interrupts::Interrupts;
use crate::remote::{self, Server, only_on_a_log};

const HELP: &str = "\
RUN is a run's id, the end or the beginning of one (6 digits or more), or `last`. `windlass runs list` shows ends that \
denote one run.

Examples:
  windlass runs list --status suspended
  windlass runs show last
  windlass runs answer last q1 approve
  windlass runs resume last --limit model_calls=20
  windlass runs watch last --json";

/// The arguments of `windlass runs`.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct RunsArgs {
    #[command(subcommand)]
    command: RunsCommand,
    #[command(flatten)]
    log: LogArgs,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    /// List runs, newest first
    List(list::ListArgs),
    /// Show a run: how it stands, what was said, what it waits for
    Show(show::ShowArgs),
    /// Follow a run until it ends, whichever process drives it
    Watch(watch::WatchArgs),
    /// Answer a question of a run, and resume the run here unless another process drives it
    Answer(answer::AnswerArgs),
    /// Go on with a run: after a crash, when it waits, or beyond the limit that cut it
    Resume(resume::ResumeArgs),
    /// Cancel a run, whichever process drives it
    Cancel(cancel::CancelArgs),
    /// Say something to a run: it enters at its next turn
    Steer(steer::SteerArgs),
    /// Pause a run: its calls come to their end, then it waits to be resumed
    Pause(steer::PauseArgs),
    /// List what the calls of a run did: intents, tries, receipts, doubts
    Effects(effects::EffectsArgs),
    /// List what a run keeps and what its models made: images, sound, files, long texts; or write one to a file
    Artifacts(artifacts::ArtifactsArgs),
    /// List what each model call of a run and of its tasks cost, with the sum
    Costs(costs::CostsArgs),
    /// Count what runs and their tools did: successes, retries, times, reliability
    Stats(stats::StatsArgs),
    /// Start a new run that continues from any event of another run
    Fork(fork::ForkArgs),
    /// Replay a run's decisions from its recorded inputs and report the first event that differs, if any
    Replay(replay::ReplayArgs),
    /// Show where two runs part, and what each did from there on
    Diff(diff::DiffArgs),
    /// Write a run, and what it is based on, as JSON lines; or its events, or a session log
    Export(export::ExportArgs),
    /// Read runs that were exported elsewhere
    Import(import::ImportArgs),
    /// Copy the whole log to a file, while runs go on
    Backup(backup::BackupArgs),
    /// Delete old runs for good
    Prune(prune::PruneArgs),
}

/// A word of an answer or a message. An option of these commands behind it would silently be a part of it, and the command would act on
/// another log.
fn word(word: &str) -> Result<String, String> {
    let option = word.strip_prefix("--").and_then(|option| option.split('=').next());
    if let Some(option) = option {
        let commands =
            [answer::AnswerArgs::augment_args, steer::SteerArgs::augment_args, LogArgs::augment_args];
        let known = commands.into_iter().fold(Command::new("words"), |known, with| with(known));
        if known.get_arguments().any(|known| known.get_long() == Some(option)) {
            return Err(
                "options stand before RUN; a text with such a word stands in quotes as a whole".to_owned()
            );
        }
    }
    Ok(word.to_owned())
}

/// Carries out one of the commands.
pub(crate) async fn run(args: RunsArgs) -> Result<Exit, Failure> {
    match Server::of(&args.log)? {
        Some(server) => Box::pin(on_a_server(&server, args.command, &args.log)).await,
        None => on_a_log(args.command, &args.log).await,
    }
}

async fn on_a_log(command: RunsCommand, log: &LogArgs) -> Result<Exit, Failure> {
    match command {
        RunsCommand::List(args) => list::run(args, log).await,
        RunsCommand::Show(args) => show::run(args, log).await,
        RunsCommand::Watch(args) => watch::run(args, log).await,
        RunsCommand::Answer(args) => Box::pin(answer::run(args, log)).await,
        RunsCommand::Resume(args) => Box::pin(resume::run(args, log)).await,
        RunsCommand::Cancel(args) => Box::pin(cancel::run(args, log)).await,
        RunsCommand::Steer(args) => steer::run(args, log).await,
        RunsCommand::Pause(args) => steer::pause_run(args, log).await,
        RunsCommand::Effects(args) => effects::run(args, log).await,
        RunsCommand::Artifacts(args) => artifacts::run(args, log).await,
        RunsCommand::Costs(args) => costs::run(args, log).await,
        RunsCommand::Stats(args) => stats::run(args, log).await,
        RunsCommand::Fork(args) => Box::pin(fork::run(args, log)).await,
        RunsCommand::Replay(args) => replay::run(args, log).await,
        RunsCommand::Diff(args) => diff::run(args, log).await,
        RunsCommand::Export(args) => export::run(args, log).await,
        RunsCommand::Import(args) => import::run(args, log).await,
        RunsCommand::Backup(args) => backup::run(args, log).await,
        RunsCommand::Prune(args) => prune::run(args, log).await,
    }
}

/// Requests to runs of a server go to the server. What only reads reads its log as any other.
async fn on_a_server(server: &Server, command: RunsCommand, log: &LogArgs) -> Result<Exit, Failure> {
    match command {
        RunsCommand::Watch(args) => {
            let run = find::run(&*server.store, &args.run).await?;
            remote::watch(server, run, args.from, args.view).await
        }
        RunsCommand::Resume(args) => {
            let interrupts = Interrupts::listen()?;
            remote::resume(server, args.on_a_server(server).await?, interrupts).await
        }
        RunsCommand::Cancel(args) => {
            let run = find::run(&*server.store, &args.run).await?;
            remote::cancel(server, run).await
        }
        RunsCommand::Steer(args) => {
            let run = find::run(&*server.store, &args.run).await?;
            remote::steer(server, run, args.on_a_server()?).await
        }
        RunsCommand::Pause(args) => {
            let run = find::run(&*server.store, &args.run).await?;
            remote::pause(server, run, (!args.reason.is_empty()).then(|| args.reason.join(" "))).await
        }
        RunsCommand::Fork(args) => {
            let interrupts = Interrupts::listen()?;
            let base = find::run(&*server.store, &args.run).await?;
            let agent = args.with.map(|name| name.display().to_string());
            let fork = ForkRun { at: args.at, agent, message: args.input, session: None };
            remote::fork(server, base, fork, args.view, interrupts).await
        }
        RunsCommand::Import(_) => Err(only_on_a_log("runs import")),
        RunsCommand::Backup(_) => Err(only_on_a_log("runs backup")),
        RunsCommand::Prune(_) => Err(only_on_a_log("runs prune")),
        reading => on_a_log(reading, log).await,
    }
}
