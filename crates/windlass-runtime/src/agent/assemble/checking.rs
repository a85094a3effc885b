//! Checks an agent file by assembling its whole family, with nothing started or asked: what a run would refuse is refused here.

use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::sync::watch;
use windlass_agent_file::yaml::Place;
use windlass_agent_file::{AgentFile, AgentsMd, McpEntry, ModelEntry, ToolEntry, UnmatchedPattern};
use windlass_core::model::{ModelChoice, OutputBy};
use windlass_core::policy::{OutputMode, Stop, View, Wire};
use windlass_error::in_full;
use windlass_models::resolve::Env;
use windlass_models::{Model, ModelError, ModelRequest, Tour};
use windlass_store::{MemoryLog, Store};
use windlass_tools::Tool;

use super::error::AssembleError;
use super::family::member;
use super::{Gathered, Named, entries, once_each, programs, resolved, takes};
use crate::agent::Agent;
use crate::agent::builder::AgentBuilder;
use crate::agent::output::OUTPUT_NAME;
use crate::agent::source::ToolSource;
use crate::platform::error::Error;

/// The findings of a check in addition to errors.
#[derive(Debug)]
pub struct Checked {
    /// The agent, with a stand-in for its models and without the tools of its servers.
    pub agent: Agent,
    /// Keys of models that are not set, one line each.
    pub missing: Vec<String>,
    /// Things that some or all inputs will lack, and secrets that are not masked, one line each.
    pub warnings: Vec<String>,
    /// Patterns that match no tool.
    pub unmatched: Vec<UnmatchedPattern>,
}

/// Notes of a check in progress.
#[derive(Default)]
pub(super) struct Notes {
    missing: Vec<String>,
    warnings: Vec<String>,
    /// The models of the agent that is being assembled, each with its place in the file.
    asked: Vec<(ModelChoice, Place, Arc<dyn Model>)>,
}

/// Checks a file and those of all its delegates as [`assemble`](super::assemble) would, without starting a server or
/// asking a model. Keys may be missing.
///
/// # Errors
/// A run of the agent would be refused.
pub fn check(file: &AgentFile, env: Env<'_>) -> Result<Checked, AssembleError> {
    let mut gathered = Gathered { checking: Some(Notes::default()), ..Gathered::default() };
    let log: Arc<dyn Store> = Arc::new(MemoryLog::new());
    let made = member(file, env, &log, &[], &mut gathered).now_or_never();
    // Nothing is waited for where nothing is started.
    let agent = made.unwrap_or_else(|| Err(AssembleError::Unchecked { file: file.file.clone() }))?;
    let Notes { missing, warnings, .. } = gathered.checking.unwrap_or_default();
    let unmatched = once_each(gathered.unmatched);
    Ok(Checked { agent, missing: once_each(missing), warnings: once_each(warnings), unmatched })
}

/// The value of a model's key that is not set: nothing is asked with it.
const NO_KEY: &str = "no-key";

impl Gathered {
    /// Looks whether the models can be sent the tools and the output of an agent that is only checked.
    ///
    /// # Errors
    /// An API has no place for a part of them, or a schema that calls are to be held to (`strict`) has no strict form.
    pub(super) fn check_requests(&mut self, file: &AgentFile, agent: &Agent) -> Result<(), AssembleError> {
        let Some(notes) = &mut self.checking else { return Ok(()) };
        let asked = std::mem::take(&mut notes.asked);
        let policy = agent.policy();
        let native = matches!(policy.request.wire, Wire::Auto | Wire::Native);
        if policy.request.view != View::Full || !native {
            return Ok(());
        }
        for (choice, place, model) in asked {
            // A run that meets a refusal asks in another way, but not where the file names the way.
            let by = agent.wanted_output().by(&*model, &choice);
            let native = policy.replies.stop == Stop::Text
                && policy.replies.output != OutputMode::Prompt
                && by != Some(OutputBy::Prompt);
            let output = agent.output_schema().filter(|_| native);
            let request = ModelRequest {
                tools: agent.tools(),
                response_schema: output.map(|schema| (OUTPUT_NAME.into(), schema.clone())),
                ..ModelRequest::new(choice, [])
            };
            takes(file, place, &*model, &request)?;
        }
        Ok(())
    }

    /// Notes what a file's author should know, where it is only checked.
    ///
    /// # Errors
    /// The instructions cannot be rendered for any input.
    pub(super) fn note(&mut self, file: &AgentFile) -> Result<(), AssembleError> {
        let Some(notes) = &mut self.checking else { return Ok(()) };
        let tried = file.try_instructions();
        let failed = tried.map_err(|source| Error::Template { agent: file.name.clone(), source })?;
        notes.warnings.extend(file.unmasked.iter().chain(&file.unchecked).cloned());
        notes.warnings.extend(file.remarks.iter().cloned());
        notes.warnings.extend(programs::missing(file));
        notes.warnings.extend(file.agents_md.as_ref().and_then(missing_agents_md));
        notes.warnings.extend(file.missing_input().into_iter().map(|part| missing_part(file, &part)));
        notes.warnings.extend(failed.map(|(input, error)| {
            format!(
                "the instructions of `{}` cannot be rendered for the input \"{input}\": {}",
                file.name,
                in_full(&error)
            )
        }));
        Ok(())
    }
}

fn missing_agents_md(agents_md: &AgentsMd) -> Option<String> {
    let AgentsMd { folder, root, found } = agents_md;
    let up_to = if folder == root { String::new() } else { format!(" or above it up to {}", root.display()) };
    found.is_none().then(|| format!("agents_md: there is no AGENTS.md in {}{up_to}", folder.display()))
}

fn missing_part(file: &AgentFile, part: &str) -> String {
    let input = match &file.input_schema {
        None => "the input is a text, which has no such part: `input: { schema: .. }` makes it an object",
        Some(_) => "the input's schema has no such property",
    };
    format!("the templates of `{}` read `input.{part}`; {input}", file.name)
}

/// The models of a file that is only checked: each is looked up, and none is kept.
pub(super) fn stand_ins(
    file: &AgentFile,
    env: Env<'_>,
    notes: &mut Notes,
) -> Result<Vec<Named>, AssembleError> {
    let mut models = Vec::new();
    for entry in entries(file) {
        let auto = entry.use_ == "auto";
        let looked_up = match if auto { Ok(None) } else { resolved(file, &entry, env).map(Some) } {
            Err(AssembleError::Model { source, .. }) if matches!(*source, ModelError::MissingKey { .. }) => {
                notes.missing.push(source.to_string());
                keyless(file, &entry, env)?
            }
            looked_up => looked_up?,
        };
        notes.asked.extend(looked_up.map(|model| (entry.choice(), entry.place, model)));
        models.push(Named { choice: entry.choice(), model: Arc::new(Tour), auto });
    }
    Ok(models)
}

/// A model whose key is not set, on whichever machine it is; `None`: more than its key is missing.
///
/// # Errors
/// Its API does not take its settings.
fn keyless(
    file: &AgentFile,
    entry: &ModelEntry,
    env: Env<'_>,
) -> Result<Option<Arc<dyn Model>>, AssembleError> {
    let keyed = ModelEntry { key: Some(NO_KEY.to_owned().into()), ..entry.clone() };
    let online = |name: &str| env(name).filter(|_| name != "WINDLASS_OFFLINE");
    match resolved(file, &keyed, &online) {
        Err(AssembleError::Model { .. }) => Ok(None),
        looked_up => looked_up.map(Some),
    }
}

/// Gives a builder sources in place of the tool servers of a file that is only checked: which tools they have is not known.
pub(super) fn without_servers(
    mut builder: AgentBuilder,
    file: &AgentFile,
    gathered: &mut Gathered,
) -> AgentBuilder {
    for entry in &file.tools {
        let ToolEntry::Mcp(entry) = entry else { continue };
        gathered.served.unknown.push(entry.config.tool_prefix());
        builder = builder.source(Arc::new(Unconnected::new(entry)));
    }
    builder
}

/// A tool server that is not started.
#[derive(Debug)]
struct Unconnected {
    name: String,
    changes: watch::Sender<u64>,
}

impl Unconnected {
    fn new(entry: &McpEntry) -> Self {
        Self { name: entry.config.name.clone(), changes: watch::Sender::new(0) }
    }
}

impl ToolSource for Unconnected {
    fn name(&self) -> &str {
        &self.name
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
