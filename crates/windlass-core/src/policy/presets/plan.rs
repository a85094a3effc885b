//! `plan`: perception, decision and steps of code, in versions of a plan (the Session 10 agent).

use crate::policy::code::{CodeLimits, CodeMode};
use crate::policy::limits::AtLimit;
use crate::policy::past::{Recall, RecallBounds, RecallBy};
use crate::policy::presets::{Alias, Preset};
use crate::policy::texts::LogTexts;
use crate::policy::values::{Repetition, Stop};
use crate::policy::views::View;
use crate::vocabulary::limit::LimitKind;

/// Calls in one block of code.
const FUNCTIONS: u32 = 5;
/// Timeout of each tool in milliseconds; code may take as long.
const TOOL_MS: u64 = 500_000;

const PERCEIVE: &str = "You are the perception module of an agent. Judge the input that follows: a user's query, or the result of a \
    step of the agent's plan. Reply with one JSON object in a ```json fence and nothing else:\n\
    {\"entities\": [...], \"result_requirement\": \"the result that the query asks for\", \"original_goal_achieved\": true | false, \
    \"confidence\": \"0.0 to 1.0\", \"reasoning\": \"...\", \"local_goal_achieved\": true | false, \"local_reasoning\": \"...\", \
    \"last_tooluse_summary\": \"...\", \"solution_summary\": \"the answer so far, for the user\"}\n\
    `original_goal_achieved` is true only if the original query is answered completely, from the input, the memory or what you \
    know for certain. `local_goal_achieved` is true if the step was useful. `memory_excerpt` holds earlier queries with their results, and failed \
    steps: do not count on a tool that has failed.";

const DECIDE: &str = "You are the decision module of an agent. Make or continue a plan of one to five lines, and give its next step. \
    Reply with one JSON object in a ```json fence and nothing else:\n\
    {\"plan_text\": [\"Step 0: ...\", ...], \"step_index\": 0, \"description\": \"...\", \"type\": \"CODE\" | \"CONCLUDE\" | \"NOP\", \
    \"code\": \"Python\", \"conclusion\": \"...\"}\n\
    CODE runs Python that calls the functions below with positional arguments and must `return` its result; variables do not live \
    on in later steps; call several functions at once with `await parallel((\"name\", arg, ...), ...)`; at most five calls; imports: \
    math, re, json. Do not use a function again that has failed, nor one that `tool_reliability` says to avoid. CONCLUDE ends with `conclusion` as the answer. NOP asks the user for \
    clarification: `description` is the question. With the strategy `conservative` choose the one surest step; with `exploratory` \
    you may try several ways at once. Keep `plan_text` word for word while the plan holds.\n\nFunctions:\n{tools}";

const ASK_LIMIT: &str = "HUMAN-IN-LOOP: Plan Failure\nThe limit of {amount} is reached";
const ASK_STEPS: &str = "HUMAN-IN-LOOP: Plan Failure\nMax steps limit ({n}) reached at step {reached}";
const ASK_RESULT: &str = "HUMAN-IN-LOOP: Tool Failure\nMax retries limit ({n}) reached at retry {n}\n\
    The step `{step}` failed: {error}";
const ASK_DOUBTFUL: &str = "HUMAN-IN-LOOP: Tool Failure\nNot tried again: a call of the step may have happened\n\
    The step `{step}` failed: {error}";
const ASK_PLAN: &str = "HUMAN-IN-LOOP: Plan Failure\nProposed plan:\n{plan}\nNext step: {step}";

impl Preset {
    /// A plan in versions, judged after each step.
    pub const PLAN: Self = Self {
        name: "plan",
        alias: Some("session10"),
        aliases: &[("MAX_STEPS", Alias::Limit(LimitKind::PlanSteps)), ("MAX_RETRIES", Alias::Retries)],
        aliases_in_env: true,
        total_ms: 600_000,
        replies_variable: None,
        values: |policy| {
            policy.request.view = View::Plan;
            policy.replies.stop = Stop::Judge;
            policy.calls.retries = 3;
            policy.calls.retry_wait_ms = 1_000;
            policy.calls.tool_ms = TOOL_MS;
            policy.calls.repetition = Repetition::Off;
            policy.calls.code = CodeMode::Steps(CodeLimits { calls: FUNCTIONS, ..CodeLimits::default() });
            policy.set_limit_value(LimitKind::PlanSteps, 3);
            policy.bounds.at_limit = AtLimit::Ask;
            let by = RecallBy::InputAndAnswer;
            policy.past.recall =
                Recall::Similar(RecallBounds { by, similarity: 0.0, ..RecallBounds::default() });
            // They stand in the memory of the planners.
            policy.wording.texts.recalled = "".into();
            policy.wording.texts.perceive = PERCEIVE.into();
            policy.wording.texts.decide = DECIDE.into();
            policy.wording.texts.ask_limit = ASK_LIMIT.into();
            policy.wording.texts.ask_steps = ASK_STEPS.into();
            policy.wording.texts.ask_result = ASK_RESULT.into();
            policy.wording.texts.ask_doubtful = ASK_DOUBTFUL.into();
            policy.wording.texts.ask_plan = ASK_PLAN.into();
            policy.wording.log = LogTexts::silent();
        },
    };
}
