//! From an agent file, or from a run, to an agent that can act.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_core::{RunId, State};
use windlass_runtime::agent_file::{AgentFile, UnmatchedPattern};
use windlass_runtime::{Agent, Assembly, Resume, Waits, assemble_watched, start_of};
use windlass_store::{Log, SqliteLog};
use windlass_tools::ToolWarning;

use crate::failure::{Exit, Failure};
use crate::from_env;
use crate::home;
use crate::interrupts::Interrupts;
use crate::notes::{self, Note};
use crate::overrides::Overrides;
use crate::starting::watched;

/// Reads an agent file, with what the command line says over it.
pub(crate) fn read(path: &Path, overrides: &Overrides) -> Result<AgentFile, Failure> {
    read_pinned(path, overrides, &[])
}

fn read_pinned(path: &Path, overrides: &Overrides, pinned: &[String]) -> Result<AgentFile, Failure> {
    let mut file = if from_env::is(path) {
        AgentFile::from_environment(path, &home::env)?
    } else {
        AgentFile::read(path, &home::env)?
    };
    overrides.apply(&mut file, pinned);
    file.check_available()?;
    Ok(file)
}

/// Brings an agent file to life, and remembers where the agent came from. Ctrl-C ends it.
pub(crate) async fn start(
    path: &Path,
    file: &AgentFile,
    overrides: &Overrides,
    log: Arc<SqliteLog>,
    interrupts: &mut Interrupts,
) -> Result<Assembly, Failure> {
    let waits = Waits::default();
    let assembling = assemble_watched(file, &home::env, log, &waits);
    let assembly = interrupts.or(watched(assembling, &waits)).await??;
    if let Ok(home) = home::folder() {
        let note = Note { path: from_env::path_of(path), overrides: overrides.clone(), used_at: now() };
        notes::remember(&home, assembly.agent.agent_ref(), note);
    }
    Ok(assembly)
}

/// An agent that a run can go on with.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) agent: Agent,
    pub(crate) path: PathBuf,
    /// Whether the person named the file: it may then be another one than the run began with.
    pub(crate) named: bool,
    pub(crate) warnings: Vec<ToolWarning>,
    pub(crate) unmatched: Vec<UnmatchedPattern>,
}

impl Found {
    /// The run, resumed by this agent.
    pub(crate) fn resume(&self, run: RunId) -> Resume<'_> {
        let resume = self.agent.resume(run);
        if self.named { resume.with_changed_agent() } else { resume }
    }
}

/// The agent of a run: from the given file, or else from the file that the run was started with.
pub(crate) async fn of_run(
    state: &State,
    with: Option<&Path>,
    log: &Arc<SqliteLog>,
    interrupts: &mut Interrupts,
) -> Result<Found, Failure> {
    let pinned = models(&**log, state.run()).await?;
    let (path, overrides) = if let Some(path) = with {
        (path.to_owned(), Overrides::default())
    } else {
        let note = state.agent().and_then(|agent| notes::recall(&home::folder().ok()?, agent));
        let note = note.ok_or_else(|| unknown_file(state))?;
        (note.path, note.overrides)
    };
    let file = read_pinned(&path, &overrides, &pinned)?;
    let assembly = start(&path, &file, &overrides, log.clone(), interrupts).await?;
    let Assembly { agent, warnings, unmatched, .. } = assembly;
    Ok(Found { agent, path, named: with.is_some(), warnings, unmatched })
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

fn unknown_file(state: &State) -> Failure {
    let name = state.agent().map_or_else(|| "?".to_owned(), |agent| agent.name.to_string());
    Failure::new(Exit::BadFile, format!("the file of agent `{name}` is unknown"))
        .hint("give it with `--with FILE`")
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
