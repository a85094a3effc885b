//! `refine`: iterations, each an inner loop of calls up to an answer (PromptChain's agentic step).

use crate::policy::context::Compact;
use crate::policy::iterations::Objective;
use crate::policy::limits::{AtLimit, Limit};
use crate::policy::presets::refine_results::{results, say_failures};
use crate::policy::presets::{Alias, Preset};
use crate::policy::texts::{LogTexts, Texts};
use crate::policy::values::{Batch, Repetition, Talk};
use crate::policy::views::View;
use crate::vocabulary::ids::Text;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::model::Wire;

impl Preset {
    /// Iterations, each up to an answer.
    pub const REFINE: Self = Self {
        name: "refine",
        alias: Some("promptchain"),
        aliases: &[
            ("max_internal_steps", Alias::Limit(LimitKind::Iterations)),
            ("max_tool_rounds", Alias::Limit(LimitKind::ToolRounds)),
        ],
        aliases_in_env: false,
        total_ms: 120_000,
        replies_variable: None,
        values: |policy| {
            policy.request.wire = Wire::Native;
            policy.request.view = View::Minimal;
            policy.request.objective = Objective::Required;
            policy.replies.talk = Talk::Clarify(2);
            policy.calls.batch = Batch::Serial;
            policy.calls.repetition = Repetition::Off;
            policy.calls.tool_ms = 120_000;
            // It begins with a budget: without one nothing is too large.
            policy.past.context.compact = Compact::Summarise;
            let none: Text = "No tool was called, and the LLM did not provide an answer. \
                              Please try rephrasing your request or check tool availability."
                .into();
            let last = AtLimit::LastText(Some(none));
            policy.set_limit(LimitKind::Iterations, Limit { max: 5, at_limit: Some(last) });
            let summed_up = Some(AtLimit::WrapUp);
            policy.set_limit(LimitKind::ToolRounds, Limit { max: 40, at_limit: summed_up });
            policy.bounds.at_limit = AtLimit::last_text_or_limit();
            policy.wording.results = results();
            policy.wording.texts.input = "The initial input for this step is: {input}".into();
            say_failures(&mut policy.wording.texts);
            say_interrupts(&mut policy.wording.texts);
            policy.wording.log = log();
        },
    };
}

/// The messages of people to the running agent, in the system's words.
fn say_interrupts(texts: &mut Texts) {
    texts.steering_message = "[User interrupt]: {text}".into();
    texts.correction_message = "[User interrupt, correction]: {text}".into();
    texts.clarification_message = "[User interrupt, clarification]: {text}".into();
    texts.objective_message = "[User interrupt, the objective is now]: {text}".into();
}

fn log() -> LogTexts {
    LogTexts {
        iteration: Some("Agentic step internal iteration {i}/{max}".into()),
        calls: Some("LLM requested {k} tool(s).".into()),
        call: Some("Executing tool: {tool}".into()),
        limit: Some("Reached max iterations ({max}) without final answer".into()),
        ..LogTexts::silent()
    }
}
