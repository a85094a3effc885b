//! The agent file: an agent in YAML, as data.
//!
//! [`AgentFile::read`] checks everything that a file can say by itself, and each [`AgentFileError`] points at line and
//! column. What this version cannot do yet is read as well, and reported by [`AgentFile::check_available`]. The
//! published JSON Schema is [`schema`]. Nothing here starts anything: tools, models and delegates are only described.

mod address;
mod code;
mod delegates;
mod environment;
mod error;
mod examples;
mod instructions;
mod json_schema;
mod models;
mod names;
mod policy;
mod reading;
mod schema;
mod services;
mod timeouts;
mod tools;
mod written;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use windlass_core::{Message, Preset, Transport};
use windlass_models::{mock, resolve::Env};

use crate::yaml::{self, Field, MapReader, Node, YamlError};
use json_schema::schema_of;
use reading::Reading;

pub use address::Address;
pub use code::CodeSettings;
pub use delegates::DelegateEntry;
pub use error::AgentFileError;
pub use examples::{Example, ExampleCall};
pub use instructions::{Instructions, MAX_INSTRUCTIONS_BYTES};
pub use models::{ModelEntry, read_prices};
pub use names::NamedTool;
pub use reading::ModelNames;
pub use schema::schema;
pub use services::{BuiltinService, ServiceEntry};
pub use timeouts::TimeoutSettings;
pub use tools::{Builtin, BuiltinEntry, CommandEntry, McpEntry, McpPeer, ToolEntry};

#[cfg(test)]
mod tests;

/// An agent as its file describes it.
#[derive(Clone, Debug)]
pub struct AgentFile {
    /// Its name; by default the file's name without its ending.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The models to ask, in order of fallback; empty if the file names none.
    pub models: Vec<ModelEntry>,
    /// The instructions, unrendered.
    pub instructions: Instructions,
    /// Worked examples.
    pub examples: Vec<Example>,
    /// JSON Schema of a typed input.
    pub input_schema: Option<Value>,
    /// JSON Schema of a typed output.
    pub output_schema: Option<Value>,
    /// The tools, one entry each; each built-in tool has an entry of its own.
    pub tools: Vec<ToolEntry>,
    /// The delegates.
    pub agents: Vec<DelegateEntry>,
    /// The `loop` section as it is written, for [`windlass_core::Policy::from_settings`].
    pub loop_settings: Map<String, Value>,
    /// The timeouts that the file gives; [`AgentFile::timeouts`] fills in the preset's.
    pub timeout_settings: TimeoutSettings,
    /// Retries of the transport.
    pub retry: Transport,
    /// Code mode.
    pub code: CodeSettings,
    /// The folder that paths in the file start from.
    pub folder: PathBuf,
    /// The file's name, for messages.
    pub file: String,
    /// For each secret of the file that is too short to be masked: which, in one line.
    pub unmasked: Vec<String>,
    /// The file as it is written, for places.
    node: Node,
}

impl AgentFile {
    /// Reads an agent file. `env` answers `${NAME}`.
    ///
    /// # Errors
    /// The file cannot be read, or something in it does not fit.
    pub fn read(path: &Path, env: Env<'_>) -> Result<Self, AgentFileError> {
        let bytes = crate::files::read(path, yaml::MAX_BYTES as u64)
            .map_err(|source| AgentFileError::Read { path: path.to_owned(), source })?;
        let text = String::from_utf8(bytes).map_err(|error| AgentFileError::NotText {
            path: path.to_owned(),
            valid_up_to: error.utf8_error().valid_up_to(),
        })?;
        Self::parse(&text, path, env)
    }

    /// Reads an agent file's text; `file` is for messages, and its folder is where paths start.
    ///
    /// # Errors
    /// Something in it does not fit.
    pub fn parse(text: &str, file: &Path, env: Env<'_>) -> Result<Self, AgentFileError> {
        let node = yaml::parse(text).map_err(|error| error.in_file(&file.display().to_string()))?;
        Self::from_node(&node, file, env, ModelNames::Full)
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
        let mut reading = Reading::new(file, env, model_names);
        let agent = decode(node, &mut reading).map_err(|error| error.in_file(&reading.file))?;
        agent.check()?;
        Ok(agent)
    }

    /// What can be said of it as a whole, so that a file that was read can be used; its branches too.
    fn check(&self) -> Result<(), AgentFileError> {
        self.check_names()?;
        for entry in &self.agents {
            if let DelegateEntry::Branch { file, .. } = entry {
                file.check()?;
            }
        }
        match self.policy() {
            Err(AgentFileError::Later { .. }) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The worked examples as messages.
    pub fn example_messages(&self) -> Vec<Message> {
        examples::messages(&self.examples)
    }

    /// What this version cannot do yet. Later versions delete lines here, and nothing else.
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
            return Err(self.later("agents", format!("{} ({})", delegate.name(), delegate.origin())));
        }
        if self.code.enabled {
            return Err(self.later("code.enabled", "true".to_owned()));
        }
        self.policy().map(drop)
    }

    /// The replies in place of its model's that the environment holds, where its loop reads them: KAOS' preset alone.
    pub fn mock_replies(&self, env: Env<'_>) -> Option<String> {
        let preset = self.loop_settings.get("preset").and_then(Value::as_str)?;
        (Preset::from_name(preset) == Some(Preset::Text)).then(|| env(mock::VARIABLE)).flatten()
    }

    fn later(&self, path: &str, value: String) -> AgentFileError {
        let place = self.node.locate(path);
        AgentFileError::Later { file: self.file.clone(), place, path: path.to_owned(), value }
    }
}

fn decode(node: &Node, reading: &mut Reading<'_>) -> Result<AgentFile, YamlError> {
    let field = Field::root(node);
    if node.is_null() {
        return Err(field.error("agent.empty", "The file is empty; an agent's keys are expected"));
    }
    let mut map = field.map()?;
    let name = match map.optional("name") {
        Some(name) => name.filled_text()?.to_owned(),
        None => reading.default_name(),
    };
    let mut file = keys_of_agent(node, map, name, reading)?;
    file.unmasked = std::mem::take(&mut reading.unmasked);
    Ok(file)
}

/// The keys of an agent but its name: at the top of a file, or in a branch.
fn keys_of_agent(
    node: &Node,
    mut map: MapReader<'_>,
    name: String,
    reading: &mut Reading<'_>,
) -> Result<AgentFile, YamlError> {
    let description = map.or("description", String::new(), |text| text.text().map(str::to_owned))?;
    let models = map.or("model", Vec::new(), |model| models::decode(&model, reading))?;
    let instructions =
        map.or("instructions", Instructions::default(), |text| Instructions::decode(&text, reading))?;
    let examples = map.or("examples", Vec::new(), |list| examples::decode(&list))?;
    let input_schema = map.maybe("input", |input| schema_of(&input))?;
    let output_schema = map.maybe("output", |output| schema_of(&output))?;
    let tools = map.or("tools", Vec::new(), |tools| tools::decode(&tools, reading))?;
    let agents = map.or("agents", Vec::new(), |agents| delegates::decode(&agents, reading))?;
    let loop_settings = map.or("loop", Map::new(), |settings| settings.json_object())?;
    let timeout_settings =
        map.or("timeouts", TimeoutSettings::default(), |field| TimeoutSettings::decode(&field, true))?;
    let retry = map.or("retry", Transport::default(), |retry| read_retry(&retry))?;
    let code = map.or("code", CodeSettings::default(), |code| CodeSettings::decode(&code))?;
    map.finish()?;
    Ok(AgentFile {
        name,
        description,
        models,
        instructions,
        examples,
        input_schema,
        output_schema,
        tools,
        agents,
        loop_settings,
        timeout_settings,
        retry,
        code,
        folder: reading.folder.clone(),
        file: reading.file.clone(),
        unmasked: Vec::new(),
        node: node.clone(),
    })
}

fn read_retry(field: &Field<'_>) -> Result<Transport, YamlError> {
    let usual = Transport::default();
    let mut map = field.map()?;
    let retry = Transport {
        retries: map.or("retries", usual.retries, |number| number.u32())?,
        wait_ms: map.or("wait_ms", usual.wait_ms, |number| number.u64())?,
        max_wait_ms: map.or("max_wait_ms", usual.max_wait_ms, |number| number.u64())?,
    };
    map.finish()?;
    Ok(retry)
}
