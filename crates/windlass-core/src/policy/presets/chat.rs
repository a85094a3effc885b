//! `chat`: until a reply without calls (SwiftAgentKit's adapter).

use crate::policy::limits::{AtLimit, Limit};
use crate::policy::presets::{Alias, Preset};
use crate::vocabulary::limit::LimitKind;

impl Preset {
    /// Until a reply without calls.
    pub const CHAT: Self = Self {
        name: "chat",
        alias: Some("swiftagent"),
        aliases: &[("maxAgenticIterations", Alias::Limit(LimitKind::ModelCalls))],
        aliases_in_env: false,
        total_ms: 600_000,
        replies_variable: None,
        values: |policy| {
            let words = "Maximum iterations reached. Unable to complete the task.";
            let then = AtLimit::LastText(Some(words.into()));
            policy.set_limit(LimitKind::ModelCalls, Limit { max: 10, at_limit: Some(then) });
            policy.bounds.at_limit = AtLimit::last_text_or_limit();
        },
    };
}
