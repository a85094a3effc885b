//! Timeouts: what the file gives, and what the preset says where it gives nothing.

use windlass_models::Timeouts;

use crate::yaml::{Field, YamlError};

/// The timeouts that a file or a model's entry gives, in milliseconds; `None`: the usual ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeoutSettings {
    /// To connect.
    pub connect_ms: Option<u64>,
    /// From the call to its first token.
    pub first_token_ms: Option<u64>,
    /// Between two tokens.
    pub idle_ms: Option<u64>,
    /// From the call to its end.
    pub total_ms: Option<u64>,
    /// One try of a tool. Not in a model's entry.
    pub tool_ms: Option<u64>,
}

impl TimeoutSettings {
    pub(super) fn decode(field: &Field<'_>, with_tools: bool) -> Result<Self, YamlError> {
        let mut map = field.map()?;
        let ms = |field: Field<'_>| field.u64_in(1, u64::MAX);
        let found = Self {
            connect_ms: map.maybe("connect_ms", ms)?,
            first_token_ms: map.maybe("first_token_ms", ms)?,
            idle_ms: map.maybe("idle_ms", ms)?,
            total_ms: map.maybe("total_ms", ms)?,
            tool_ms: if with_tools { map.maybe("tool_ms", ms)? } else { None },
        };
        map.finish()?;
        Ok(found)
    }

    /// The timeouts of a model call: these over the given ones.
    pub fn over(&self, usual: Timeouts) -> Timeouts {
        Timeouts {
            connect_ms: self.connect_ms.unwrap_or(usual.connect_ms),
            first_token_ms: self.first_token_ms.unwrap_or(usual.first_token_ms),
            idle_ms: self.idle_ms.unwrap_or(usual.idle_ms),
            total_ms: self.total_ms.unwrap_or(usual.total_ms),
        }
    }
}

/// What the presets say of a model call's total and a tool's try, in milliseconds (the table of the loops reference).
pub(super) fn of_preset(preset: &str) -> (u64, u64) {
    match preset {
        "text" => (60_000, 60_000),
        "refine" => (120_000, 120_000),
        "plan" => (600_000, 500_000),
        // chat and typed.
        _ => (600_000, 300_000),
    }
}
