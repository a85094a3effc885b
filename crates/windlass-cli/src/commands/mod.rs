//! The commands, one file each.

pub(crate) mod agents;
pub(crate) mod ask;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod init;
pub(crate) mod man;
pub(crate) mod models;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod test;
pub(crate) mod tokens;
pub(crate) mod tools;
pub(crate) mod watch;

use std::future::Future;
use std::path::PathBuf;

use clap::CommandFactory as _;
use opentelemetry::context::FutureExt as _;
use windlass_runtime::agent_file::add_providers;
use windlass_runtime::capabilities;

use crate::cli::{Cli, Command};
use crate::failure::{Exit, Failure};
use crate::home;
use crate::limits;
use crate::out;
use crate::telemetry::{Correlated, Telemetry};

/// Carries out what the command line says.
pub(crate) fn run(cli: Cli) -> Result<Exit, Failure> {
    // Its end waits until the last spans are taken.
    let telemetry = Telemetry::start();
    let serves = matches!(cli.command, Some(Command::Serve(_)));
    trace(telemetry.is_some(), serves);
    own_providers()?;
    use_capability_cache(cli.command.as_ref());
    let Some(command) = cli.command else { return on_runtime(ask::run(cli.ask, Cli::command)) };
    match command {
        Command::Chat(args) => on_runtime(chat::run(args)),
        Command::Run(args) => on_runtime(run::run(*args)),
        Command::Runs(args) => on_runtime(runs::run(args)),
        Command::Serve(args) => on_threads(serve::run(args)),
        Command::Tokens(args) => tokens::run(args),
        Command::Sessions(args) => on_runtime(sessions::run(args)),
        Command::Test(args) if args.writes() => on_runtime(test::write(args)),
        Command::Test(args) => test::run(&args),
        Command::Tools(args) => on_runtime(tools::run(args)),
        Command::Watch(args) => on_runtime(watch::run(args)),
        Command::Agents(args) => agents::run(args),
        Command::Models(args) => on_runtime(models::run(args)),
        Command::Init(args) => on_runtime(init::run(args)),
        Command::Doctor(args) => on_runtime(doctor::run(args)),
        Command::Completions(args) => completions::run(&args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    }
}

/// Adds the user's providers: those of `WINDLASS_PROVIDERS`, else of `providers.yaml` among Windlass's files.
fn own_providers() -> Result<(), Failure> {
    let named = std::env::var_os("WINDLASS_PROVIDERS").filter(|path| !path.is_empty()).map(PathBuf::from);
    let default =
        || home::folder().ok().map(|folder| folder.join("providers.yaml")).filter(|path| path.exists());
    let Some(path) = named.or_else(default) else { return Ok(()) };
    add_providers(&path).map_err(|error| {
        if path.exists() {
            return error.into();
        }
        Failure::of(Exit::BadFile, &error)
            .hint("WINDLASS_PROVIDERS names it; docs/models.md, \"Providers of your own\", shows one")
    })
}

/// Keeps what is known of models' capabilities among Windlass's files. Tests take nothing from there.
fn use_capability_cache(command: Option<&Command>) {
    if matches!(command, Some(Command::Test(_))) {
        return;
    }
    if let Ok(folder) = home::folder() {
        capabilities::keep_in(folder.join("models.json"));
    }
}

/// Runs a command that is asynchronous; other commands need no runtime.
fn on_runtime(work: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    on(tokio::runtime::Builder::new_current_thread(), work)
}

/// Runs a command that serves many at once, on all cores.
fn on_threads(work: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    on(tokio::runtime::Builder::new_multi_thread(), work)
}

fn on(
    mut runtime: tokio::runtime::Builder,
    work: impl Future<Output = Result<Exit, Failure>>,
) -> Result<Exit, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Internal, "cannot start the runtime").cause(error.to_string())
    };
    limits::check_descriptors()?;
    let runtime = runtime.enable_all().build().map_err(failed)?;
    let work = async {
        limits::catch_file_size()?;
        work.await
    };
    let done = runtime.block_on(work.with_context(Telemetry::parent_context()));
    // A tool that blocks a thread and was left behind does not keep the process.
    runtime.shutdown_background();
    done
}

/// `WINDLASS_LOG=info` (or `windlass_tools=debug`, …) shows the log lines of all parts on stderr. A server shows those of requests without
/// it, and as JSON where a program reads them.
fn trace(correlated: bool, serves: bool) {
    let filter = match std::env::var("WINDLASS_LOG") {
        Ok(filter) => tracing_subscriber::EnvFilter::new(filter),
        Err(_) if serves => tracing_subscriber::EnvFilter::new(windlass_server::LINES),
        Err(_) => return,
    };
    let lines =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(|| out::LogLines);
    // It fails only if it was set before, which cannot happen.
    let _first = if serves && !out::stderr_is_terminal() {
        lines.json().flatten_event(true).with_current_span(false).with_span_list(false).try_init()
    } else if correlated {
        lines.event_format(Correlated::default()).try_init()
    } else {
        lines.try_init()
    };
}
