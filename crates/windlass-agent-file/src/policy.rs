//! From the file to the policy of its runs.

use windlass_core::Policy;
use windlass_core::policy::{CodeLimits, CodeMode, DefaultLoop, Preset};
use windlass_models::Timeouts;

use super::AgentFile;
use super::code::CodeSettings;
use super::error::AgentFileError;

impl AgentFile {
    /// The policy: the `loop` section, with the file's tool timeout and transport retries.
    ///
    /// # Errors
    /// Something that this version does not have yet.
    pub fn policy(&self) -> Result<Policy, AgentFileError> {
        self.policy_with_tools(false)
    }

    /// As [`AgentFile::policy`], for an agent that is given tools or agents beside the file's own.
    ///
    /// # Errors
    /// As of [`AgentFile::policy`].
    pub fn policy_with_tools(&self, more_tools: bool) -> Result<Policy, AgentFileError> {
        let mut policy =
            self.loop_section.policy(self.default_loop(more_tools)).map_err(|later| self.later(later))?;
        if let Some(tool_ms) = self.timeout_settings.tool_ms {
            policy.calls.tool_ms = tool_ms;
        }
        if let Some(ms) = self.timeout_settings.child_stall_ms {
            policy.calls.child_stall_ms = Some(ms);
        }
        match self.output_mode {
            Some(mode) => policy.ask_for_output(mode),
            None if self.output_json => policy.ask_for_json(),
            None => {}
        }
        policy.transport = self.retry;
        let CodeSettings { seconds, memory_mb, calls, enabled } = self.code;
        let limits = |own: u32| CodeLimits { seconds, memory_mb, calls: calls.unwrap_or(own) };
        policy.calls.code = match policy.calls.code {
            CodeMode::Off if !enabled => CodeMode::Off,
            CodeMode::Off | CodeMode::Tool(_) => CodeMode::Tool(limits(CodeLimits::default().calls)),
            // The preset's own number of calls holds unless the file names one.
            CodeMode::Steps(own) => CodeMode::Steps(limits(own.calls)),
        };
        Ok(policy)
    }

    /// The preset: the file's, else the one of an agent that names none.
    pub fn preset(&self) -> Preset {
        self.loop_section.keys.preset.unwrap_or_else(|| self.default_loop(false).preset())
    }

    fn default_loop(&self, more_tools: bool) -> DefaultLoop {
        let named = !(self.tools.is_empty() && self.agents.is_empty() && self.skills.is_empty());
        let with_tools = more_tools || named;
        DefaultLoop::of(self.output_schema.is_some(), with_tools)
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
