//! The agent file: an agent in YAML, as data.
//!
//! [`AgentFile::read`] checks everything that a file can say by itself, and each [`AgentFileError`] points at line and
//! column. What this version cannot do yet is read as well, and reported by [`AgentFile::check_available`]. The
//! published JSON Schema is [`schema()`]. Nothing here starts anything: tools, models and delegates are only described.
//!
//! [`yaml`] is the reader beneath it, which scripted conversations use, too; [`template`] are the templates of instructions, and
//! [`files`] reads files within a bound. Most programs use this crate as `windlass_runtime::agent_file`.

mod address;
mod catalogue;
mod code;
mod delegates;
mod environment;
mod error;
mod examples;
mod instructions;
mod json_schema;
mod keys;
mod kinds;
mod loop_section;
mod models;
mod names;
mod overrides;
mod patterns;
mod policy;
mod prompt;
mod providers;
mod rate;
mod reading;
mod schema;
mod services;
mod timeouts;
mod tools;
mod written;

pub mod files;
pub mod template;
pub mod yaml;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use windlass_core::Message;
use windlass_core::policy::{OutputMode, Transport};
use windlass_models::resolve::Env;
use windlass_tools::skills::Skills;

use crate::files::{Disk, Files};
use crate::yaml::{Field, Node, YamlError};
use keys::AgentKeys;
use reading::{Reading, Surroundings};

pub use address::Address;
pub use code::CodeSettings;
pub use delegates::DelegateEntry;
pub use error::AgentFileError;
pub use examples::{Example, ExampleCall};
pub use files::{AgentSource, FileOverrides, SourceError};
pub use instructions::agents_md::{AgentsMd, MAX_AGENTS_MD_BYTES};
pub use instructions::{Instructions, MAX_INSTRUCTIONS_BYTES};
pub use loop_section::{LaterKey, LoopSection};
pub use models::{ModelEntry, read_prices};
pub use names::NamedTool;
pub use patterns::{PatternList, ServedTools, UnmatchedPattern};
pub use prompt::{PromptEntry, PromptTemplate};
pub use providers::{add_providers, read_providers};
pub use reading::ModelNames;
pub use schema::schema;
pub use services::{BuiltinService, ServiceEntry};
pub use timeouts::TimeoutSettings;
pub use tools::hosted::HostedEntry;
pub use tools::skills::{MAX_SKILL_BYTES, MAX_SKILLS, read_skills};
pub use tools::{BuiltinEntry, CommandEntry, McpEntry, ToolEntry};
pub use written::Written;

#[cfg(test)]
mod tests;

/// An agent as its file describes it.
#[derive(Clone, Debug)]
pub struct AgentFile {
    /// Its name; by default the file's name without its ending.
    pub name: String,
    /// Description of the agent.
    pub description: String,
    /// The models to ask, in order of fallback; empty if the file names none.
    pub models: Vec<ModelEntry>,
    /// The instructions, unrendered.
    pub instructions: Instructions,
    /// How the system message is made of them.
    pub prompt: PromptEntry,
    /// The instructions of a folder, where the file asks for them.
    pub agents_md: Option<AgentsMd>,
    /// The skills.
    pub skills: Skills,
    /// Worked examples.
    pub examples: Vec<Example>,
    /// JSON Schema of a typed input.
    pub input_schema: Option<Value>,
    /// JSON Schema of a typed output.
    pub output_schema: Option<Value>,
    /// How models are asked for it, where the file says so.
    pub output_mode: Option<OutputMode>,
    /// It is any JSON object (`json: true`).
    pub output_json: bool,
    /// The tools, one entry each; each built-in tool has an entry of its own.
    pub tools: Vec<ToolEntry>,
    /// The tools that the model's provider runs.
    pub hosted: Vec<HostedEntry>,
    /// The delegates.
    pub agents: Vec<DelegateEntry>,
    /// The `loop` section.
    pub loop_section: LoopSection,
    /// The timeouts that the file gives; [`AgentFile::timeouts`] fills in the preset's.
    pub timeout_settings: TimeoutSettings,
    /// Retries of the transport.
    pub retry: Transport,
    /// Code mode.
    pub code: CodeSettings,
    /// Whether a server that finds the file in its folder of agents offers it.
    pub serve: bool,
    /// The folder that paths in the file start from.
    pub folder: PathBuf,
    /// The file's name, for messages.
    pub file: String,
    /// For each secret of the file that is too short to be masked: which, in one line.
    pub unmasked: Vec<String>,
    /// For each pattern of the file's schemas that is not checked: which and why, in one line.
    pub unchecked: Vec<String>,
    /// Warnings about files that it names, one line each.
    pub remarks: Vec<String>,
    /// The folder in which people work with it, where it depends on that.
    working_folder: Option<PathBuf>,
    /// The texts that it was read from, its own first; empty for an agent that stands within another document.
    texts: Vec<(PathBuf, Arc<str>)>,
    /// Secrets that stand in it as they are.
    literal_secrets: Vec<String>,
    /// The file as it is written, for places.
    node: Node,
}

/// A folder stands for the `agent.yaml` in it, as `windlass init` makes one.
fn within(path: &Path) -> Cow<'_, Path> {
    let file = path.join("agent.yaml");
    if path.is_dir() && file.is_file() { Cow::Owned(file) } else { Cow::Borrowed(path) }
}

/// The text of an agent file.
fn text_of(path: &Path, files: &dyn Files) -> Result<String, AgentFileError> {
    let bytes = files
        .read(path, yaml::MAX_BYTES as u64)
        .map_err(|source| AgentFileError::Read { path: path.to_owned(), source })?;
    String::from_utf8(bytes).map_err(|error| AgentFileError::NotText {
        path: path.to_owned(),
        valid_up_to: error.utf8_error().valid_up_to(),
    })
}

impl AgentFile {
    /// Reads an agent file, or the `agent.yaml` in a folder. `env` answers `${NAME}`, and the preset's
    /// [variables](windlass_core::policy::Preset::variables).
    ///
    /// # Errors
    /// The file cannot be read, or something in it does not fit.
    pub fn read(path: &Path, env: Env<'_>) -> Result<Self, AgentFileError> {
        Self::read_from(&Disk, &within(path), env)
    }

    /// The same, from files that may be kept elsewhere than on the disk ([`AgentSource`]).
    ///
    /// # Errors
    /// The file cannot be read, or something in it does not fit.
    pub fn read_from(files: &dyn Files, path: &Path, env: Env<'_>) -> Result<Self, AgentFileError> {
        Self::parse_from(&text_of(path, files)?, path, Surroundings { env, files })
    }

    /// All errors of an agent file that are known from its text, by line; none if the file cannot be read or is no YAML.
    pub fn faults(path: &Path, env: Env<'_>) -> Vec<YamlError> {
        let path = &*within(path);
        let Some(node) = text_of(path, &Disk).ok().and_then(|text| yaml::parse(&text).ok()) else {
            return Vec::new();
        };
        yaml::all_faults(&node, |node| match Self::from_node(node, path, env, ModelNames::Full) {
            Err(AgentFileError::Invalid(error)) => Some(error),
            Ok(_) | Err(_) => None,
        })
    }

    /// Reads an agent file's text; `file` is for messages, and its folder is where paths start.
    ///
    /// # Errors
    /// Something in it does not fit.
    pub fn parse(text: &str, file: &Path, env: Env<'_>) -> Result<Self, AgentFileError> {
        Self::parse_from(text, file, Surroundings { env, files: &Disk })
    }

    fn parse_from(text: &str, file: &Path, surroundings: Surroundings<'_>) -> Result<Self, AgentFileError> {
        let node = yaml::parse(text).map_err(|error| error.in_file(&file.display().to_string()))?;
        let mut agent = Self::made_of(&node, file, surroundings, ModelNames::Full)?;
        agent.texts.insert(0, (files::key_of(file), text.into()));
        Ok(agent)
    }

    /// Reads an agent that stands within another document, such as a scripted conversation.
    ///
    /// # Errors
    /// Something in it does not fit.
    pub fn from_node(
        node: &Node,
        file: &Path,
        env: Env<'_>,
        model_names: ModelNames,
    ) -> Result<Self, AgentFileError> {
        Self::made_of(node, file, Surroundings { env, files: &Disk }, model_names)
    }

    fn made_of(
        node: &Node,
        file: &Path,
        surroundings: Surroundings<'_>,
        model_names: ModelNames,
    ) -> Result<Self, AgentFileError> {
        let mut reading = Reading::new(node, file, surroundings, model_names);
        let mut agent = decode(node, &mut reading)
            .map_err(|error| error::foreign::named(error).in_file(&reading.file))?;
        agent.take_numbers(surroundings.env)?;
        agent.check()?;
        Ok(agent)
    }

    /// Checks rules that span several keys, so that an accepted file can be used. Branches are checked, too.
    fn check(&self) -> Result<(), AgentFileError> {
        self.check_names()?;
        for entry in &self.agents {
            if let DelegateEntry::Branch { file, .. } = entry {
                file.check()?;
            }
        }
        Ok(())
    }

    /// The worked examples as messages.
    pub fn example_messages(&self) -> Vec<Message> {
        examples::messages(&self.examples)
    }

    /// Rejects settings that this version does not support yet. A later version deletes lines here.
    ///
    /// # Errors
    /// [`AgentFileError::Later`] for the first such key.
    pub fn check_available(&self) -> Result<(), AgentFileError> {
        for entry in &self.agents {
            if let DelegateEntry::Branch { file, .. } = entry {
                file.check_available()?;
            }
        }
        let later = |entry: &&DelegateEntry| matches!(entry, DelegateEntry::A2a { .. });
        if let Some(delegate) = self.agents.iter().find(later) {
            return Err(self.later_at("agents", format!("{} ({})", delegate.name(), delegate.origin())));
        }
        self.policy().map(drop)
    }

    /// The replies in place of its model's that the environment holds, where its loop reads them, with the variable's name.
    pub fn mock_replies(&self, env: Env<'_>) -> Option<(&'static str, String)> {
        let variable = self.loop_section.keys.preset?.replies_variable?;
        Some((variable, env(variable)?))
    }

    fn later_at(&self, path: &str, value: String) -> AgentFileError {
        self.later(LaterKey { place: self.node.locate(path), path: path.to_owned(), value })
    }

    fn later(&self, LaterKey { place, path, value }: LaterKey) -> AgentFileError {
        AgentFileError::Later { file: self.file.clone(), place, path, value }
    }
}

fn decode(node: &Node, reading: &mut Reading<'_>) -> Result<AgentFile, YamlError> {
    let field = Field::root(node);
    if node.is_null() {
        return Err(field.error("agent.empty", "The file is empty, expected an agent's keys"));
    }
    field.decode::<AgentKeys>()?.file(reading)
}
