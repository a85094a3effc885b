//! The agent of a case: its file's fields, with scripted models and tools in place of real ones.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::ToolSpec;
use windlass_core::model::ModelChoice;
use windlass_core::text::{covers, nearest};
use windlass_core::tool::EffectApproval;
use windlass_models::resolve::Env;
use windlass_runtime::agent_file::{
    AgentFile, BuiltinService, DelegateEntry, ModelEntry, ServiceEntry, ToolEntry,
};
use windlass_runtime::{
    Agent, AgentBuilder, AgentDelegate, Branch, Delegate, local_tools, prompted, with_tools,
};
use windlass_tools::builtin::{Now, Takes};
use windlass_tools::mcp::McpConfig;
use windlass_tools::{Tool, ToolOverrides};

use super::hook::ScriptedHook;
use crate::code;
use crate::crash::CrashLog;
use crate::doubles::{
    AbsentTool, AgentPeer, OwnTool, RealTool, ScriptedNow, ScriptedPeer, ScriptedToolDouble, scripted_model,
};
use crate::fixture::{AgentSource, Case, ChildScript, Peer, RealTools, ScriptedTool};
use crate::script::Script;
use crate::sim::SimEnvironment;
use windlass_runtime::in_full as refusal;

/// The name of the scripted model where the agent names none.
pub(crate) const UNNAMED: &str = "scripted";

/// Shared state of all agents of a case.
struct Cast<'c> {
    case: &'c Case,
    environment: &'c SimEnvironment,
    log: Arc<CrashLog>,
}

/// One agent of a case: the case's own, or a peer.
struct Part<'c> {
    /// Name of a peer; `None`: the name in its file.
    name: Option<&'c str>,
    agent: &'c AgentSource,
    tools: &'c [ScriptedTool],
    /// The tools of its file that really run.
    real: &'c RealTools,
    peers: &'c [Peer],
    script: Script,
    /// Whether only those tools and peers are its own that its file names: a branch that has no script of its own.
    named_only: bool,
}

/// Builds the agent. `Err`: it is refused, with the whole message.
pub(crate) fn build(
    case: &Case,
    script: &Script,
    environment: &SimEnvironment,
    log: Arc<CrashLog>,
) -> Result<Agent, String> {
    let (tools, real, peers) = (&*case.tools, &case.real_tools, &*case.peers);
    let script_of_root = script.clone();
    let part = Part {
        name: None,
        agent: &case.agent,
        tools,
        real,
        peers,
        script: script_of_root,
        named_only: false,
    };
    let cast = Cast { case, environment, log };
    let mut builder = cast.begin(&part)?;
    for asked in case.hooks.iter().filter_map(|hook| hook.branch.as_ref()) {
        if let Some(agent) = &asked.agent {
            builder = builder.known_branch(cast.unregistered(&asked.name, agent, &part)?);
        }
    }
    if !case.hooks.is_empty() {
        let total_ms = cast.read(part.agent)?.timeouts().total_ms;
        for name in case.hooks.iter().filter_map(|hook| hook.set.as_ref()?.model.as_deref()) {
            let choice =
                ModelChoice { name: name.into(), prices: case.prices.clone(), ..ModelChoice::default() };
            builder = builder.known_model_with(choice, scripted_model(script, environment, total_ms));
        }
        builder = builder
            .step_hook(Arc::new(ScriptedHook { edits: case.hooks.clone(), turns: script.turns.clone() }));
    }
    builder.build().map_err(|error| refusal(&error))
}

impl Cast<'_> {
    fn env(&self) -> impl Fn(&str) -> Option<String> + Sync {
        |name: &str| self.case.variable(name)
    }

    fn begin(&self, part: &Part<'_>) -> Result<AgentBuilder, String> {
        let file = self.read(part.agent)?;
        self.begin_file(part, &file)
    }

    /// An agent's file, with the scripted model where it names none.
    fn read(&self, agent: &AgentSource) -> Result<AgentFile, String> {
        let mut file = agent.read(&self.env()).map_err(|error| refusal(&error))?;
        if file.models.is_empty() {
            file.models.push(ModelEntry { use_: UNNAMED.to_owned(), ..ModelEntry::default() });
        }
        Ok(file)
    }

    /// A branch that only a hook knows: it has its parent's models and script.
    fn unregistered(
        &self,
        name: &str,
        agent: &AgentSource,
        parent: &Part<'_>,
    ) -> Result<AgentBuilder, String> {
        let mut file = agent.read(&self.env()).map_err(|error| refusal(&error))?;
        name.clone_into(&mut file.name);
        self.branch(&file, parent)
    }

    /// A branch: with its own script if a peer of its name has one, else with its parent's.
    fn branch(&self, file: &AgentFile, parent: &Part<'_>) -> Result<AgentBuilder, String> {
        let own = parent.peers.iter().find_map(|peer| {
            if let Peer::Agent { name, script } = peer
                && *name == file.name
            {
                Some(script)
            } else {
                None
            }
        });
        let part = match own {
            Some(own) => Part {
                name: None,
                agent: &own.agent,
                tools: &own.tools,
                real: &own.real_tools,
                peers: &own.peers,
                script: parent.script.of_peer(&file.name),
                named_only: false,
            },
            None => Part { name: None, script: parent.script.clone(), named_only: true, ..*parent },
        };
        let mut file = file.clone();
        if own.is_some() && file.models.is_empty() {
            // They are its parent's, with the time that they have there.
            let parent_file = self.read(parent.agent)?;
            file.timeout_settings.total_ms = Some(parent_file.timeouts().total_ms);
            file.models = parent_file.models;
        }
        self.begin_file(&part, &file)
    }

    fn begin_file(&self, part: &Part<'_>, file: &AgentFile) -> Result<AgentBuilder, String> {
        let env = self.env();
        file.check_available().map_err(|error| refusal(&error))?;
        if let Some((_, value)) = file.mock_replies(&env).filter(|_| part.script.is_root()) {
            part.script.lock().mock(&value);
        }
        let has_none = part.tools.is_empty() && part.peers.is_empty();
        let scripted = !(part.named_only || has_none);
        let policy = file.policy_with_tools(scripted).map_err(|error| refusal(&error))?;
        let builder = prompted(Agent::builder(part.name.unwrap_or(&file.name)), file)
            .map_err(|error| refusal(&error))?
            .description(file.description.as_str())
            .examples(file.example_messages())
            .policy(policy)
            .log(self.log.clone())
            .environment(Arc::new(self.environment.clone()));
        let builder = match code::program() {
            Some(path) => builder.code_program(path),
            None => builder,
        };
        let builder = self.equip(builder, part, file)?;
        self.accompany(builder, part, file)
    }

    /// Its models and tools, and what goes in and out.
    fn equip(
        &self,
        mut builder: AgentBuilder,
        part: &Part<'_>,
        file: &AgentFile,
    ) -> Result<AgentBuilder, String> {
        let (script, environment) = (&part.script, self.environment);
        let models = if file.models.is_empty() { Vec::new() } else { file.with_summariser(&file.models) };
        for entry in &models {
            let mut choice = entry.choice();
            choice.prices = choice.prices.or_else(|| self.case.prices.clone());
            let total_ms = entry.settings(file.timeouts()).timeouts.total_ms;
            builder = builder.model_with(choice, scripted_model(script, environment, total_ms));
        }
        let stands_in = |name: &str| part.tools.iter().any(|tool| tool.name == name);
        if let Some(fault) =
            part.real.faults_of(file, part.tools).into_iter().next().filter(|_| !part.named_only)
        {
            return Err(refusal(&fault));
        }
        let own = own_tools(file, part, environment, self.case.unknown)?
            .into_iter()
            .filter(|tool| !stands_in(&tool.spec().name));
        builder = own.fold(builder, AgentBuilder::shared_tool);
        for entry in &file.tools {
            if let ToolEntry::Service(entry) = entry {
                builder = Self::serve(builder, part, entry)?;
            }
        }
        for entry in &file.hosted {
            builder = builder.hosted(entry.hosted.tool, entry.hosted.options.clone());
        }
        for tool in part.tools.iter().filter(|tool| !part.named_only || names(file, &tool.name)) {
            builder = builder.tool(double(tool, file, script, environment));
        }
        if let Some(schema) = &file.input_schema {
            builder = builder.input_schema(schema.clone());
        }
        if let Some(schema) = &file.output_schema {
            builder = builder.output_schema(schema.clone());
        }
        Ok(builder)
    }

    /// A service: a memory is a real one, which is kept in the process and survives restarts as a file would. Another
    /// needs scripted tools in the place of its own.
    fn serve(builder: AgentBuilder, part: &Part<'_>, entry: &ServiceEntry) -> Result<AgentBuilder, String> {
        if !matches!(entry.service, BuiltinService::Memory(_)) {
            return Ok(builder);
        }
        let found = with_tools(part.script.memory(), entry).map_err(|error| refusal(&error))?;
        let own = found.tools.into_iter().filter(|tool| {
            let name = &*tool.spec().name;
            !part.tools.iter().any(|scripted| scripted.name == *name)
        });
        let own = own.map(|tool| counted(tool, &part.script));
        Ok(own.fold(builder, AgentBuilder::shared_tool).uses(&found.service))
    }

    /// Adds its peers. Those that its file names need a scripted replacement: nothing real is contacted here.
    fn accompany(
        &self,
        mut builder: AgentBuilder,
        part: &Part<'_>,
        file: &AgentFile,
    ) -> Result<AgentBuilder, String> {
        let entries = named_entries(file, &self.env());
        let entry_of =
            |peer: &Peer| entries.iter().find(|(name, _)| *name == peer.name()).map(|(_, entry)| *entry);
        for peer in part.peers {
            let entry = entry_of(peer);
            let branch = matches!((entry, peer), (Some(DelegateEntry::Branch { .. }), Peer::Agent { .. }));
            if !branch && (entry.is_some() || !part.named_only) {
                builder = builder.delegate(self.peer(part, peer, entry)?);
            }
        }
        for (name, entry) in &entries {
            if let DelegateEntry::Branch { file, merge, .. } = entry {
                let stands_in = |peer: &Peer| matches!(peer, Peer::Scripted { .. }) && peer.name() == name;
                if !part.peers.iter().any(stands_in) {
                    builder = builder.branch(Branch::new(self.branch(file, part)?).merge(*merge));
                }
                continue;
            }
            if !part.peers.iter().any(|peer| peer.name() == name) && !self.case.unknown {
                let known = |peer: &&Peer| entries.iter().any(|(name, _)| *name == peer.name());
                let others = part.peers.iter().filter(|peer| !known(peer)).map(Peer::name);
                return Err(unscripted(name, &nearest(name, others)));
            }
        }
        Ok(builder)
    }

    fn peer(
        &self,
        part: &Part<'_>,
        peer: &Peer,
        entry: Option<&DelegateEntry>,
    ) -> Result<Arc<dyn Delegate>, String> {
        let script = part.script.of_peer(peer.name());
        Ok(match peer {
            Peer::Scripted { name, description, does } => Arc::new(ScriptedPeer {
                name: name.clone(),
                description: description.clone(),
                does: does.clone(),
                script,
            }),
            Peer::Agent { name, script: own } => {
                let agent = agent_of(own, entry)?;
                let part = Part {
                    name: Some(name),
                    agent: &agent,
                    tools: &own.tools,
                    real: &own.real_tools,
                    peers: &own.peers,
                    script: script.clone(),
                    named_only: false,
                };
                let agent = self.begin(&part)?.build().map_err(|error| refusal(&error))?;
                Arc::new(AgentPeer { agent: AgentDelegate::new(agent), script })
            }
        })
    }
}

/// The entries of `agents` by the names that the model calls them by. A file that cannot be read goes by its own name: a scripted
/// peer may stand in for it.
pub(super) fn named_entries<'f>(file: &'f AgentFile, env: Env<'_>) -> Vec<(String, &'f DelegateEntry)> {
    let name = |entry: &DelegateEntry| {
        if let DelegateEntry::File { path, name: None, .. } = entry
            && let Ok(Ok(file)) = AgentSource::of_delegate(path, None).map(|agent| agent.read(env))
        {
            return file.name;
        }
        entry.name()
    };
    file.agents.iter().map(|entry| (name(entry), entry)).collect()
}

/// The agent of a peer: the case's, or that of the file that its parent names.
pub(super) fn agent_of<'c>(
    own: &'c ChildScript,
    entry: Option<&DelegateEntry>,
) -> Result<Cow<'c, AgentSource>, String> {
    match entry {
        Some(DelegateEntry::File { path, description, .. }) if own.agent.is_absent() => {
            let agent = AgentSource::of_delegate(path, description.as_deref());
            agent.map(Cow::Owned).map_err(|error| refusal(&error))
        }
        _ => Ok(Cow::Borrowed(&own.agent)),
    }
}

/// The message for a delegate that the case says nothing about. `like` are peers of the case that stand for no delegate.
fn unscripted(name: &str, like: &[String]) -> String {
    if let [like, ..] = like {
        return format!(
            "The agent `{name}` needs a script under `peers`, which has `{like}`; did you mean {name}?"
        );
    }
    format!(
        "The agent `{name}` needs a script: `peers: {{ {name}: {{ does: [ {{ reply: ... }} ] }} }}` gives its answers, \
         `peers: {{ {name}: {{ model: [ ... ] }} }}` the replies of its model"
    )
}

/// Whether an agent's file has a tool of that name.
fn names(file: &AgentFile, tool: &str) -> bool {
    let of_skill = file.skills.tool_names().contains(&tool);
    of_skill
        || file.tools.iter().any(|entry| match entry {
            ToolEntry::Builtin(entry) => is_called(tool, entry.tool.name, &entry.overrides),
            ToolEntry::Command(entry) => is_called(tool, &entry.settings.name, &entry.overrides),
            ToolEntry::Mcp(entry) => is_served_by(&entry.config, tool),
            ToolEntry::Service(entry) => entry.tool_names().iter().any(|name| *name == *tool),
        })
}

/// Whether a built-in tool or a command is offered by that name.
pub(super) fn is_called(tool: &str, name: &str, overrides: &ToolOverrides) -> bool {
    tool.strip_prefix(overrides.prefix.as_deref().unwrap_or_default()) == Some(name)
}

/// Whether a tool's name has a server's prefix, or the server's entry names it where there is none.
pub(super) fn is_served_by(server: &McpConfig, tool: &str) -> bool {
    let prefix = server.tool_prefix();
    if prefix.is_empty() { is_named_by(server, tool) } else { tool.starts_with(&prefix) }
}

fn is_named_by(server: &McpConfig, tool: &str) -> bool {
    let chosen = &server.tools;
    let listed = |patterns: &[String]| {
        // A pattern of stars alone names nothing.
        let says = |pattern: &&String| pattern.chars().any(|c| c != '*' && c != '?');
        patterns.iter().filter(says).any(|pattern| covers(pattern, tool))
    };
    let gone = chosen.rename.contains_key(tool) || listed(&chosen.without);
    chosen.rename.values().any(|name| name == tool) || chosen.only.as_deref().is_some_and(listed) && !gone
}

/// The agent's own tools with its file's settings: built-in ones without dependencies and those of skills really run, `now` by the case's clock;
/// tools that use files, the network or a program are only offered, unless the case lists them under `real_tools`. With `unknown`
/// they are not there: a call of one is a call of an unknown tool.
fn own_tools(
    file: &AgentFile,
    part: &Part<'_>,
    environment: &SimEnvironment,
    unknown: bool,
) -> Result<Vec<Arc<dyn Tool>>, String> {
    let script = &part.script;
    let local = |entry: &&ToolEntry| matches!(entry, ToolEntry::Builtin(_) | ToolEntry::Command(_));
    let tools = local_tools(file).map_err(|error| refusal(&error))?;
    let own = tools.into_iter().zip(file.tools.iter().filter(local)).map(|(tool, entry)| {
        if let ToolEntry::Builtin(entry) = entry
            && entry.tool.takes == Takes::Nothing
        {
            let is_now = entry.tool == Now::BUILTIN;
            let now = ScriptedNow { now: Now::new(), environment: environment.clone() };
            return Some(counted(if is_now { entry.overrides.apply(Arc::new(now)) } else { tool }, script));
        }
        if part.real.cover(&tool.spec().name) {
            let tool_ms = tool.spec().timeout_ms.unwrap_or(file.tool_ms());
            let real = RealTool::new(tool, script.clone(), Duration::from_millis(tool_ms));
            return Some(Arc::new(real) as Arc<dyn Tool>);
        }
        (!unknown).then(|| absent(&*tool, script))
    });
    let of_skills = file.skills.tools().into_iter().map(|tool| {
        // Skills are a part of the agent's file, and reading them changes nothing.
        let patience = Duration::from_millis(file.tool_ms());
        Arc::new(RealTool::new(tool, script.clone(), patience)) as Arc<dyn Tool>
    });
    Ok(own.flatten().chain(of_skills).collect())
}

fn absent(tool: &dyn Tool, script: &Script) -> Arc<dyn Tool> {
    Arc::new(AbsentTool { spec: tool.spec().clone(), script: script.clone() })
}

fn counted(tool: Arc<dyn Tool>, script: &Script) -> Arc<dyn Tool> {
    Arc::new(OwnTool { tool, script: script.clone() })
}

/// A scripted tool. What the agent's file says of the tool that it stands in for holds for it too.
fn double(
    tool: &ScriptedTool,
    file: &AgentFile,
    script: &Script,
    environment: &SimEnvironment,
) -> ScriptedToolDouble {
    let mut spec: ToolSpec = tool.spec();
    let overrides = file.tools.iter().find_map(|entry| match entry {
        ToolEntry::Builtin(entry) if is_called(&tool.name, entry.tool.name, &entry.overrides) => {
            Some(&entry.overrides)
        }
        ToolEntry::Command(entry) if is_called(&tool.name, &entry.settings.name, &entry.overrides) => {
            Some(&entry.overrides)
        }
        ToolEntry::Service(entry) if entry.tool_names().contains(&tool.name) => Some(&entry.overrides),
        ToolEntry::Mcp(entry) if is_served_by(&entry.config, &tool.name) => Some(&entry.config.overrides),
        ToolEntry::Mcp(_) | ToolEntry::Builtin(_) | ToolEntry::Command(_) | ToolEntry::Service(_) => None,
    });
    if let Some(overrides) = overrides {
        spec.timeout_ms = spec.timeout_ms.or(overrides.timeout_ms);
        spec.retries = spec.retries.or(overrides.retries);
        spec.approve |= overrides.approve.unwrap_or(false);
        if overrides.approve.is_some() {
            spec.effect_approval = EffectApproval::of(overrides.approve);
        }
    }
    ScriptedToolDouble { spec, tool: tool.clone(), script: script.clone(), environment: environment.clone() }
}
