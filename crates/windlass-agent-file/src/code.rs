//! Code mode's settings.

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::settings::Count;

use super::kinds::Number;

/// Code mode: what code that a model wrote may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodeSettings {
    /// Whether the model may write code.
    pub enabled: bool,
    /// Maximum duration of a step, in seconds.
    pub seconds: f64,
    /// Maximum memory, in MiB.
    pub memory_mb: u64,
    /// Maximum number of tool calls; `None`: the preset's own, else that of [`CodeLimits`].
    ///
    /// [`CodeLimits`]: windlass_core::policy::CodeLimits
    pub calls: Option<u32>,
}

/// Code mode: the model writes Python that calls tools.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct CodeKeys {
    /// Whether the model may write code.
    enabled: bool,
    /// Maximum duration of a step of code, in seconds. Default: 10.
    seconds: Number,
    /// Maximum memory, in MiB.
    memory_mb: Count<1>,
    /// Maximum number of tool calls: 50, and 5 in a step of a plan.
    calls: Option<u32>,
}

impl Default for CodeKeys {
    fn default() -> Self {
        Self { enabled: false, seconds: Number(10.0), memory_mb: Count::of(64), calls: None }
    }
}

impl From<CodeKeys> for CodeSettings {
    fn from(keys: CodeKeys) -> Self {
        Self {
            enabled: keys.enabled,
            seconds: keys.seconds.0,
            memory_mb: keys.memory_mb.get(),
            calls: keys.calls,
        }
    }
}

impl Default for CodeSettings {
    fn default() -> Self {
        CodeKeys::default().into()
    }
}
