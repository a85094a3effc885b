//! Policy: the values of every slot of the loop, as plain data.
//!
//! A preset is a full set of values ([`Preset`]); nothing behind [`Preset::policy`] ever asks which preset it was. A slot
//! that agent files can set is a *key*: one entry of the table below gives its place in the [`Policy`], its usual value,
//! its reader, its JSON Schema and its documentation.

pub(crate) mod approvals;
pub(crate) mod cache;
pub(crate) mod choices;
pub(crate) mod code;
pub(crate) mod context;
pub(crate) mod iterations;
pub(crate) mod later;
pub(crate) mod limit_keys;
pub(crate) mod limit_value;
pub(crate) mod limits;
pub(crate) mod own_tools;
pub(crate) mod past;
pub(crate) mod presets;
pub(crate) mod results;
pub(crate) mod share;
pub(crate) mod stuck;
pub(crate) mod table;
pub(crate) mod texts;
pub(crate) mod values;
pub(crate) mod verify;
pub(crate) mod views;

pub use crate::vocabulary::limit::LimitKind;
pub use crate::vocabulary::merge::Merge;
pub use crate::vocabulary::model::Wire;
pub use crate::vocabulary::output::OutputMode;
pub use approvals::{Approvals, EFFECTS};
pub use cache::{CachePoint, CachePoints};
pub use choices::ToolChoices;
pub use code::{CodeLimits, CodeMode};
pub use context::{Compact, Context, ContextKey};
pub use iterations::{Another, Contracts, Objective};
pub use later::{LATER, Later, Named};
pub use limit_keys::{LimitKey, LimitKeys};
pub use limit_value::LimitValue;
pub use limits::{AtLimit, Limit};
pub use past::{Recall, RecallBounds, RecallBy, WhileRunning};
pub use presets::{Alias, DefaultLoop, Preset};
pub use results::{Results, ResultsKey};
pub use share::Share;
pub use stuck::Stuck;
pub use texts::{LogTexts, Texts};
pub use values::{
    Batch, CallersSystem, Discovery, Hooks, Malformed, Memory, MemoryBounds, OnReplan, Phases, Repetition,
    Stop, Strategy, Talk, Transport, Turns, Watched,
};
pub use verify::{Verification, Verify};
pub use views::View;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_text::find::glob::covers;

use crate::policy::table::policy;
use crate::vocabulary::ids::Text;
use crate::vocabulary::model::ModelChoice;
use crate::vocabulary::purpose::Purpose;
use crate::vocabulary::tool::{Effect, EffectApproval, FINISH_TOOL, ToolKind, ToolSpec};

policy! {
    /// Requests to models and how replies are read.
    request: Request {
        /// How calls are read from a reply.
        wire: Wire = Wire::Auto,
        /// Part of the history that a request holds.
        view: View = View::Full,
        /// Tools that a request shows. Every tool can be called in either case.
        discovery: Discovery = Discovery::All,
        /// Messages that are marked for the provider's cache. `true`: the system message and the first one. `auto`: the front of
        /// the conversation and its newest message, where writing to the cache has a price of its own and the run can have
        /// more than one turn.
        cache: CachePoints = CachePoints::default(),
        /// Whether the run waits for a quota that opens again, once no model that it may ask has any left: it is suspended until
        /// then, holds nothing, and goes on by itself.
        #[serde(skip_serializing_if = "is_default")]
        wait_for_quota: bool = false,
        /// The calls that the model's turns must make: `auto`, `required` (some call), `none`, a tool's name, or a list of names; or a map of
        /// these by turns, such as `{ first: search, 3: none, then: auto }`. A reply that does not keep to it is asked for again, twice at
        /// most.
        #[serde(skip_serializing_if = "is_default")]
        tool_choice: ToolChoices = ToolChoices::default(),
    } internal {
        /// Purpose of the loop's model calls.
        purpose: Purpose = Purpose::Act,
        /// The sampling temperature of models that name none of their own, and take one.
        temperature: Option<f64> = None,
        /// The sampling temperature of summaries of branches, in the place of their models' own.
        #[serde(skip_serializing_if = "Option::is_none")]
        merge_temperature: Option<f64> = None,
        /// Whether the agent must have instructions.
        objective: Objective = Objective::Optional,
        /// Position of the caller's system messages.
        callers_system: CallersSystem = CallersSystem::InPlace,
    }

    /// Handling of replies.
    replies: Replies {
        /// Condition that ends the loop.
        stop: Stop = Stop::Text,
        /// Phases of a turn: `two` asks for actions first, and then for the answer, which alone is streamed. With `wire: fenced`
        /// actions are one JSON object. Agents without tools, and those that stop at a finish tool, have one phase.
        phases: Phases = Phases::One,
        /// Handling of a turn without a call. Each number is the maximum of consecutive prompts.
        talk: Talk = Talk::Answer,
        /// Handling of a call that cannot be parsed: the error is fed back to the model for this many consecutive turns, the
        /// reply becomes the answer, or the run fails.
        malformed: Malformed = Malformed::FeedBack(3),
        /// Maximum number of retries after a reply that does not match the output schema.
        parse_retries: u32 = 2,
        /// How daring plans are, in a loop with plans.
        strategy: Strategy = Strategy::Exploratory,
        /// Whether a person is asked about a new plan after a step that did not help.
        ask_on_replan: OnReplan = OnReplan::GoOn,
        /// Whether another iteration follows an answer. An iteration is an inner loop up to an answer.
        another: Another = Another::Never,
        /// Form in which perception, decision and judges are asked for JSON: `text` in words, `schema` also as a JSON Schema
        /// (`response_format`), for servers that hold a model to it. Small models need it.
        contracts: Contracts = Contracts::Text,
    } internal {
        /// How models are asked for a typed output.
        #[serde(skip_serializing_if = "OutputMode::is_auto")]
        output: OutputMode = OutputMode::Auto,
    }

    /// Execution of calls.
    calls: Calls {
        /// How the calls of one turn run: at most this many at once, only the first one, one after another, or read-only and
        /// idempotent calls together and all others alone. Results always enter the history in call order.
        batch: Batch = Batch::Concurrent(10),
        /// Maximum number of retries of a failed call.
        retries: u32 = 0,
        /// The wait before each such try, in milliseconds.
        retry_wait_ms: u64 = 1_000,
        /// Handling of consecutive equal calls: a note to the model, then the end of the run.
        repetition: Repetition = Repetition::ON,
        /// Handling of calls of one tool in a row, whatever their arguments: `off`, `on` (three) or `{after: n}`.
        stuck: Stuck = Stuck::Off,
    } internal {
        /// Timeout of one attempt of a tool, in milliseconds, unless the tool sets its own.
        tool_ms: u64 = 300_000,
        /// After how many milliseconds without content, a tool's result or usage a child run is ended; `None`: never.
        #[serde(skip_serializing_if = "Option::is_none")]
        child_stall_ms: Option<u64> = None,
        /// Whether a hook is asked between steps.
        hooks: Hooks = Hooks::None,
        /// Whether code that a model wrote runs, and its limits.
        #[serde(skip_serializing_if = "CodeMode::is_off")]
        code: CodeMode = CodeMode::Off,
    }

    /// Tools that may run.
    tools: ToolRules {
        /// Tools that a person must allow: patterns with `*` and `?`. The item `effects`, also alone in place of the list, means all
        /// tools whose effect is not `read_only`; `approve: false` at a tool's entry takes it out.
        approve: Vec<Text> as Approvals = Vec::new(),
        /// Tools that must not run: patterns with `*` and `?`.
        deny: Vec<Text> = Vec::new(),
        /// Tools that must have succeeded before an answer is accepted: for each pattern (`*`, `?`) at least one tool that it
        /// matches. An earlier answer is sent back to the model.
        require: Vec<Text> = Vec::new(),
        /// Maximum number of answers of a run that are sent back because a required tool has not succeeded. One more ends the
        /// run as `failed(unproven)`.
        require_retries: u32 = 2,
        /// Whether a model judges calls before they run (Chain of Verification). `on`: with a threshold of 0.7.
        verify: Verify = Verify::Off,
    } internal {}

    /// Limits of a run.
    bounds: Bounds {
        /// Limits, each exact: 0 is a limit like any other.
        limits: BTreeMap<LimitKind, Limit> as LimitKeys = BTreeMap::new(),
        /// Outcome at a limit that has no outcome of its own. The run's status is `limit` in every case.
        at_limit: AtLimit = AtLimit::LastText(None),
        /// Share of the remaining limits on tokens and cost for each agent or branch that does a task of the run: equal parts,
        /// a fixed share, or first come first served.
        share: Share = Share::Equal,
        /// Grace period for a stopped action, in milliseconds.
        grace_ms: u64 = 2_000,
    } internal {
        /// Whether a run has one turn or many.
        turns: Turns = Turns::Many,
    }

    /// Past conversations that a run includes.
    past: Past {
        /// The context budget: how large requests may grow, and what is removed from the conversation then.
        context: Context as ContextKey = Context::default(),
        /// Fate of a message to a session whose last run has not ended: it waits for a run of its own after that one, steers it,
        /// interrupts it (the run is cancelled, then a new one begins), or is refused.
        while_running: WhileRunning = WhileRunning::Refuse,
        /// Earlier runs of this agent that a new conversation is reminded of: at most `top` of the newest `among` that were answered and
        /// whose score is at least `similarity` (0 to 1).
        recall: Recall = Recall::Off,
        /// Session memory: what is shown of past conversations, and how much is kept.
        memory: Memory = Memory::Unbounded,
    } internal {}

    /// Texts for the model, people and the log.
    wording: Wording {
        /// Form of results for the model: plain, announced, or in a preset's words.
        results: Results as ResultsKey = Results::default(),
    } internal {
        /// Fixed texts for the model.
        texts: Texts = Texts::default(),
        /// Lines that go to the log.
        #[serde(skip_serializing_if = "LogTexts::is_default")]
        log: LogTexts = LogTexts::default(),
    }
}

/// Whether a slot has its type's default: it is not stored then.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How a parsed value is stored in its place; usually it replaces the default.
pub trait Put<T> {
    /// Puts the value into its place.
    fn put(self, place: &mut T);
}

impl<T> Put<T> for T {
    fn put(self, place: &mut T) {
        *place = self;
    }
}

impl Put<BTreeMap<LimitKind, Limit>> for LimitKeys {
    fn put(self, place: &mut BTreeMap<LimitKind, Limit>) {
        // Keys that are not named keep their values, and a number alone keeps what follows when it is reached.
        for (kind, Limit { max, at_limit }) in self.0 {
            let limit = place.entry(kind).or_insert(Limit { max, at_limit: None });
            limit.max = max;
            limit.at_limit = at_limit.or_else(|| limit.at_limit.take());
        }
    }
}

impl LoopKeys {
    /// The policy: the preset's values with these over them. An agent that names no preset gets the usual loop.
    pub fn policy(self, default_loop: DefaultLoop) -> Policy {
        let mut policy = self.preset.map_or_else(|| default_loop.policy(), |preset| preset.policy());
        let counted = |limits: &LimitKeys| limits.0.contains_key(&LimitKind::ModelCalls);
        let lifted = self.limits.as_ref().is_some_and(counted);
        if let Some(then) = &self.at_limit {
            // It is for all limits, those that the preset has an outcome for included.
            policy.set_at_limit(then.clone());
        }
        self.put_into(&mut policy);
        if lifted {
            policy.bounds.turns = Turns::Many;
        }
        policy
    }
}

impl Policy {
    /// The default values, which all runs share that do not have their own yet.
    pub(crate) fn shared_default() -> Arc<Self> {
        static DEFAULT: OnceLock<Arc<Policy>> = OnceLock::new();
        DEFAULT.get_or_init(Arc::default).clone()
    }

    /// The values of the keys of agent files, as they are written there.
    pub fn keys(&self) -> Vec<(&'static str, serde_json::Value)> {
        let mut keys = self.stored_keys();
        for (key, value) in &mut keys {
            // Files name a wording, runs keep its words.
            if *key == "results" {
                *value = self.wording.results.name().into();
            }
        }
        keys
    }

    /// The wire for a model: the policy's, or the one detected for the model if the policy leaves it open.
    pub fn wire_of(&self, model: &ModelChoice) -> Wire {
        match (self.request.wire, model.wire) {
            (Wire::Auto, Some(detected)) => detected,
            (wire, _) => wire,
        }
    }

    /// Asks for a typed output in this way. The way that stays is the loop's end: a text, or a call of the finish tool.
    pub fn ask_for_output(&mut self, mode: OutputMode) {
        self.replies.output = mode;
        match (mode, self.replies.stop) {
            (OutputMode::Native | OutputMode::Prompt, Stop::FinishTool) => self.replies.stop = Stop::Text,
            (OutputMode::Tool, Stop::Text) => {
                self.replies.stop = Stop::FinishTool;
                // Otherwise a text would end the run without an output.
                if self.replies.talk == Talk::Answer {
                    self.replies.talk = Talk::Remind(2);
                }
            }
            (OutputMode::Auto | OutputMode::Native | OutputMode::Tool | OutputMode::Prompt, _) => {}
        }
    }

    /// Asks for an output that is any JSON object: as the provider's own where its API has that, else by the instructions.
    pub fn ask_for_json(&mut self) {
        self.ask_for_output(OutputMode::Native);
        self.replies.output = OutputMode::Auto;
    }

    /// Whether a model may answer with the output in the place of a call of the finish tool: nothing demands that call, and the provider is
    /// told of the tools.
    pub fn may_answer_with_output(&self) -> bool {
        let (request, replies) = (&self.request, &self.replies);
        replies.output == OutputMode::Auto
            && replies.stop == Stop::FinishTool
            && request.view == View::Full
            && matches!(request.wire, Wire::Auto | Wire::Native)
            && !request.tool_choice.may_force(FINISH_TOOL)
    }

    /// The value of a limit, if it is set.
    pub fn limit(&self, kind: LimitKind) -> Option<u64> {
        self.bounds.limits.get(&kind).map(|limit| limit.max)
    }

    /// The number that a limit is reached at, of equal calls in a row too.
    pub(crate) fn most(&self, kind: LimitKind) -> Option<u64> {
        let repetition = self.calls.repetition.watched().filter(|_| kind == LimitKind::Repetition);
        repetition.map(|repetition| u64::from(repetition.stop_at)).or_else(|| self.limit(kind))
    }

    /// Sets a limit, in its kept unit; what follows when it is reached stays as it was.
    pub fn set_limit_value(&mut self, kind: LimitKind, max: u64) {
        self.bounds.limits.entry(kind).or_insert(Limit { max, at_limit: None }).max = max;
        // A limit on model calls implies more than one turn.
        if kind == LimitKind::ModelCalls {
            self.bounds.turns = Turns::Many;
        }
    }

    /// Sets a limit with the outcome at it.
    pub fn set_limit(&mut self, kind: LimitKind, limit: Limit) {
        self.set_limit_value(kind, limit.max);
        self.bounds.limits.insert(kind, limit);
    }

    /// Limits how long a child run brings nothing, and the child runs below it. A lower limit of its own stays.
    pub fn stall_as_child(&mut self, ms: u64) {
        let lowered = self.calls.child_stall_ms.map_or(ms, |own| own.min(ms));
        self.calls.child_stall_ms = Some(lowered);
        if self.limit(LimitKind::StallSeconds).is_none_or(|own| own > ms) {
            self.set_limit(LimitKind::StallSeconds, Limit { max: ms, at_limit: Some(AtLimit::None) });
        }
    }

    /// Sets the outcome at all limits.
    pub fn set_at_limit(&mut self, then: AtLimit) {
        self.bounds.limits.values_mut().for_each(|limit| limit.at_limit = None);
        self.bounds.at_limit = then;
    }

    /// Outcome at this limit.
    pub fn at_limit(&self, kind: LimitKind) -> &AtLimit {
        let own = self.bounds.limits.get(&kind).and_then(|limit| limit.at_limit.as_ref());
        own.unwrap_or(&self.bounds.at_limit)
    }

    /// Maximum number of bytes of a tool result in the conversation. A larger one is stored apart and read by ranges.
    pub fn spill_bytes(&self) -> u64 {
        self.past.context.spill_bytes
    }

    /// The pattern of `deny` that this tool's name matches.
    pub fn denied(&self, tool: &str) -> Option<&Text> {
        self.tools.deny.iter().find(|pattern| covers(pattern, tool))
    }

    /// The pattern of `approve` that this tool's name matches.
    pub fn approval_pattern(&self, tool: &str) -> Option<&Text> {
        self.tools.approve.iter().find(|pattern| covers(pattern, tool))
    }

    /// Whether the policy's `approve` list names this tool.
    pub fn wants_approval(&self, tool: &str) -> bool {
        self.approval_pattern(tool).is_some()
    }

    /// Whether the policy's `approve` list has [`EFFECTS`], and calls of this tool may have one. Delegates, branches and code ask before
    /// their own calls; a question to a person and the end of a run change nothing.
    pub fn approves_effect_of(&self, tool: &ToolSpec) -> bool {
        tool.kind == ToolKind::Run
            && tool.effect != Effect::ReadOnly
            && tool.effect_approval == EffectApproval::Covered
            && self.tools.approve.iter().any(|item| &**item == EFFECTS)
    }
}
