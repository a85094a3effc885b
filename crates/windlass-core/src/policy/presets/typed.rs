//! `typed`: the output comes through the finish tool, in one turn unless the model calls are limited.

use crate::policy::limits::AtLimit;
use crate::policy::presets::{Alias, Preset};
use crate::policy::results::Results;
use crate::policy::texts::LogTexts;
use crate::policy::values::{Repetition, Stop, Talk, Turns};
use crate::vocabulary::limit::LimitKind;

/// acorn's words, to the letter of its design.
const XML_FORM: &str = "You must provide your final answer now. Respond with your answer in the following XML structure:\n\
    {form}\n\nFill in the values. Do not repeat the descriptions.";

impl Preset {
    /// Typed input and output.
    pub const TYPED: Self = Self {
        name: "typed",
        alias: None,
        aliases: &[("max_steps", Alias::Limit(LimitKind::ModelCalls))],
        aliases_in_env: false,
        total_ms: 600_000,
        replies_variable: None,
        values: |policy| {
            policy.replies.stop = Stop::FinishTool;
            policy.replies.talk = Talk::Remind(2);
            policy.calls.repetition = Repetition::Off;
            policy.bounds.turns = Turns::One;
            policy.bounds.at_limit = AtLimit::ForceFinish;
            policy.wording.results = Results::failing("Tool error: {kind}{error}".into());
            policy.wording.texts.no_call = "No tool calls in agentic loop step after {n} retries".into();
            policy.wording.texts.no_call_at_once =
                "No tool called in single-turn mode after {n} retries".into();
            policy.wording.texts.xml_form = XML_FORM.into();
            policy.wording.log = LogTexts::silent();
        },
    };
}
