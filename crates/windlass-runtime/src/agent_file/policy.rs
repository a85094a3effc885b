//! From the file to the policy of its runs.

use serde_json::{Map, Value};
use windlass_core::{Policy, PolicyError, Preset};
use windlass_models::Timeouts;

use super::error::AgentFileError;
use super::{AgentFile, timeouts};
use crate::yaml::Place;

impl AgentFile {
    /// The policy: the `loop` section, with the file's tool timeout and transport retries.
    ///
    /// # Errors
    /// A key or value of `loop` that does not exist, or that this version does not have yet.
    pub fn policy(&self) -> Result<Policy, AgentFileError> {
        let settings = self.settings();
        let mut policy = Policy::from_settings(&settings).map_err(|error| self.policy_error(error))?;
        if let Some(tool_ms) = self.timeout_settings.tool_ms {
            policy.tool_ms = tool_ms;
        }
        policy.transport = self.retry;
        Ok(policy)
    }

    /// The name of the preset: the file's, else `typed` for an agent with an output schema and `chat` for one without
    /// (decision 1 of the loops reference).
    pub fn preset(&self) -> &str {
        let usual = if self.output_schema.is_some() { Preset::Typed } else { Preset::Chat };
        match self.loop_settings.get("preset") {
            Some(Value::String(name)) => match Preset::from_name(name) {
                Some(preset) => preset.name(),
                None => name,
            },
            _ => usual.name(),
        }
    }

    /// How long a model call may take: the file's timeouts over the preset's.
    pub fn timeouts(&self) -> Timeouts {
        let (total_ms, _) = timeouts::of_preset(self.preset());
        self.timeout_settings.over(Timeouts { total_ms, ..Timeouts::default() })
    }

    /// How long one try of a tool may take, in milliseconds: the file's timeout, else the preset's.
    pub fn tool_ms(&self) -> u64 {
        self.timeout_settings.tool_ms.unwrap_or_else(|| timeouts::of_preset(self.preset()).1)
    }

    /// The `loop` section with its preset filled in.
    fn settings(&self) -> Map<String, Value> {
        let mut settings = self.loop_settings.clone();
        if !settings.contains_key("preset") {
            settings.insert("preset".to_owned(), Value::String(self.preset().to_owned()));
        }
        settings
    }

    fn policy_error(&self, error: PolicyError) -> AgentFileError {
        let path = error.path();
        let file = self.file.clone();
        let place = self.place_of(&path);
        match error {
            PolicyError::Later { path, value } => AgentFileError::Later { file, place, path, value },
            policy => AgentFileError::Policy { file, place, policy },
        }
    }

    /// The place of a key, or of what stands for it: a preset that is not written follows from the output schema.
    fn place_of(&self, path: &str) -> Place {
        if path == "loop.preset" && !self.loop_settings.contains_key("preset") {
            return self.node.locate("output");
        }
        self.node.locate(path)
    }
}
