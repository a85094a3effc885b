//! From an agent file, or from a run, to an agent that can act.

mod missing;
mod starting;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::{RunId, State};
use windlass_models::cassette::Cassette;
use windlass_runtime::agent_file::{AgentFile, AgentSource, FileOverrides, UnmatchedPattern};
use windlass_runtime::host::{Files, Host, Scope, Scoped};
use windlass_runtime::{Agent, AssembleError, Assembly, Resume, kept_files_of};
use windlass_store::{SqliteLog, Store};
use windlass_tools::ToolWarning;

use crate::asking::Roots;
use crate::assistant;
use crate::failure::Failure;
use crate::from_env;
use crate::home;
use crate::interrupts::Interrupts;
use crate::out;
use crate::overrides::{self, Overrides};
pub(crate) use starting::watched;

pub(crate) use missing::{Again, changed, unknown, unread};

/// Reads an agent file, with what the command line says over it.
pub(crate) fn read(path: &Path, overrides: &Overrides) -> Result<AgentFile, Failure> {
    read_with(path, &overrides.data(), &[])
}

/// `models` are those that a run has used: they stand in for `auto`.
fn read_with(path: &Path, overrides: &FileOverrides, models: &[String]) -> Result<AgentFile, Failure> {
    let env = |name: &str| overrides.variable(name, &home::env);
    let mut file = if from_env::is(path) {
        AgentFile::from_environment(path, &env)?
    } else if assistant::is(path) {
        assistant::read()?
    } else {
        AgentFile::read(path, &env).map_err(|error| unread(error, path))?
    };
    overrides.apply(&mut file, models);
    overrides::check(overrides, &file)?;
    file.check_available()?;
    Ok(file)
}

/// The host of a process that goes on with all runs: it answers the messages whose processes are gone, too.
pub(crate) fn supervisor(log: &Arc<SqliteLog>) -> Host {
    Host::builder(log.clone()).variables(home::env).build()
}

/// The host of the runs of this process. Messages that wait in a session are left to the processes that brought them.
pub(crate) fn host(log: &Arc<SqliteLog>) -> Host {
    hosted(log.clone())
}

/// The same, for the log of an agent.
pub(crate) fn hosted(log: Arc<dyn Store>) -> Host {
    Host::builder(log).variables(home::env).leaves_queued().build()
}

/// Brings an agent file to life. Ctrl-C ends it.
pub(crate) async fn start(
    file: &AgentFile,
    overrides: &Overrides,
    log: &Arc<SqliteLog>,
    cassette: Option<Cassette>,
    interrupts: &mut Interrupts,
) -> Result<Assembly, Failure> {
    Ok(assembled(Files::Read(file, &overrides.data()), &host(log), cassette, interrupts).await??)
}

/// The same host as the person at the terminal sees it, who sees all runs.
pub(crate) fn client(log: &Arc<SqliteLog>) -> Scoped {
    host(log).within(Scope::default())
}

/// The agent that the host makes of these files, with a line that says what is waited for. Ctrl-C ends it.
async fn assembled(
    files: Files<'_>,
    host: &Host,
    cassette: Option<Cassette>,
    interrupts: &mut Interrupts,
) -> Result<Result<Assembly, AssembleError>, Failure> {
    let registry = host.registry();
    interrupts.or(watched(registry.assembled(files, cassette), registry.waits())).await
}

/// Whether the path stands for an agent without a file.
fn is_pseudo(path: &Path) -> bool {
    from_env::is(path) || assistant::is(path)
}

/// The file that the run's agent came from, as one names it in a command.
pub(crate) fn file_of(source: &AgentSource) -> PathBuf {
    let name = source.file.file_name().map(PathBuf::from).filter(|name| is_pseudo(name));
    name.unwrap_or_else(|| source.file.clone())
}

/// An agent that a run can go on with.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) agent: Agent,
    pub(crate) path: PathBuf,
    /// Where its tools begin relative paths.
    pub(crate) roots: Roots,
    /// Whether the person named the file: it may then be another one than the run began with.
    pub(crate) named: bool,
    pub(crate) warnings: Vec<ToolWarning>,
    pub(crate) unmatched: Vec<UnmatchedPattern>,
}

impl Found {
    fn new(made: Assembly, path: PathBuf, roots: Roots, named: bool) -> Self {
        let Assembly { agent, warnings, unmatched, .. } = made;
        Self { agent, path, roots, named, warnings, unmatched }
    }

    /// The run, resumed by this agent.
    pub(crate) fn resume(&self, run: RunId) -> Resume<'_> {
        let resume = self.agent.resume(run);
        if self.named { resume.with_changed_agent() } else { resume }
    }
}

/// The files that a person names to go on with a run, and the command to repeat with them.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    /// The agent's file.
    pub(crate) with: Option<&'a Path>,
    /// New places of agents that were given with `--agent`.
    pub(crate) agents: &'a [(String, PathBuf)],
    /// Whether another agent may take the place of the run's: nothing that the command line said over the old one applies to it.
    pub(crate) replaces: bool,
    pub(crate) again: Again,
}

/// The agent of a run: of the given file, or else of the files that the log has kept with the run. Where those were kept masked, of the
/// file on the disk.
pub(crate) async fn of_run(
    state: &State,
    wanted: &Wanted<'_>,
    log: &Arc<SqliteLog>,
    cassette: Option<Cassette>,
    interrupts: &mut Interrupts,
) -> Result<Found, Failure> {
    let host = host(log);
    let models = host.registry().models_of_run(state.run()).await?;
    let kept = kept_files_of(&**log, state).await?;
    let named = wanted.with.is_some() || !wanted.agents.is_empty();
    if let Some(source) = kept.clone().filter(|kept| !(named || kept.masked)) {
        let (path, roots) = (file_of(&source), Roots::of(&source.agent_file(&home::env, &models)?));
        let made = assembled(Files::Kept(Box::new(source), &models), &host, cassette, interrupts).await??;
        return Ok(Found::new(made, path, roots, named));
    }
    let (path, mut overrides) = match (wanted.with, kept) {
        (Some(path), kept) => (path.to_owned(), overrides_of(state, wanted, path, kept)?),
        (None, Some(kept)) => {
            let path = file_of(&kept);
            if !is_pseudo(&path) && !path.exists() {
                return Err(missing::gone(state, &path, &wanted.again));
            }
            (path, kept.overrides)
        }
        (None, None) => return Err(missing::unknown(state, &wanted.again)),
    };
    overrides::move_agents(&mut overrides, wanted.agents)?;
    let file = read_with(&path, &overrides, &models)?;
    let made = assembled(Files::Read(&file, &overrides), &host, cassette, interrupts).await?;
    let made = made.map_err(|error| missing::unusable(error, &path, &overrides, &wanted.again))?;
    Ok(Found::new(made, path, Roots::of(&file), named))
}

/// The programs and folders of a run's agent, by the files that the log has kept with the run. `None`: they are not known.
pub(crate) async fn roots_of_run(state: &State, log: &Arc<SqliteLog>) -> Option<Roots> {
    let kept = kept_files_of(&**log, state).await.ok()?.filter(|kept| !kept.masked)?;
    let models = host(log).registry().models_of_run(state.run()).await.ok()?;
    Some(Roots::of(&kept.agent_file(&home::env, &models).ok()?))
}

/// The command line's settings over the agent's file stay, as long as the agent has the same name.
fn overrides_of(
    state: &State,
    wanted: &Wanted<'_>,
    path: &Path,
    kept: Option<AgentSource>,
) -> Result<FileOverrides, Failure> {
    let Some(kept) = kept.filter(|_| !wanted.replaces) else { return Ok(FileOverrides::default()) };
    let name = AgentFile::read(path, &home::env)?.name;
    let is_same = state.agent().is_some_and(|agent| *agent.name == *name);
    Ok(if is_same { kept.overrides } else { FileOverrides::default() })
}

/// An agent of a file, for looking at what it would do with a run.
pub(crate) async fn to_look_at(
    path: &Path,
    run: RunId,
    log: &Arc<SqliteLog>,
    interrupts: &mut Interrupts,
) -> Result<Assembly, Failure> {
    let (host, overrides) = (host(log), FileOverrides::default());
    let file = read_with(path, &overrides, &host.registry().models_of_run(run).await?)?;
    Ok(assembled(Files::Read(&file, &overrides), &host, None, interrupts).await??)
}

/// The preview of a switch of a run of that version to another agent. Nothing is said of an agent that changes nothing.
pub(crate) fn preview(run: RunId, version: u64, changes: &[String]) {
    if !changes.is_empty() {
        let changes = changes.join("; ");
        out::note(format_args!("from event {version} on, run {run} has another agent: {changes}"));
    }
}

/// The time, in milliseconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    use windlass_runtime::Environment as _;
    windlass_runtime::SystemEnvironment.now()
}
