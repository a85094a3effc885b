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
    /// How long a step may run, in seconds.
    pub seconds: f64,
    /// How much memory it may use, in MiB.
    pub memory_mb: u64,
    /// How many calls of tools it may make.
    pub calls: u32,
}

/// Code mode.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct CodeKeys {
    /// Whether the model may write code.
    enabled: bool,
    /// How long a step of code may run, in seconds.
    seconds: Number,
    /// How much memory it may use, in MiB.
    memory_mb: Count<1>,
    /// How many calls of tools it may make.
    calls: u32,
}

impl Default for CodeKeys {
    fn default() -> Self {
        Self { enabled: false, seconds: Number(10.0), memory_mb: Count::of(64), calls: 50 }
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
