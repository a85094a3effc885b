//! Policy: the values of every slot of the loop, as plain data.
//!
//! A preset is a full set of values ([`Preset`]); nothing behind [`Preset::policy`] ever asks which preset it was. A slot
//! that agent files can set is a *key*: one entry of the table below gives its place in the [`Policy`], its usual value,
//! its reader, its JSON Schema and its documentation.

pub use crate::reach::Merge;
pub use crate::view::named::View;
mod cache;
mod later;
mod limit_keys;
mod limits;
mod presets;
mod results;
mod share;
mod table;
mod texts;
mod values;

pub use cache::{CachePoint, CachePoints};
pub use later::{LATER, Later, Named};
pub use limit_keys::{LimitKey, LimitKeys};
pub use limits::{AtLimit, Limit, LimitKind};
pub use presets::Preset;
pub use results::{Results, ResultsKey};
pub use share::Share;
pub(crate) use texts::filled;
pub use texts::{LogTexts, Texts};
pub use values::{
    Batch, CallersSystem, Context, Discovery, Hooks, Malformed, Memory, MemoryBounds, Repetition, Stop, Talk,
    Transport, Turns, Watched, Wire,
};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::choice::ModelChoice;
use crate::event::Purpose;
use crate::glob::covers;
use crate::ids::Text;
use table::policy;

policy! {
    /// What a model call sends, and how its reply is read.
    request: Request {
        /// How calls are read from a reply.
        wire: Wire = Wire::Auto,
        /// How much of the history a request holds.
        view: View = View::Full,
        /// Which tools a request shows. All can be called in either case.
        discovery: Discovery = Discovery::All,
        /// Which messages are marked for the provider's cache. `true`: the system message and the first one.
        cache: CachePoints = CachePoints::default(),
    } beside {
        /// What the loop's model calls are for.
        purpose: Purpose = Purpose::Act,
        /// The sampling temperature of models that name none of their own.
        temperature: Option<f64> = None,
        /// Where the caller's system messages stand.
        callers_system: CallersSystem = CallersSystem::InPlace,
    }

    /// What follows a reply.
    replies: Replies {
        /// What ends the loop.
        stop: Stop = Stop::Text,
        /// What follows a turn without a call. Each number bounds the prompts in a row.
        talk: Talk = Talk::Answer,
        /// What follows a call that cannot be understood: the model is told in so many turns in a row, it is the answer, or
        /// the run fails.
        malformed: Malformed = Malformed::FeedBack(3),
        /// How often a reply that does not fit the output schema is sent back.
        parse_retries: u32 = 2,
    } beside {}

    /// How calls run.
    calls: Calls {
        /// How the calls of one turn run: at most so many at once, only the first one, one after another, or read-only and
        /// idempotent ones together and those with an effect alone. Results always enter the history in call order.
        batch: Batch = Batch::Concurrent(10),
        /// How often a failed call is tried again, after the first try.
        retries: u32 = 0,
        /// The wait before each such try, in milliseconds.
        retry_wait_ms: u64 = 1_000,
        /// What follows equal calls in a row: a note to the model, then the end of the run.
        repetition: Repetition = Repetition::ON,
    } beside {
        /// How long one try of a tool may take, in milliseconds, where the tool does not say.
        tool_ms: u64 = 300_000,
        /// Whether a hook is asked between steps.
        hooks: Hooks = Hooks::None,
    }

    /// Which tools may run.
    tools: ToolRules {
        /// Tools that a person must allow: patterns with `*` and `?`.
        approve: Vec<Text> = Vec::new(),
        /// Tools that must not run: patterns with `*` and `?`.
        deny: Vec<Text> = Vec::new(),
    } beside {}

    /// What ends a run from outside.
    bounds: Bounds {
        /// Limits, each exact: 0 is a limit like any other.
        limits: BTreeMap<LimitKind, Limit> as LimitKeys = BTreeMap::new(),
        /// What follows when a limit is reached that names no outcome of its own. The run's status is `limit` in every case.
        at_limit: AtLimit = AtLimit::LastText(None),
        /// How what is left of the limits on tokens and cost is shared out among the agents and branches that do tasks of the run:
        /// in equal parts, this share for each, or first come first served.
        share: Share = Share::Equal,
        /// How long a stopped action has to end by itself, in milliseconds.
        grace_ms: u64 = 2_000,
    } beside {
        /// How many turns a run has.
        turns: Turns = Turns::Many,
    }

    /// What goes with a run of what was before.
    past: Past {
        /// The context budget.
        context: Context = Context::default(),
        /// Session memory: what is shown of past conversations, and how much is kept.
        memory: Memory = Memory::Unbounded,
    } beside {}

    /// What the model, people and the log are told.
    wording: Wording {
        /// How results are put to the model: as they are, announced, or as a preset words them.
        results: Results as ResultsKey = Results::default(),
    } beside {
        /// What the model is told at fixed places.
        texts: Texts = Texts::default(),
        /// Lines that go to the log.
        #[serde(skip_serializing_if = "LogTexts::is_default")]
        log: LogTexts = LogTexts::default(),
    }
}

/// What a key's written value does to its place: mostly it takes it.
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
        // Those that are not named stay.
        place.extend(self.0);
    }
}

impl LoopKeys {
    /// The policy: the preset's values with these over them. An agent that names no preset gets the usual one.
    pub fn policy(self, usual: Preset) -> Policy {
        let mut policy = self.preset.unwrap_or(usual).policy();
        let counted = |limits: &LimitKeys| limits.0.contains_key(&LimitKind::ModelCalls);
        let lifted = self.limits.as_ref().is_some_and(counted);
        self.put_into(&mut policy);
        if lifted {
            policy.bounds.turns = Turns::Many;
        }
        policy
    }
}

impl Policy {
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

    /// How calls go to a model and come from it: what was learnt of it, where the slot leaves that open.
    pub fn wire_of(&self, model: &ModelChoice) -> Wire {
        match (self.request.wire, model.wire) {
            (Wire::Auto, Some(learnt)) => learnt,
            (wire, _) => wire,
        }
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
        // Whoever says how many model calls there may be wants more than one turn.
        if kind == LimitKind::ModelCalls {
            self.bounds.turns = Turns::Many;
        }
    }

    /// What follows when this limit is reached.
    pub fn at_limit(&self, kind: LimitKind) -> &AtLimit {
        let own = self.bounds.limits.get(&kind).and_then(|limit| limit.at_limit.as_ref());
        own.unwrap_or(&self.bounds.at_limit)
    }

    /// Above how many bytes a result or an input is stored apart and read by ranges.
    pub fn spill_bytes(&self) -> u64 {
        self.past.context.spill_bytes
    }

    /// The pattern of `deny` that this tool's name matches.
    pub fn denied(&self, tool: &str) -> Option<&Text> {
        self.tools.deny.iter().find(|pattern| covers(pattern, tool))
    }

    /// Whether the policy's `approve` list names this tool.
    pub fn wants_approval(&self, tool: &str) -> bool {
        self.tools.approve.iter().any(|pattern| covers(pattern, tool))
    }
}
