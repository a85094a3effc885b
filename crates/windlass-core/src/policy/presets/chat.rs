//! `chat`: until a reply without calls (SwiftAgentKit's adapter).

use super::Preset;
use crate::policy::{AtLimit, LimitKind};

impl Preset {
    /// Until a reply without calls.
    pub const CHAT: Self = Self {
        name: "chat",
        alias: "swiftagent",
        limit_aliases: &[("maxAgenticIterations", LimitKind::ModelCalls)],
        total_ms: 600_000,
        replies_variable: None,
        values: |policy| {
            policy.set_limit_value(LimitKind::ModelCalls, 10);
            let words = "Maximum iterations reached. Unable to complete the task.";
            policy.bounds.at_limit = AtLimit::LastText(Some(words.into()));
        },
    };
}
