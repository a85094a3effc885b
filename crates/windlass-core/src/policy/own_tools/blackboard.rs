//! The tool that writes the blackboard.

use std::sync::OnceLock;

use serde_json::json;

use crate::vocabulary::tool::{Effect, ToolKind, ToolSpec};

/// The name of the tool that writes the blackboard.
pub const UPDATE_BLACKBOARD: &str = "update_blackboard";

/// Steps of the plan (PromptChain).
pub(crate) const PLAN: usize = 10;

/// Facts (PromptChain).
pub(crate) const FACTS: usize = 20;

/// Observations (PromptChain).
pub(crate) const OBSERVATIONS: usize = 15;

/// Completed steps, errors and results of calls.
pub(crate) const OTHERS: usize = 10;

/// The tool that writes the blackboard, as models are told of it.
pub(crate) fn update_blackboard() -> &'static ToolSpec {
    static SPEC: OnceLock<ToolSpec> = OnceLock::new();
    SPEC.get_or_init(|| {
        let texts = |about: &str, most: usize| {
            json!({ "type": "array", "description": about, "maxItems": most, "items": { "type": "string" } })
        };
        let parameters = json!({
            "type": "object",
            "properties": {
                "plan": texts("The steps that are left, in order. Replaces the current plan.", PLAN),
                "completed": texts("Steps that are done now.", OTHERS),
                "facts": { "type": "object", "description": "Facts found, by name. A known name is replaced.",
                    "maxProperties": FACTS, "additionalProperties": { "type": "string" } },
                "observations": texts("Remarks on what was seen.", OBSERVATIONS),
                "confidence": { "type": "number", "description": "How sure you are, from 0 to 1.",
                    "minimum": 0, "maximum": 1 },
            },
            "additionalProperties": false,
        });
        let about = "Write to the blackboard. Of everything before the last round of calls, only the blackboard is shown to \
                     you: note what you will need.";
        let mut spec = ToolSpec::read_only(UPDATE_BLACKBOARD, about, parameters);
        (spec.kind, spec.effect, spec.origin) = (ToolKind::Blackboard, Effect::Idempotent, "windlass".into());
        spec.poll = true;
        spec
    })
}
