//! The values that slots of the loop can have. The comments are the documentation of the agent file's keys, too.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::vocabulary::settings::whole::Count;
use crate::vocabulary::settings::written::{Word, Written};
use crate::written;

/// Tools that a request shows. Every tool can be called in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Discovery {
    /// All that are offered.
    #[default]
    All,
    /// Only `search_tools`, which finds the others, the finish tool and other agents.
    Search,
}

/// Position of the caller's system messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallersSystem {
    /// Where the caller put them.
    #[default]
    InPlace,
    /// With the agent's instructions.
    WithInstructions,
}

/// Condition that ends the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Stop {
    /// A turn without calls.
    Text,
    /// A valid call of the finish tool.
    FinishTool,
    /// A perception that finds the goal achieved: the loop makes plans and runs their steps.
    Judge,
}

/// Phases of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Phases {
    /// A reply without a call is the answer.
    #[default]
    One,
    /// Replies to the first call are actions, and are not streamed. After a reply without a call another call, without
    /// tools, gives the answer.
    Two,
}

/// How daring plans are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Strategy {
    /// Several ways may be tried at once.
    #[default]
    Exploratory,
    /// The one surest step.
    Conservative,
}

/// Whether a person is asked when a step did not help and a plan changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum OnReplan {
    /// The new plan is carried out.
    #[default]
    GoOn,
    /// A person accepts the new plan, gives another one, or concludes.
    Ask,
}

impl From<bool> for OnReplan {
    fn from(asks: bool) -> Self {
        if asks { Self::Ask } else { Self::GoOn }
    }
}

impl From<OnReplan> for bool {
    fn from(on: OnReplan) -> Self {
        on == OnReplan::Ask
    }
}

impl JsonSchema for OnReplan {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ask_on_replan".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        bool::json_schema(generator)
    }
}

/// Number of turns of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turns {
    /// As many as it takes.
    #[default]
    Many,
    /// One that is accepted. Any limit on model calls lifts this.
    One,
}

/// Handling of a turn without a call. Each number is the maximum of consecutive prompts; after that the run is
/// `failed(no_call)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", expecting = "answer, {remind: n}, {clarify: n} or {correct: n}")]
#[schemars(inline)]
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

/// Handling of a call that cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Malformed {
    /// The model is told what is wrong, in this many turns in a row; then the run is `failed(malformed)`.
    FeedBack(u32),
    /// A reply with a call that is no JSON is taken as the answer; of other faults the model is told.
    Answer,
    /// The run fails at once.
    Fail,
}

#[doc(hidden)]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MalformedMap {
    /// The model is told what is wrong, in this many turns in a row; then the run is `failed(malformed)`.
    FeedBack(u32),
}

impl From<MalformedMap> for Malformed {
    fn from(MalformedMap::FeedBack(turns): MalformedMap) -> Self {
        Self::FeedBack(turns)
    }
}

impl Written for Malformed {
    const EXPECTED: &'static str = "{feed_back: n}, answer or fail";
    type Map = MalformedMap;

    fn words() -> Vec<(Word<'static>, Self)> {
        vec![(Word::Text("answer"), Self::Answer), (Word::Text("fail"), Self::Fail)]
    }

    fn number(turns: u32) -> Option<Self> {
        Some(Self::FeedBack(turns))
    }
}

written!(Malformed);

/// How the calls of one turn run. Results always enter the history in call order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Batch {
    /// Up to this many at once.
    Concurrent(u32),
    /// Only the first; the others are skipped.
    First,
    /// One after another.
    Serial,
    /// Read-only and idempotent ones together, those with an effect alone, in call order.
    Staged,
}

#[doc(hidden)]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BatchMap {
    /// Up to this many at once.
    Concurrent(Count<1>),
}

impl From<BatchMap> for Batch {
    fn from(BatchMap::Concurrent(most): BatchMap) -> Self {
        Self::Concurrent(most.get_u32())
    }
}

impl Written for Batch {
    const EXPECTED: &'static str = "concurrent, {concurrent: n}, first, serial or staged";
    type Map = BatchMap;

    fn words() -> Vec<(Word<'static>, Self)> {
        vec![
            (Word::Text("concurrent"), Self::Concurrent(10)),
            (Word::Text("first"), Self::First),
            (Word::Text("serial"), Self::Serial),
            (Word::Text("staged"), Self::Staged),
        ]
    }
}

written!(Batch);

/// Handling of consecutive equal calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repetition {
    /// Nothing.
    Off,
    /// A note, and later the end of the run.
    #[serde(untagged)]
    Watched(Watched),
}

/// Kinds of consecutive equal calls that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Watched {
    /// A note to the model follows the result of this one.
    pub note_at: u32,
    /// This one does not run, and the run ends.
    pub stop_at: u32,
}

impl Repetition {
    /// The usual places.
    pub const ON: Self = Self::Watched(Watched { note_at: 3, stop_at: 6 });

    /// The places, where calls are watched.
    pub fn watched(self) -> Option<Watched> {
        match self {
            Self::Off => None,
            Self::Watched(watched) => Some(watched),
        }
    }

    pub(crate) fn watched_mut(&mut self) -> Option<&mut Watched> {
        match self {
            Self::Off => None,
            Self::Watched(watched) => Some(watched),
        }
    }
}

#[doc(hidden)]
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RepetitionMap {
    /// A note to the model follows the result of this one.
    note_at: Count<2>,
    /// This one does not run, and the run ends.
    stop_at: Count<2>,
}

impl Default for RepetitionMap {
    fn default() -> Self {
        Self { note_at: Count::of(3), stop_at: Count::of(6) }
    }
}

impl From<RepetitionMap> for Repetition {
    fn from(map: RepetitionMap) -> Self {
        Self::Watched(Watched { note_at: map.note_at.get_u32(), stop_at: map.stop_at.get_u32() })
    }
}

impl Written for Repetition {
    const EXPECTED: &'static str = "off, on or {note_at: n, stop_at: n}";
    type Map = RepetitionMap;

    fn words() -> Vec<(Word<'static>, Self)> {
        vec![
            (Word::Text("off"), Self::Off),
            (Word::Text("on"), Self::ON),
            (Word::Flag(false), Self::Off),
            (Word::Flag(true), Self::ON),
        ]
    }
}

written!(Repetition);

/// Past conversations that a run is shown, and how many are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Memory {
    /// Runs belong to no session and remember none.
    Off,
    /// Sessions, without bounds.
    Unbounded,
    /// Sessions within bounds.
    #[serde(untagged)]
    Bounded(MemoryBounds),
}

/// The bounds of session memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryBounds {
    /// Number of messages sent with a delegation.
    pub context_limit: u32,
    /// Maximum number of sessions kept.
    pub max_sessions: u32,
    /// Maximum number of events kept per session.
    pub max_session_events: u32,
}

impl Default for MemoryBounds {
    fn default() -> Self {
        Self { context_limit: 6, max_sessions: 1_000, max_session_events: 500 }
    }
}

impl Memory {
    /// The bounds, where there are any.
    pub fn bounds(self) -> Option<MemoryBounds> {
        match self {
            Self::Off | Self::Unbounded => None,
            Self::Bounded(bounds) => Some(bounds),
        }
    }
}

impl From<MemoryBounds> for Memory {
    fn from(bounds: MemoryBounds) -> Self {
        Self::Bounded(bounds)
    }
}

impl Written for Memory {
    const EXPECTED: &'static str = "off, unbounded or a map of bounds";
    type Map = MemoryBounds;

    fn words() -> Vec<(Word<'static>, Self)> {
        vec![
            (Word::Text("off"), Self::Off),
            (Word::Text("unbounded"), Self::Unbounded),
            (Word::Flag(false), Self::Off),
        ]
    }
}

written!(Memory);

/// Whether a hook is asked between steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hooks {
    /// No hook is asked.
    #[default]
    None,
    /// The hook is asked after the tools of each step, before the next model call.
    AfterSteps,
}

/// Retries of the transport. They use up no model calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(inline)]
pub struct Transport {
    /// Maximum number of retries of a failed request, for each model of the list.
    pub retries: u32,
    /// The first wait, in milliseconds; it doubles each time.
    pub wait_ms: u64,
    /// The longest wait, in milliseconds. If a server asks for more, the model has failed.
    pub max_wait_ms: u64,
}

impl Default for Transport {
    fn default() -> Self {
        Self { retries: 3, wait_ms: 500, max_wait_ms: 30_000 }
    }
}
