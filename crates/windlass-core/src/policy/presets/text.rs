//! `text`: one fenced block a turn, every model call is a step (KAOS).

use crate::policy::limits::{AtLimit, Limit};
use crate::policy::presets::{Alias, Preset};
use crate::policy::results::Results;
use crate::policy::texts::LogTexts;
use crate::policy::values::{Batch, CallersSystem, Memory, MemoryBounds, Repetition};
use crate::vocabulary::ids::Text;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::model::Wire;

impl Preset {
    /// Fenced blocks in plain text, one a turn.
    pub const TEXT: Self = Self {
        name: "text",
        alias: Some("kaos"),
        aliases: &[("max_steps", Alias::Limit(LimitKind::ModelCalls))],
        aliases_in_env: false,
        total_ms: 60_000,
        replies_variable: Some("DEBUG_MOCK_RESPONSES"),
        values: |policy| {
            policy.request.wire = Wire::Fenced;
            policy.request.callers_system = CallersSystem::WithInstructions;
            policy.calls.batch = Batch::First;
            policy.calls.repetition = Repetition::Off;
            policy.calls.tool_ms = 60_000;
            let then = AtLimit::Text("Reached maximum reasoning steps ({n})".into());
            policy.set_limit(LimitKind::ModelCalls, Limit { max: 5, at_limit: Some(then) });
            policy.bounds.at_limit = AtLimit::last_text_or_limit();
            policy.past.memory = Memory::Bounded(MemoryBounds::default());
            policy.wording.texts.model_failed = "Sorry, I encountered an error: {error}".into();
            policy.wording.results = results();
            policy.wording.log = LogTexts { progress: LogTexts::default().progress, ..LogTexts::silent() };
        },
    };
}

fn results() -> Results {
    let failed: Text = "Tool execution failed: {error}".into();
    Results {
        tool: "Tool result: {json}".into(),
        agent: "Agent response: {text}".into(),
        unreadable: "{error}".into(),
        undone: failed.clone(),
        agent_failed: "Agent response: [Delegation failed: {who}{error}]".into(),
        agent_undone: "Agent response: [Delegation failed: {error}]".into(),
        agent_unknown: "Delegation failed: Sub-agent '{tool}' not found. Available: [{agents}]".into(),
        // They say themselves what they are.
        prefix: "".into(),
        failed_prefix: "".into(),
        ..Results::failing(failed)
    }
}
