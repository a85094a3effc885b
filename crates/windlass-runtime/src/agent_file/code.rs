//! Code mode's settings.

use crate::yaml::{Field, YamlError};

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

impl Default for CodeSettings {
    fn default() -> Self {
        Self { enabled: false, seconds: 10.0, memory_mb: 64, calls: 50 }
    }
}

impl CodeSettings {
    pub(super) fn decode(field: &Field<'_>) -> Result<Self, YamlError> {
        let usual = Self::default();
        let mut map = field.map()?;
        let code = Self {
            enabled: map.or("enabled", usual.enabled, |flag| flag.bool())?,
            seconds: map.or("seconds", usual.seconds, |number| number.f64_from_zero())?,
            memory_mb: map
                .or("memory_mb", usual.memory_mb, |number| number.u64_in(1, u64::from(u32::MAX)))?,
            calls: map.or("calls", usual.calls, |number| number.u32())?,
        };
        map.finish()?;
        Ok(code)
    }
}
