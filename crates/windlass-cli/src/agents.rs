//! From an agent file, or from a run, to an agent that can act.

mod missing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::{RunId, State};
use windlass_models::cassette::Cassette;
use windlass_read::start_of;
use windlass_runtime::agent_file::{AgentFile, UnmatchedPattern};
use windlass_runtime::{Agent, AssembleError, Assembly, Resume, Waits, assemble_on, assemble_watched};
use windlass_store::{Log, SqliteLog};
use windlass_tools::ToolWarning;

use crate::asking::Roots;
use crate::assistant;
use crate::failure::Failure;
use crate::from_env;
use crate::home;
use crate::interrupts::Interrupts;
use crate::notes::{self, Note};
use crate::overrides::Overrides;
use crate::starting::watched;

pub(crate) use missing::{Again, changed};

/// Reads an agent file, with what the command line says over it.
pub(crate) fn read(path: &Path, overrides: &Overrides) -> Result<AgentFile, Failure> {
    read_pinned(path, overrides, &[])
}

fn read_pinned(path: &Path, overrides: &Overrides, pinned: &[String]) -> Result<AgentFile, Failure> {
    let mut file = if from_env::is(path) {
        AgentFile::from_environment(path, &|name| overrides.env(name))?
    } else if assistant::is(path) {
        assistant::read()?
    } else {
        AgentFile::read(path, &|name| overrides.env(name))?
    };
    overrides.apply(&mut file, pinned);
    overrides.check(&file)?;
    file.check_available()?;
    Ok(file)
}

/// Brings an agent file to life, and remembers where the agent came from. Ctrl-C ends it.
pub(crate) async fn start(
    path: &Path,
    file: &AgentFile,
    overrides: &Overrides,
    (log, cassette): (Arc<SqliteLog>, Option<Cassette>),
    interrupts: &mut Interrupts,
) -> Result<Assembly, Failure> {
    Ok(assembled(path, file, overrides, (log, cassette), interrupts).await??)
}

async fn assembled(
    path: &Path,
    file: &AgentFile,
    overrides: &Overrides,
    (log, cassette): (Arc<SqliteLog>, Option<Cassette>),
    interrupts: &mut Interrupts,
) -> Result<Result<Assembly, AssembleError>, Failure> {
    let waits = Waits::default();
    let env = |name: &str| overrides.env(name);
    let assembling = assemble_on(file, &env, log, &waits, cassette);
    let assembly = interrupts.or(watched(assembling, &waits)).await?;
    if let (Ok(home), Ok(assembly)) = (home::folder(), &assembly) {
        let note = Note { path: remembered(path), overrides: overrides.remembered(), used_at: now() };
        notes::remember(&home, assembly.agent.agent_ref(), note);
    }
    Ok(assembly)
}

/// The path to remember an agent by, from any folder.
fn remembered(path: &Path) -> PathBuf {
    if is_pseudo(path) { path.to_owned() } else { home::absolute(path) }
}

/// Whether the path stands for an agent without a file.
fn is_pseudo(path: &Path) -> bool {
    from_env::is(path) || assistant::is(path)
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
    /// ` --with FILE` for commands that go on with the run, where the agent is another one than the run began with.
    pub(crate) fn with(&self, state: &State) -> String {
        if !self.named || state.agent() == Some(self.agent.agent_ref()) {
            return String::new();
        }
        format!(" --with {}", home::quoted(&self.path.display().to_string()))
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

/// The agent of a run: from the given file, or else from the file that the run was started with.
pub(crate) async fn of_run(
    state: &State,
    wanted: &Wanted<'_>,
    (log, cassette): (&Arc<SqliteLog>, Option<Cassette>),
    interrupts: &mut Interrupts,
) -> Result<Found, Failure> {
    let pinned = models(&**log, state.run()).await?;
    let note = state.agent().and_then(|agent| notes::recall(&home::folder().ok()?, agent));
    let (path, mut overrides) = match (wanted.with, note) {
        (Some(path), note) => (path.to_owned(), kept(state, wanted, path, note)?),
        (None, Some(note)) if is_pseudo(&note.path) || note.path.exists() => (note.path, note.overrides),
        (None, Some(note)) => return Err(missing::gone(state, &note.path, &wanted.again)),
        (None, None) => return Err(missing::unknown(state, &wanted.again)),
    };
    overrides.move_agents(wanted.agents)?;
    let file = read_pinned(&path, &overrides, &pinned)?;
    let assembled = assembled(&path, &file, &overrides, (log.clone(), cassette), interrupts).await?;
    let Assembly { agent, warnings, unmatched, .. } =
        assembled.map_err(|error| missing::unusable(error, &path, &overrides, &wanted.again))?;
    let named = wanted.with.is_some() || !wanted.agents.is_empty();
    Ok(Found { agent, path, roots: Roots::of(&file), named, warnings, unmatched })
}

/// What the command line said over the agent's file stays, as long as the agent has the same name.
fn kept(state: &State, wanted: &Wanted<'_>, path: &Path, note: Option<Note>) -> Result<Overrides, Failure> {
    let Some(note) = note.filter(|_| !wanted.replaces) else { return Ok(Overrides::default()) };
    let name = AgentFile::read(path, &home::env)?.name;
    let is_same = state.agent().is_some_and(|agent| *agent.name == *name);
    Ok(if is_same { note.overrides } else { Overrides::default() })
}

/// An agent for reading its data; it is not recorded for later `resume` commands.
pub(crate) async fn to_look_at(
    path: &Path,
    run: RunId,
    log: &Arc<SqliteLog>,
    interrupts: &mut Interrupts,
) -> Result<Assembly, Failure> {
    let file = read_pinned(path, &Overrides::default(), &models(&**log, run).await?)?;
    let waits = Waits::default();
    let assembling = assemble_watched(&file, &home::env, log.clone(), &waits);
    Ok(interrupts.or(watched(assembling, &waits)).await??)
}

/// The names of the models that a run was started with.
pub(crate) async fn models(log: &dyn Log, run: RunId) -> Result<Vec<String>, Failure> {
    let start = start_of(log, run).await?;
    Ok(start.models.iter().map(|model| model.name.to_string()).collect())
}

/// The time, in milliseconds since the Unix epoch.
pub(crate) fn now() -> u64 {
    use windlass_runtime::Environment as _;
    windlass_runtime::SystemEnvironment.now()
}
