//! From the file to the policy of its runs.

use windlass_core::Policy;
use windlass_core::policy::Preset;
use windlass_models::Timeouts;

use super::AgentFile;
use super::error::AgentFileError;

impl AgentFile {
    /// The policy: the `loop` section, with the file's tool timeout and transport retries.
    ///
    /// # Errors
    /// Something that this version does not have yet.
    pub fn policy(&self) -> Result<Policy, AgentFileError> {
        let mut policy = self.loop_section.policy(self.usual_preset()).map_err(|later| self.later(later))?;
        if let Some(tool_ms) = self.timeout_settings.tool_ms {
            policy.calls.tool_ms = tool_ms;
        }
        policy.transport = self.retry;
        Ok(policy)
    }

    /// The preset: the file's, else the one of an agent that names none.
    pub fn preset(&self) -> Preset {
        self.loop_section.keys.preset.unwrap_or_else(|| self.usual_preset())
    }

    fn usual_preset(&self) -> Preset {
        Preset::usual(self.output_schema.is_some())
    }

    /// Timeouts of a model call: the file's override the preset's.
    pub fn timeouts(&self) -> Timeouts {
        self.timeout_settings.over(Timeouts { total_ms: self.preset().total_ms, ..Timeouts::default() })
    }

    /// Timeout of one attempt of a tool, in milliseconds: the file's, or else the preset's.
    pub fn tool_ms(&self) -> u64 {
        self.timeout_settings.tool_ms.unwrap_or_else(|| self.preset().policy().calls.tool_ms)
    }
}
