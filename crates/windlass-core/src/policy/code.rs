//! Code mode: whether a model writes code that calls the tools, and the limits of such code.

use serde::{Deserialize, Serialize};

/// Whether the model is offered `run_code` in place of its tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodeMode {
    /// No code is run.
    #[default]
    Off,
    /// One tool, `run_code`, stands for the tools: they are functions of the code.
    Tool(CodeLimits),
    /// The steps of a plan are code; no tool runs it for a model.
    Steps(CodeLimits),
}

impl CodeMode {
    /// The limits of a step of code, where code is run.
    pub fn limits(self) -> Option<CodeLimits> {
        match self {
            Self::Off => None,
            Self::Tool(limits) | Self::Steps(limits) => Some(limits),
        }
    }

    pub(crate) fn is_off(&self) -> bool {
        *self == Self::Off
    }
}

/// Limits of one step of code.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CodeLimits {
    /// Maximum time that the code runs, in seconds. The time of its calls does not count.
    pub seconds: f64,
    /// Maximum memory of its values, in MiB.
    pub memory_mb: u64,
    /// Maximum number of its calls.
    pub calls: u32,
}

impl Default for CodeLimits {
    fn default() -> Self {
        Self { seconds: 10.0, memory_mb: 64, calls: 50 }
    }
}
