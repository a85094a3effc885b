//! The agents of a process by name, and the agents that runs began with (E71).

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use windlass_agent_file::{AgentFile, AgentSource, FileOverrides};
use windlass_core::{RunId, State, Text};
use windlass_error::AnyDiagnostic;
use windlass_models::cassette::Cassette;
use windlass_models::resolve::Env;
use windlass_read::start_of;
use windlass_store::Store;

use crate::agent::Agent;
use crate::agent::assemble::error::AssembleError;
use crate::agent::assemble::family::source_of;
use crate::agent::assemble::waits::Waits;
use crate::agent::assemble::{Assembling, Assembly};
use crate::agent::files::{files_of_run, kept_files};
use crate::platform::environment::Environment;
use crate::platform::error::Error;
use crate::platform::error::host::HostError;

/// The most agents that are kept for runs that began with them, in addition to those that are registered.
const KEPT: usize = 64;

/// The environment's variables.
pub(super) type Variables = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The agents of a process. New runs are begun with the agent that stands under a name now; a run that has begun keeps its own.
pub struct Registry {
    log: Arc<dyn Store>,
    variables: Variables,
    environment: Arc<dyn Environment>,
    waits: Waits,
    agents: RwLock<Agents>,
    /// One agent is made of kept files at a time, so that none is made twice.
    making: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Agents {
    named: BTreeMap<Text, Registered>,
    folder: Option<PathBuf>,
    /// Made of files that the log has kept; the one used last stands last.
    kept: VecDeque<(KeptKey, Agent)>,
}

/// The key by which two agents of kept files are the same: the files, and the models that `auto` stands for.
type KeptKey = (Text, Vec<String>);

struct Registered {
    agent: Agent,
    /// Its file, and the content of that and of its delegates' files.
    file: Option<(PathBuf, AgentSource)>,
}

/// The files that an agent is made of.
#[derive(Clone, Debug)]
pub enum Files<'f> {
    /// A file that was read, to which the overrides were [applied](FileOverrides::apply).
    Read(&'f AgentFile, &'f FileOverrides),
    /// Files that a log has kept, with the models that stand in for `auto`.
    Kept(Box<AgentSource>, &'f [String]),
}

/// The changes that a reload made. An agent whose file cannot be used stays as it was.
#[derive(Debug, Default)]
pub struct Reloaded {
    /// Agents that are new.
    pub added: Vec<Text>,
    /// Agents whose files say something else now.
    pub changed: Vec<Text>,
    /// Agents whose files are gone.
    pub removed: Vec<Text>,
    /// Files that cannot be used.
    pub failed: Vec<(PathBuf, AssembleError)>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("agents", &self.names()).finish_non_exhaustive()
    }
}

impl Registry {
    pub(super) fn new(log: Arc<dyn Store>, variables: Variables, environment: Arc<dyn Environment>) -> Self {
        Self {
            log,
            variables,
            environment,
            waits: Waits::default(),
            agents: RwLock::default(),
            making: tokio::sync::Mutex::default(),
        }
    }

    fn read<T>(&self, look: impl FnOnce(&Agents) -> T) -> T {
        look(&self.agents.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, change: impl FnOnce(&mut Agents) -> T) -> T {
        change(&mut self.agents.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Registers an agent under its name, in place of one that has it.
    pub fn add(&self, agent: Agent) {
        let named = agent.name().clone();
        self.write(|agents| agents.named.insert(named, Registered { agent, file: None }));
    }

    /// The agent of that name.
    pub fn get(&self, name: &str) -> Option<Agent> {
        self.read(|agents| agents.named.get(name).map(|registered| registered.agent.clone()))
    }

    /// The names of all agents.
    pub fn names(&self) -> Vec<Text> {
        self.read(|agents| agents.named.keys().cloned().collect())
    }

    /// The tool servers that are starting.
    pub fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Registers the agents of the files in a folder (`*.yaml`, `*.yml`) but for those with `serve: false`, and reads that folder again on [`reload`](Self::reload).
    ///
    /// # Errors
    /// The folder cannot be read.
    pub async fn load(&self, folder: &Path) -> std::io::Result<Reloaded> {
        self.write(|agents| agents.folder = Some(folder.to_owned()));
        self.reload().await
    }

    /// The folder that was [loaded](Self::load).
    pub fn folder(&self) -> Option<PathBuf> {
        self.read(|agents| agents.folder.clone())
    }

    /// Reads the folder again. Runs go on with the agents that they began with.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub async fn reload(&self) -> std::io::Result<Reloaded> {
        let Some(folder) = self.read(|agents| agents.folder.clone()) else { return Ok(Reloaded::default()) };
        let paths = files_of(&folder)?;
        let env = |name: &str| (self.variables)(name);
        let files: Vec<_> = paths.iter().map(|path| (path, AgentFile::read(path, &env))).collect();
        let named = self.named(&files);
        let (mut reloaded, mut kept_back) = (Reloaded::default(), Vec::new());
        for (path, file) in files {
            let offered = async { self.reload_file(path, file?, &named, &mut reloaded).await }.await;
            match offered {
                Ok(true) => {}
                Ok(false) => kept_back.push(path),
                Err(error) => reloaded.failed.push((path.clone(), error)),
            }
        }
        let is_gone = |registered: &Registered| {
            let file = registered.file.as_ref().map(|(path, _)| path);
            file.is_some_and(|path| !paths.contains(path) || kept_back.contains(&path))
        };
        self.write(|agents| {
            let gone = agents.named.iter().filter(|(_, registered)| is_gone(registered));
            reloaded.removed = gone.map(|(name, _)| name.clone()).collect();
            agents.named.retain(|_, registered| !is_gone(registered));
        });
        Ok(reloaded)
    }

    /// The file of each name that files have: of several, the one whose agent is registered under it, or else the first. A file that cannot
    /// be read has the name under which its agent is registered.
    fn named<E>(&self, files: &[(&PathBuf, Result<AgentFile, E>)]) -> BTreeMap<Text, PathBuf> {
        let mut named = BTreeMap::new();
        for (path, file) in files {
            let registered = self.name_of(path);
            let name = match file {
                Ok(file) => file.serve.then(|| file.name.as_str().into()),
                Err(_) => registered.clone(),
            };
            let Some(name) = name else { continue };
            if registered.as_ref() == Some(&name) || !named.contains_key(&name) {
                named.insert(name, (*path).clone());
            }
        }
        named
    }

    /// The name of the agent that is registered of a file.
    fn name_of(&self, path: &Path) -> Option<Text> {
        let of_path =
            |registered: &Registered| registered.file.as_ref().is_some_and(|(known, _)| known == path);
        self.read(|agents| {
            agents.named.iter().find(|(_, registered)| of_path(registered)).map(|(name, _)| name.clone())
        })
    }

    /// Registers the agent of a file. Gives whether the file is one of those that are offered.
    async fn reload_file(
        &self,
        path: &Path,
        file: AgentFile,
        named: &BTreeMap<Text, PathBuf>,
        reloaded: &mut Reloaded,
    ) -> Result<bool, AssembleError> {
        let env = |name: &str| (self.variables)(name);
        if !file.serve {
            return Ok(false);
        }
        let name: Text = file.name.as_str().into();
        if let Some(first) = named.get(&name).filter(|first| *first != path) {
            return Err(AssembleError::SameName {
                name: name.to_string(),
                first: first.display().to_string(),
            });
        }
        let source = source_of(&file, &env)?;
        let is_same = |registered: &Registered| {
            registered.file.as_ref().is_some_and(|(_, known)| Some(known) == source.as_ref())
        };
        if self.read(|agents| agents.named.get(&name).is_some_and(is_same)) {
            return Ok(true);
        }
        let Assembly { agent, .. } =
            self.assembled(Files::Read(&file, &FileOverrides::default()), None).await?;
        let registered = Registered { agent, file: source.map(|source| (path.to_owned(), source)) };
        let former = self.write(|agents| {
            // A file whose agent has another name now is no longer that of the old name.
            let old = agents.named.iter().find(|(other, known)| {
                **other != name && known.file.as_ref().is_some_and(|(known, _)| known == path)
            });
            let old = old.map(|(name, _)| name.clone());
            if let Some(old) = &old {
                agents.named.remove(old);
                reloaded.removed.push(old.clone());
            }
            agents.named.insert(name.clone(), registered)
        });
        match former {
            Some(_) => reloaded.changed.push(name),
            None => reloaded.added.push(name),
        }
        Ok(true)
    }

    /// Makes an agent of files, with what people want to know about it. It is not registered. A cassette records the exchanges of all its
    /// models, or stands in for them. [`waits`](Self::waits) names the tool servers that are starting.
    ///
    /// # Errors
    /// Something that the files name cannot be used.
    pub async fn assembled(
        &self,
        files: Files<'_>,
        cassette: Option<Cassette>,
    ) -> Result<Assembly, AssembleError> {
        let variables = |name: &str| (self.variables)(name);
        match files {
            Files::Read(file, overrides) => {
                let env = |name: &str| overrides.variable(name, &variables);
                let assembling = self.assembling(&env).cassette(cassette);
                assembling.overrides(overrides.clone()).file(file).await
            }
            Files::Kept(source, models) => {
                self.assembling(&variables).cassette(cassette).kept(*source, models).await
            }
        }
    }

    fn assembling<'e>(&self, env: Env<'e>) -> Assembling<'e> {
        Assembling::new(env, self.log.clone()).waits(&self.waits).environment(self.environment.clone())
    }

    /// The names of the models that a run was started with: they stand in for `auto` where its agent is made anew.
    ///
    /// # Errors
    /// The run is unknown, or the log failed.
    pub async fn models_of_run(&self, run: RunId) -> Result<Vec<String>, Error> {
        let start = start_of(&*self.log, run).await?;
        Ok(start.models.iter().map(|model| model.name.to_string()).collect())
    }

    /// The agent that goes on with a run: the one that it began with, or was given since. It is one that is registered, or is made of
    /// the files that the log has kept. Where those were kept masked, only the file on the disk can be the agent.
    ///
    /// # Errors
    /// There is no such agent here ([`Error::UnknownAgent`]), what its files name cannot be used any more
    /// ([`HostError::Agent`]), or the log failed.
    pub async fn of_run(&self, state: &State) -> Result<Agent, Error> {
        let run = state.run();
        let reference = state.agent().cloned();
        let name = reference.as_ref().map(|agent| agent.name.clone()).unwrap_or_default();
        if let Some(agent) = self.get(&name)
            && agent.is_of(state)
        {
            return Ok(agent);
        }
        let Some(files) = files_of_run(state) else {
            // The difference from the run's agent says what has changed.
            return self.get(&name).ok_or(Error::UnknownAgent { run, agent: name });
        };
        let key = (files.sha256.clone(), self.models_of_run(run).await?);
        let _making = self.making.lock().await;
        if let Some(agent) = self.write(|agents| agents.kept_agent(&key)) {
            return Ok(agent);
        }
        let source = kept_files(&*self.log, files).await?;
        let made = self.made_of(source, &key.1).await;
        let agent =
            made.map_err(|source| HostError::Agent { run, agent: name, source: AnyDiagnostic::new(source) })?;
        self.write(|agents| agents.keep(key, agent.clone()));
        Ok(agent)
    }

    /// An agent of files that were kept.
    async fn made_of(&self, source: AgentSource, models: &[String]) -> Result<Agent, AssembleError> {
        if source.masked {
            return self.made_of_file(&source.file, &source.overrides, models).await;
        }
        Ok(self.assembled(Files::Kept(Box::new(source), models), None).await?.agent)
    }

    async fn made_of_file(
        &self,
        path: &Path,
        overrides: &FileOverrides,
        models: &[String],
    ) -> Result<Agent, AssembleError> {
        let env = |name: &str| overrides.variable(name, &|name| (self.variables)(name));
        let mut file = AgentFile::read(path, &env)?;
        overrides.apply(&mut file, models);
        Ok(self.assembled(Files::Read(&file, overrides), None).await?.agent)
    }

    /// An agent of a file, with settings over it. It is not registered.
    ///
    /// # Errors
    /// The file cannot be used.
    pub async fn of_file(&self, path: &Path, overrides: FileOverrides) -> Result<Agent, AssembleError> {
        self.made_of_file(path, &overrides, &[]).await
    }
}

impl Agents {
    fn kept_agent(&mut self, key: &KeptKey) -> Option<Agent> {
        let place = self.kept.iter().position(|(known, _)| known == key)?;
        let (key, agent) = self.kept.remove(place)?;
        self.kept.push_back((key, agent.clone()));
        Some(agent)
    }

    fn keep(&mut self, key: KeptKey, agent: Agent) {
        self.kept.push_back((key, agent));
        if self.kept.len() > KEPT {
            self.kept.pop_front();
        }
    }
}

/// The agent files in a folder, by name. Hidden ones are left out.
fn files_of(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        if is_yaml && !is_hidden && path.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
