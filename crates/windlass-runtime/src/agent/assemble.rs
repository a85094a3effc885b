//! From an agent file to an agent: models are looked up, tool servers are started, everything is checked.

pub(crate) mod checking;
pub(crate) mod error;
pub(crate) mod family;
mod programs;
pub(crate) mod prompts;
#[cfg(feature = "mcp")]
pub(crate) mod servers;
#[cfg(not(feature = "mcp"))]
#[path = "assemble/no_servers.rs"]
pub(crate) mod servers;
pub(crate) mod services;
pub(crate) mod waits;

use std::path::PathBuf;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use windlass_agent_file::files::{Disk, Files};
use windlass_agent_file::yaml::Place;
use windlass_agent_file::{
    AgentFile, AgentSource, BuiltinEntry, FileOverrides, ModelEntry, ServedTools, ToolEntry, UnmatchedPattern,
};
use windlass_core::model::ModelChoice;
use windlass_models::cassette::{Cassette, Player};
use windlass_models::mock::MockReplies;
use windlass_models::resolve::Env;
use windlass_models::{Model, ModelRequest, choose_auto, resolve};
use windlass_store::Store;
use windlass_tools::builtin::Given;
use windlass_tools::command::CommandTool;
use windlass_tools::{Tool, ToolWarning};

use crate::agent::Agent;
use crate::agent::builder::AgentBuilder;
use crate::agent::delegates::Delegate;
use crate::agent::files::AgentFiles;
use crate::platform::environment::Environment;
use error::AssembleError;
use prompts::prompted;
use services::{FileService, services};
use waits::Waits;

/// An agent made of a file, with what people want to know about it.
#[derive(Debug)]
pub struct Assembly {
    /// The agent.
    pub agent: Agent,
    /// For each model that was chosen by `auto`: which, and why, in one line; and other things that were settled alone.
    pub chosen: Vec<String>,
    /// Tools of its tool servers, and of those of its delegates, that are left out or not checked everywhere.
    pub warnings: Vec<ToolWarning>,
    /// Patterns of `approve` and `deny` that match no tool, in its file and in those of its delegates.
    pub unmatched: Vec<UnmatchedPattern>,
}

/// Notes for the user that are gathered while a family of agents is assembled.
#[derive(Default)]
struct Gathered {
    chosen: Vec<String>,
    warnings: Vec<ToolWarning>,
    unmatched: Vec<UnmatchedPattern>,
    environment: Option<Arc<dyn Environment>>,
    /// Where the files of delegates are read from; `None`: the disk.
    kept: Option<AgentSource>,
    /// The files that the agent and its delegates were read from.
    source: Option<AgentSource>,
    /// Tools of the servers of the agent that is being assembled.
    served: ServedTools,
    #[cfg_attr(not(feature = "mcp"), expect(dead_code, reason = "only tool servers are waited for"))]
    waits: Waits,
    /// Where the exchanges with models are recorded, or what stands in for the models.
    cassette: Option<Cassette>,
    /// Notes of a check, where nothing is started.
    checking: Option<checking::Notes>,
}

/// Assembles the agents of a file and of its sub-agents: chooses models, starts tool servers (those of one agent concurrently),
/// and builds the agents.
///
/// # Errors
/// Something that the file names cannot be used.
pub async fn assemble(
    file: &AgentFile,
    env: Env<'_>,
    log: Arc<dyn Store>,
) -> Result<Assembly, AssembleError> {
    Assembling::new(env, log).file(file).await
}

/// The surroundings in which agents are made of files.
#[derive(Clone)]
#[must_use = "nothing is assembled until `file` or `kept`"]
pub struct Assembling<'e> {
    env: Env<'e>,
    log: Arc<dyn Store>,
    waits: Waits,
    cassette: Option<Cassette>,
    overrides: FileOverrides,
    environment: Option<Arc<dyn Environment>>,
}

impl std::fmt::Debug for Assembling<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assembling").field("overrides", &self.overrides).finish_non_exhaustive()
    }
}

impl<'e> Assembling<'e> {
    /// Agents whose runs are kept in that log. `env` answers the variables that files name.
    pub fn new(env: Env<'e>, log: Arc<dyn Store>) -> Self {
        Self {
            env,
            log,
            waits: Waits::default(),
            cassette: None,
            overrides: FileOverrides::default(),
            environment: None,
        }
    }

    /// Names the tool servers that are starting.
    pub fn waits(mut self, waits: &Waits) -> Self {
        self.waits = waits.clone();
        self
    }

    /// Records the exchanges of all models of the family, or lets a cassette stand in for them: then no model is looked for, and no key
    /// is needed.
    pub fn cassette(mut self, cassette: Option<Cassette>) -> Self {
        self.cassette = cassette;
        self
    }

    /// Replaces the clock, and what else comes from the system.
    pub fn environment(mut self, environment: Arc<dyn Environment>) -> Self {
        self.environment = Some(environment);
        self
    }

    /// The settings that were put over the file: they are kept with its runs.
    pub fn overrides(mut self, overrides: FileOverrides) -> Self {
        self.overrides = overrides;
        self
    }

    /// Assembles the agents of a file, to which the overrides were [applied](FileOverrides::apply).
    ///
    /// # Errors
    /// Something that the file names cannot be used.
    pub fn file<'f>(self, file: &'f AgentFile) -> BoxFuture<'f, Result<Assembly, AssembleError>>
    where
        'e: 'f,
    {
        Box::pin(async move {
            let source = AgentSource::of(file, self.overrides.with_variables(self.env));
            self.made(file, self.env, Gathered { source, ..Gathered::default() }).await
        })
    }

    /// Assembles the agents of files that a log has kept. `models` are the ones that stand in for `auto`.
    ///
    /// # Errors
    /// Something that the files name cannot be used.
    pub fn kept<'f>(
        self,
        source: AgentSource,
        models: &'f [String],
    ) -> BoxFuture<'f, Result<Assembly, AssembleError>>
    where
        'e: 'f,
    {
        Box::pin(async move {
            let env = |name: &str| source.overrides.variable(name, self.env);
            let file = source.agent_file(self.env, models)?;
            let gathered =
                Gathered { kept: Some(source.clone()), source: Some(source.clone()), ..Gathered::default() };
            self.made(&file, &env, gathered).await
        })
    }

    async fn made(
        &self,
        file: &AgentFile,
        env: Env<'_>,
        gathered: Gathered,
    ) -> Result<Assembly, AssembleError> {
        let (waits, cassette, environment) =
            (self.waits.clone(), self.cassette.clone(), self.environment.clone());
        let mut gathered = Gathered { environment, waits, cassette, ..gathered };
        family::check_delegates_of(file, env, gathered.files())?;
        let agent = family::member(file, env, &self.log, &[], &mut gathered).await?;
        let Gathered { chosen, warnings, unmatched, .. } = gathered;
        Ok(Assembly {
            agent,
            chosen: once_each(chosen),
            warnings: once_each(warnings),
            unmatched: once_each(unmatched),
        })
    }
}

impl Gathered {
    /// Where the files of delegates are read from.
    fn files(&self) -> &dyn Files {
        self.kept.as_ref().map_or(&Disk, |kept| kept)
    }

    /// The files that the whole family was read from.
    fn agent_files(&self) -> Option<Arc<AgentFiles>> {
        self.source.as_ref().and_then(AgentFiles::new).map(Arc::new)
    }
}

/// Drops duplicates: a file that is named twice reports everything twice.
fn once_each<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    let mut distinct = Vec::new();
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}

/// One agent of a family in the making, with what it needs to act; its delegates are there already.
async fn alone(
    file: &AgentFile,
    env: Env<'_>,
    log: Arc<dyn Store>,
    delegates: Vec<Arc<dyn Delegate>>,
    gathered: &mut Gathered,
) -> Result<AgentBuilder, AssembleError> {
    gathered.chosen.extend(file.unmasked.iter().chain(&file.unchecked).cloned());
    gathered.note(file)?;
    let builder = prompted(Agent::builder(file.name.as_str()), file)?;
    let mut builder = builder
        .description(file.description.as_str())
        .examples(file.example_messages())
        .policy(file.policy()?)
        .written(file.written())
        .log(log);
    if let Some(schema) = &file.input_schema {
        builder = builder.input_schema(schema.clone());
    }
    if let Some(schema) = &file.output_schema {
        builder = builder.output_schema(schema.clone());
    }
    if let Some(environment) = &gathered.environment {
        builder = builder.environment(environment.clone());
    }
    for delegate in delegates {
        builder = builder.delegate(delegate);
    }
    for tool in local_tools(file)? {
        builder = builder.shared_tool(tool);
    }
    for entry in &file.hosted {
        builder = builder.hosted(entry.hosted.tool, entry.hosted.options.clone());
    }
    for FileService { service, tools } in services(file, env)? {
        builder = tools.into_iter().fold(builder, AgentBuilder::shared_tool).uses(&service);
    }
    if gathered.checking.is_some() {
        return Ok(checking::without_servers(builder, file, gathered));
    }
    servers::with_servers(builder, file, gathered).await
}

fn with_models(builder: AgentBuilder, models: Vec<Named>) -> AgentBuilder {
    models.into_iter().fold(builder, |builder, Named { choice, model, auto }| {
        let builder = if auto { builder.chosen_model(choice.name.clone()) } else { builder };
        builder.model_with(choice, model)
    })
}

/// A model of a file.
struct Named {
    choice: ModelChoice,
    model: Arc<dyn Model>,
    /// Whether it was looked for here and now.
    auto: bool,
}

async fn models(
    file: &AgentFile,
    env: Env<'_>,
    gathered: &mut Gathered,
) -> Result<Vec<Named>, AssembleError> {
    if let Some(notes) = &mut gathered.checking {
        return checking::stand_ins(file, env, notes);
    }
    if let Some(Cassette::Replay(player)) = &gathered.cassette {
        return Ok(played(file, player));
    }
    let mut models = looked_up(file, env, &mut gathered.chosen).await?;
    gathered.chosen.extend(models.iter().flat_map(|named| named.model.unsent(&named.choice)));
    if let Some(Cassette::Record(recorder)) = &gathered.cassette {
        for named in &mut models {
            named.model = recorder.model(named.model.clone());
        }
    }
    Ok(models)
}

/// The entries of a file's models, with the default one where it names none.
fn entries(file: &AgentFile) -> Vec<ModelEntry> {
    let default = [ModelEntry { use_: "auto".to_owned(), ..ModelEntry::default() }];
    file.with_summariser(if file.models.is_empty() { &default } else { &file.models })
}

/// The models of a file with a cassette in their place. `auto` is the model that was asked first in the recording.
fn played(file: &AgentFile, player: &Arc<Player>) -> Vec<Named> {
    let named = |entry: &ModelEntry| {
        let mut choice = entry.choice();
        let auto = entry.use_ == "auto";
        if let Some(name) = player.first_model().filter(|_| auto) {
            choice.name = name.into();
        }
        Named { choice, model: player.model(), auto }
    };
    entries(file).iter().map(named).collect()
}

/// The models of a file, looked up by their names.
async fn looked_up(
    file: &AgentFile,
    env: Env<'_>,
    chosen: &mut Vec<String>,
) -> Result<Vec<Named>, AssembleError> {
    let entries = entries(file);
    let mut models = Vec::new();
    if let Some((variable, value)) = file.mock_replies(env) {
        chosen.push(format!("model: replaced by {variable}"));
        let model: Arc<dyn Model> = Arc::new(MockReplies::new(&value));
        let stands_in =
            |entry: &ModelEntry| Named { choice: entry.choice(), model: model.clone(), auto: false };
        return Ok(entries.iter().map(stands_in).collect());
    }
    for entry in &entries {
        let mut choice = entry.choice();
        let auto = entry.use_ == "auto";
        let model = if auto {
            let found = choose_auto(env).await;
            chosen.push(format!("model: {} ({})", found.name, found.reason));
            choice.name = found.name.as_str().into();
            takes(file, entry.place, &*found.model, &ModelRequest::new(choice.clone(), []))?;
            found.model
        } else {
            resolved(file, entry, env)?
        };
        models.push(Named { choice, model, auto });
    }
    Ok(models)
}

/// The model of an entry that names one.
///
/// # Errors
/// The name or a setting is invalid, or its key is missing.
pub fn resolved(file: &AgentFile, entry: &ModelEntry, env: Env<'_>) -> Result<Arc<dyn Model>, AssembleError> {
    let model = resolve(&entry.settings(file.timeouts()), env).map_err(|source| AssembleError::Model {
        file: file.file.clone(),
        place: within(entry.place),
        model: entry.use_.clone(),
        source: Box::new(source),
    })?;
    takes(file, entry.place, &*model, &ModelRequest::new(entry.choice(), []))?;
    Ok(model)
}

/// The place of a model in its file; `None`: it was given from outside.
fn within(place: Place) -> Option<Place> {
    Some(place).filter(|place| *place != Place::default())
}

/// Checks that the API of a model can be sent a request, which has the settings of the model's entry at `place`.
///
/// # Errors
/// It has no place for a part of it.
fn takes(
    file: &AgentFile,
    place: Place,
    model: &dyn Model,
    request: &ModelRequest,
) -> Result<(), AssembleError> {
    model.refuses(request).map_or(Ok(()), |why| {
        Err(AssembleError::NotTaken {
            file: file.file.clone(),
            place: within(place),
            model: request.model.name.to_string(),
            why,
        })
    })
}

/// The tools of a file that need no server and no set-up: built-ins, commands, and those of skills.
///
/// # Errors
/// A folder cannot be opened, or a description is unusable.
pub fn local_tools(file: &AgentFile) -> Result<Vec<Arc<dyn Tool>>, AssembleError> {
    let mut tools = Vec::new();
    for entry in &file.tools {
        let (tool, overrides) = match entry {
            ToolEntry::Builtin(entry) => (built_in(file, entry)?, &entry.overrides),
            ToolEntry::Command(entry) => {
                let failed = |source| AssembleError::Tool { tool: entry.settings.name.clone(), source };
                let tool = CommandTool::new(&entry.settings, &file.folder).map_err(failed)?;
                let tool = entry.env.iter().fold(tool, |tool, (name, value)| tool.env(name, value.expose()));
                let tool: Arc<dyn Tool> = Arc::new(tool);
                (tool, &entry.overrides)
            }
            ToolEntry::Mcp(_) | ToolEntry::Service(_) => continue,
        };
        tools.push(overrides.apply(tool));
    }
    tools.extend(file.skills.tools());
    Ok(tools)
}

fn built_in(file: &AgentFile, entry: &BuiltinEntry) -> Result<Arc<dyn Tool>, AssembleError> {
    let failed = |source| AssembleError::Tool { tool: entry.tool.name.to_owned(), source };
    let folders: Vec<PathBuf> =
        if entry.folders.is_empty() { vec![file.folder.clone()] } else { entry.folders.clone() };
    entry.tool.make(&Given { folders: &folders, hosts: &entry.hosts }).map_err(failed)
}
