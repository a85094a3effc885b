//! Policy: the values of every slot of the loop, as plain data.
//!
//! A preset is a function that returns a [`Policy`]; nothing behind [`Policy::preset`] ever asks which preset it was.
//! The slots and their values are the table "The `loop` keys of an agent file" of the loops reference.

mod cache;
mod limits;
mod presets;
mod settings;
mod share;
mod texts;

pub use cache::CachePoint;
pub use limits::{AtLimit, Limit, LimitKind};
pub use presets::Preset;
pub use settings::PolicyError;
pub use share::Share;
pub use texts::{LogTexts, Texts};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choice::ModelChoice;
use crate::event::Purpose;
use crate::glob::covers;
use crate::ids::Text;
use crate::stored::SPILL_BYTES;

/// The values of all policy slots of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// The preset's name, for people; nothing depends on it.
    pub preset: Text,
    /// How calls are read from a reply.
    pub wire: Wire,
    /// How much of the history a request holds.
    pub view: View,
    /// What its model calls are for.
    #[serde(default, skip_serializing_if = "Purpose::is_act")]
    pub purpose: Purpose,
    /// What ends the loop.
    pub stop: Stop,
    /// Whether the loop ends after the first turn that is accepted (acorn's single turn); a limit on model calls lifts it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub single_turn: bool,
    /// Whether a hook is asked after the tools of each step, before the next model call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hooks: bool,
    /// Which tools a request shows.
    #[serde(default, skip_serializing_if = "Discovery::is_all")]
    pub discovery: Discovery,
    /// Where requests carry markers for the provider's cache, where its wire knows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cache: Vec<CachePoint>,
    /// The sampling temperature of models that name none of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// What follows a turn without a call.
    pub talk: Talk,
    /// What follows a call that cannot be understood.
    pub malformed: Malformed,
    /// How the calls of one turn run.
    pub batch: Batch,
    /// How results are put to the model.
    pub results: Results,
    /// How often a failed call is tried again, after the first try.
    pub retries: u32,
    /// The wait before each such try, in milliseconds.
    pub retry_wait_ms: u64,
    /// How often a reply that does not fit the output schema is sent back.
    pub parse_retries: u32,
    /// Whether another iteration follows an answer.
    pub another: Another,
    /// The confidence below which a checked call does not run; `None`: calls are not checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<f64>,
    /// What follows equal calls in a row; `None`: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repetition: Option<Repetition>,
    /// How the plan loop plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<Strategy>,
    /// Whether a person is asked before a new plan version.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ask_on_replan: bool,
    /// The limits that are set.
    pub limits: BTreeMap<LimitKind, Limit>,
    /// What follows a limit that names no outcome of its own.
    pub at_limit: AtLimit,
    /// How what is left of the limits on tokens and cost is shared out among those that do tasks of the run.
    #[serde(default, skip_serializing_if = "Share::is_equal")]
    pub share: Share,
    /// Tools that a person must allow: patterns with `*` and `?`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approve: Vec<Text>,
    /// Tools that must not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<Text>,
    /// The context budget; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextBudget>,
    /// Session memory; `None`: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Whether runs belong to no session and remember none (`memory: off`, KAOS' no-op memory).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgets: bool,
    /// Whether the caller's system messages stand with the agent's instructions, and not where they were given (KAOS).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub merges_system: bool,
    /// How long a stopped action has to end by itself, in milliseconds.
    pub grace_ms: u64,
    /// How long one try of a tool may take, in milliseconds, where the tool does not say.
    pub tool_ms: u64,
    /// Retries of the transport: they use up no model calls.
    pub transport: Transport,
    /// The fixed texts.
    #[serde(default, skip_serializing_if = "Texts::is_default")]
    pub texts: Texts,
}

/// How calls are read from a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// Native calls; where there are none, the text forms of calls. A model that refuses tools is asked again with
    /// fenced blocks, and from then on.
    Auto,
    /// Native calls only.
    Native,
    /// Fenced JSON blocks in the text.
    Fenced,
    /// XML in the text.
    Xml,
}

/// How much of the history a request holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum View {
    /// Everything.
    Full,
    /// All calls and results.
    Progressive,
    /// The last round only.
    Minimal,
    /// Everything, reasoning and failed attempts included.
    KitchenSink,
    /// A structured summary in place of the history.
    Blackboard,
    /// The plan, failures and memories.
    Plan,
    /// The whole conversation as one text: for whoever sums it up.
    Transcript,
}

/// Which tools a request shows. All can be called in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discovery {
    /// All that are offered.
    #[default]
    All,
    /// Only what finds them ([`SEARCH_TOOLS`](crate::SEARCH_TOOLS)), the finish tool and other agents (acorn's
    /// `tool_discovery = "search"`).
    Search,
}

impl Discovery {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    fn is_all(&self) -> bool {
        *self == Self::All
    }
}

/// What ends the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// A turn without calls.
    Text,
    /// A valid call of the finish tool.
    FinishTool,
    /// The judge's verdict.
    Judge,
}

/// What follows a turn without a call. Each number bounds the prompts in a row; then the run is `failed(no_call)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Talk {
    /// It is the answer, even if empty.
    Answer,
    /// The model is reminded to call a tool.
    Remind(u32),
    /// A turn with nothing at all is asked about; text is the answer.
    Clarify(u32),
    /// Talk before any tool output is corrected; afterwards it is the answer.
    Correct(u32),
}

/// What follows a call that cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Malformed {
    /// The model is told what is wrong, in this many turns in a row; then the run is `failed(malformed)`.
    FeedBack(u32),
    /// A reply with a call that is no JSON is taken as the answer; of other faults the model is told (KAOS).
    Answer,
    /// The run fails at once.
    Fail,
}

/// How the calls of one turn run. Results always enter the history in call order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Batch {
    /// At most this many at once.
    Concurrent(u32),
    /// Only the first; the others are skipped.
    First,
    /// One after another.
    Serial,
    /// Read-only and idempotent ones together, those with an effect alone, in call order.
    Staged,
}

/// How results are put to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Results {
    /// As they are.
    Plain,
    /// In SwiftAgentKit's wrapper texts.
    Announced,
    /// Results as they are, failures in acorn's words.
    Acorn,
    /// In KAOS' words.
    Kaos,
}

/// Whether another iteration follows an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Another {
    /// No.
    Never,
    /// As long as the iterations last.
    Always,
    /// If a judge is not satisfied.
    Judge,
}

/// How the plan loop plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Try several ways.
    Exploratory,
    /// One sure step at a time.
    Conservative,
}

/// What follows equal calls in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repetition {
    /// At this one, a note to the model follows its result.
    pub note_at: u32,
    /// This one does not run, and the run ends.
    pub stop_at: u32,
}

/// The context budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextBudget {
    /// The most tokens that a request should have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The share of `max_tokens` at which a warning is logged.
    pub warn_at: f64,
    /// Results above this many bytes are stored once and read by ranges.
    pub spill_bytes: u64,
}

/// Session memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// How many messages go with a delegation.
    pub context_limit: u32,
    /// How many sessions are kept.
    pub max_sessions: u32,
    /// How many events are kept of each.
    pub max_session_events: u32,
}

/// Retries of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transport {
    /// How many, after the first try, for each model of the list.
    pub retries: u32,
    /// The first wait, in milliseconds; it doubles each time.
    pub wait_ms: u64,
    /// The longest wait, in milliseconds. A server that asks for more is taken at its word: the model has failed.
    pub max_wait_ms: u64,
}

impl Default for Transport {
    fn default() -> Self {
        Self { retries: 3, wait_ms: 500, max_wait_ms: 30_000 }
    }
}

impl Policy {
    /// How calls go to a model and come from it: what was learnt of it, where the slot leaves that open.
    pub fn wire_of(&self, model: &ModelChoice) -> Wire {
        match (self.wire, model.wire) {
            (Wire::Auto, Some(learnt)) => learnt,
            (wire, _) => wire,
        }
    }

    /// The value of a limit, if it is set.
    pub fn limit(&self, kind: LimitKind) -> Option<u64> {
        self.limits.get(&kind).map(|limit| limit.max)
    }

    /// Sets a limit, in its kept unit; what follows when it is reached stays as it was.
    pub fn set_limit_value(&mut self, kind: LimitKind, max: u64) {
        let at_limit = self.limits.get(&kind).and_then(|limit| limit.at_limit.clone());
        self.limits.insert(kind, Limit { max, at_limit });
        // Whoever says how many model calls there may be wants more than one turn.
        self.single_turn &= kind != LimitKind::ModelCalls;
    }

    /// What follows when this limit is reached.
    pub fn at_limit(&self, kind: LimitKind) -> &AtLimit {
        self.limits.get(&kind).and_then(|limit| limit.at_limit.as_ref()).unwrap_or(&self.at_limit)
    }

    /// Above how many bytes a result or an input is stored apart and read by ranges.
    pub fn spill_bytes(&self) -> u64 {
        self.context.as_ref().map_or(SPILL_BYTES, |context| context.spill_bytes)
    }

    /// The pattern of `deny` that this tool's name matches.
    pub fn denied(&self, tool: &str) -> Option<&Text> {
        self.deny.iter().find(|pattern| covers(pattern, tool))
    }

    /// Whether the policy's `approve` list names this tool.
    pub fn wants_approval(&self, tool: &str) -> bool {
        self.approve.iter().any(|pattern| covers(pattern, tool))
    }
}
