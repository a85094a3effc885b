//! `acorn`: the values of `typed`, with acorn's sampling temperatures.

use crate::policy::presets::{Alias, Preset};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::output::OutputMode;

impl Preset {
    /// Typed input and output as acorn asks for them.
    pub const ACORN: Self = Self {
        name: "acorn",
        alias: None,
        aliases: &[("max_steps", Alias::Limit(LimitKind::ModelCalls))],
        aliases_in_env: false,
        total_ms: Self::TYPED.total_ms,
        replies_variable: None,
        values: |policy| {
            (Self::TYPED.values)(policy);
            policy.replies.output = OutputMode::Tool;
            policy.request.temperature = Some(0.7);
            policy.request.merge_temperature = Some(0.3);
        },
    };
}
