//! The agents that an agent file hands tasks to: their files are read one after another, with those of their own delegates.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_core::future::BoxFuture;
use windlass_agent_file::files::{Disk, Files, nearest_files};
use windlass_agent_file::yaml::Place;
use windlass_agent_file::{AgentFile, AgentFileError, AgentSource, DelegateEntry, FileOverrides};
use windlass_models::resolve::Env;
use windlass_store::Store;

use super::error::{AssembleError, MAX_AGENTS, MAX_DEPTH, at};
use super::{Gathered, alone, models, with_models};
use crate::agent::Agent;
use crate::agent::builder::AgentBuilder;
use crate::agent::builder::branch::Branch;
use crate::agent::delegates::{AgentDelegate, Delegate};

/// The longest name of a tool.
const MAX_NAME: usize = 64;

/// An agent with all its delegates. `ancestors` are the files on the way to it.
pub(super) fn member<'a>(
    file: &'a AgentFile,
    env: Env<'a>,
    log: &'a Arc<dyn Store>,
    ancestors: &'a [PathBuf],
    gathered: &'a mut Gathered,
) -> BoxFuture<'a, Result<Agent, AssembleError>> {
    Box::pin(async move {
        file.check_available()?;
        let lineage = path_with(ancestors, file);
        // Branches are part of their agent, delegates are agents of their own.
        let outer = std::mem::take(&mut gathered.served);
        let builder = equipped(file, env, log, &lineage, gathered).await?;
        let served = std::mem::replace(&mut gathered.served, outer);
        gathered.unmatched.extend(file.unmatched_patterns(&served));
        gathered.chosen.extend(file.unguarded_servers(&served).into_iter().map(unasked));
        let models = models(file, env, gathered).await?;
        // Child runs go on with their parent, and its files are theirs.
        let files = if ancestors.is_empty() { gathered.agent_files() } else { None };
        let agent = with_models(builder, models).files(files).build()?;
        gathered.check_requests(file, &agent)?;
        Ok(agent)
    })
}

/// Says that a server's tools run without a person.
fn unasked(server: &str) -> String {
    format!(
        "tools of the server `{server}` run unasked: no `approve`, `deny` or `effect` names any of them \
         (`loop: {{ approve: effects }}` asks before each that changes something)"
    )
}

/// An agent in the making with its delegates and branches, without models.
fn equipped<'a>(
    file: &'a AgentFile,
    env: Env<'a>,
    log: &'a Arc<dyn Store>,
    lineage: &'a [PathBuf],
    gathered: &'a mut Gathered,
) -> BoxFuture<'a, Result<AgentBuilder, AssembleError>> {
    Box::pin(async move {
        let mut delegates: Vec<Arc<dyn Delegate>> = Vec::new();
        for child in children(file, env, gathered.files(), lineage)? {
            if let (None, Some(source)) = (&gathered.kept, &mut gathered.source) {
                source.add(&child);
            }
            let agent = member(&child, env, log, lineage, gathered).await?;
            delegates.push(Arc::new(AgentDelegate::new(agent)));
        }
        let mut builder = alone(file, env, log.clone(), delegates, gathered).await?;
        for entry in &file.agents {
            let DelegateEntry::Branch { file, merge, .. } = entry else { continue };
            let mut branch = equipped(file, env, log, lineage, gathered).await?;
            // One that names no models has those of its parent.
            if !file.models.is_empty() {
                branch = with_models(branch, models(file, env, gathered).await?);
            }
            builder = builder.branch(Branch::new(branch).merge(*merge));
        }
        Ok(builder)
    })
}

/// Reads and checks the files of all agents that this one hands tasks to, and those of their delegates. Nothing is
/// started. Gives how many the agent itself has.
///
/// # Errors
/// A file cannot be used, or the agents stand in a circle.
pub fn check_delegates(file: &AgentFile, env: Env<'_>) -> Result<usize, AssembleError> {
    check_delegates_of(file, env, &Disk)
}

pub(super) fn check_delegates_of(
    file: &AgentFile,
    env: Env<'_>,
    files: &dyn Files,
) -> Result<usize, AssembleError> {
    Check { env, files, root: &file.file, agents: 0, source: None }.member(file, &[])
}

/// The content of the files of an agent and its delegates; `None`: it stands within another document.
pub(crate) fn source_of(file: &AgentFile, env: Env<'_>) -> Result<Option<AgentSource>, AssembleError> {
    let Some(mut source) = AgentSource::of(file, FileOverrides::default().with_variables(env)) else {
        return Ok(None);
    };
    let (files, source_of_all) = (&Disk, Some(&mut source));
    Check { env, files, root: &file.file, agents: 0, source: source_of_all }.member(file, &[])?;
    Ok(Some(source))
}

/// Goes through a family and counts its members.
struct Check<'a> {
    env: Env<'a>,
    files: &'a dyn Files,
    root: &'a str,
    agents: usize,
    /// Collects the files of its members.
    source: Option<&'a mut AgentSource>,
}

impl Check<'_> {
    fn member(&mut self, file: &AgentFile, ancestors: &[PathBuf]) -> Result<usize, AssembleError> {
        file.check_available()?;
        let lineage = path_with(ancestors, file);
        let children = self.children(file, &lineage)?;
        Ok(children + self.branches(file, &lineage)?)
    }

    /// Checks the agents that one hands tasks to. Gives how many there are.
    fn children(&mut self, file: &AgentFile, lineage: &[PathBuf]) -> Result<usize, AssembleError> {
        let children = children(file, self.env, self.files, lineage)?;
        self.agents += children.len();
        if self.agents > MAX_AGENTS {
            return Err(AssembleError::TooMany { file: self.root.to_owned() });
        }
        if let Some(source) = &mut self.source {
            for child in &children {
                source.add(child);
            }
        }
        children.iter().try_for_each(|child| self.member(child, lineage).map(drop))?;
        Ok(children.len())
    }

    /// Checks the files that branches hand tasks to. Gives how many branches there are.
    fn branches(&mut self, file: &AgentFile, lineage: &[PathBuf]) -> Result<usize, AssembleError> {
        let mut found = 0;
        for entry in &file.agents {
            let DelegateEntry::Branch { file, .. } = entry else { continue };
            found += 1;
            self.children(file, lineage)?;
            self.branches(file, lineage)?;
        }
        Ok(found)
    }
}

fn path_with(ancestors: &[PathBuf], file: &AgentFile) -> Vec<PathBuf> {
    let name = Path::new(&file.file).file_name().unwrap_or_default();
    ancestors.iter().cloned().chain([real(&file.folder.join(name))]).collect()
}

/// Resolves symbolic links.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The agents of the files that an agent hands tasks to.
fn children(
    file: &AgentFile,
    env: Env<'_>,
    files: &dyn Files,
    ancestors: &[PathBuf],
) -> Result<Vec<AgentFile>, AssembleError> {
    let mut taken: Vec<String> = file.tool_names().into_iter().map(|tool| tool.name).collect();
    let mut children = Vec::new();
    for entry in &file.agents {
        if let DelegateEntry::File { path, name, description, place } = entry {
            let entry = Entry { file, path, place: Some(*place).filter(|place| *place != Place::default()) };
            entry.stands_apart(ancestors)?;
            let mut child =
                AgentFile::read_from(files, path, env).map_err(|source| entry.unreadable(source))?;
            child.name = name.clone().unwrap_or(child.name);
            child.description = description.clone().unwrap_or(child.description);
            entry.can_be_called(&child.name, &taken)?;
            taken.push(child.name.clone());
            children.push(child);
        } else {
            taken.push(entry.name());
        }
    }
    Ok(children)
}

/// An entry of `agents` that names a file.
struct Entry<'a> {
    /// The agent that it stands in.
    file: &'a AgentFile,
    path: &'a Path,
    /// Position of the entry; `None`: it came from the command line.
    place: Option<Place>,
}

impl Entry<'_> {
    /// The start of a message about the entry.
    fn at(&self) -> String {
        at(&self.file.file, self.place)
    }

    /// The path of its file, from where the path of the agent's own file starts.
    fn display_path(&self) -> String {
        let parent = Path::new(&self.file.file).parent();
        let relative = self.path.strip_prefix(&self.file.folder).ok();
        let short = parent.zip(relative).map(|(parent, relative)| parent.join(relative));
        short.as_deref().unwrap_or(self.path).display().to_string()
    }

    /// Checks that its file is not among its ancestors, and that these are not too many.
    fn stands_apart(&self, ancestors: &[PathBuf]) -> Result<(), AssembleError> {
        if let Some(first) = ancestors.iter().position(|other| *other == real(self.path)) {
            let circle = ancestors.iter().skip(first).map(|file| file.display().to_string());
            let files = circle.chain([self.path.display().to_string()]).collect();
            return Err(AssembleError::Circle { at: self.at(), files });
        }
        if ancestors.len() >= MAX_DEPTH {
            return Err(AssembleError::TooDeep { at: self.at(), file: self.display_path() });
        }
        Ok(())
    }

    fn unreadable(&self, source: AgentFileError) -> AssembleError {
        let (at, file) = (self.at(), self.display_path());
        let AgentFileError::Read { source, .. } = source else {
            return AssembleError::Delegate { at, file, source: Box::new(source) };
        };
        let missing = source.kind() == std::io::ErrorKind::NotFound;
        let nearest = if missing { nearest_files(self.path) } else { Vec::new() };
        AssembleError::NoDelegate { at, file, nearest, source }
    }

    /// Checks that a model can call it by its name.
    fn can_be_called(&self, name: &str, taken: &[String]) -> Result<(), AssembleError> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(fits) {
            return Err(AssembleError::DelegateName {
                at: self.at(),
                name: name.to_owned(),
                file: self.display_path(),
            });
        }
        if taken.iter().any(|other| other == name) {
            return Err(AssembleError::DelegateTwice { at: self.at(), name: name.to_owned() });
        }
        Ok(())
    }
}
