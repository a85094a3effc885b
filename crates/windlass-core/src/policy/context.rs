//! The context budget: how large requests may grow, and what is done about it.

use std::fmt;

use schemars::{JsonSchema, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use windlass_macros::Named;

use crate::policy::Put;
use crate::policy::share::Part;
use crate::vocabulary::ids::Text;
use crate::vocabulary::payload::SPILL_BYTES;
use crate::vocabulary::settings::whole::{Count, Whole};
use crate::vocabulary::settings::written::{Word, Written};
use crate::written;

/// Handling of a conversation that grows too large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Named)]
#[serde(rename_all = "snake_case")]
#[named(all)]
pub enum Compact {
    /// Nothing is removed.
    #[default]
    Off,
    /// Texts of old tool results give way to a note that says how to read them.
    DropResults,
    /// Old messages give way to a summary that a model makes.
    Summarise,
}

impl<'de> Deserialize<'de> for Compact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Words)
    }
}

struct Words;

impl Visitor<'_> for Words {
    type Value = Compact;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("off, drop_results or summarise")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Compact, E> {
        Compact::from_name(word).ok_or_else(|| E::invalid_value(Unexpected::Str(word), &self))
    }

    // Readers of YAML 1.1 turn `off` into false.
    fn visit_bool<E: Error>(self, flag: bool) -> Result<Compact, E> {
        if flag { Err(E::invalid_value(Unexpected::Bool(flag), &self)) } else { Ok(Compact::Off) }
    }
}

crate::schema_as!(inline [] Compact, "compact", |_| {
    json_schema!({ "enum": ["off", false, "drop_results", "summarise"] })
});

/// The context budget.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// The budget for one request, in tokens; `None`: no budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Share of the budget from which on a request gives a warning.
    pub warn_at: f64,
    /// The content that is removed.
    pub compact: Compact,
    /// Share of the budget from which on something is removed.
    pub at: f64,
    /// Something is removed after so many replies, whatever the size; `None`: only because of the size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
    /// The last replies that stay whole, with their results.
    pub keep_last: u32,
    /// The most tokens of a summary.
    pub summary_tokens: u64,
    /// The model that makes summaries, by its name; `None`: the run's main model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// Results above this many bytes are stored once and read by ranges.
    pub spill_bytes: u64,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            max_tokens: None,
            warn_at: 1.0,
            compact: Compact::Off,
            at: 0.7,
            every: None,
            keep_last: 2,
            summary_tokens: 500,
            model: None,
            spill_bytes: SPILL_BYTES,
        }
    }
}

impl Context {
    /// The number of tokens that a share of the budget is; `None`: there is no budget.
    pub(crate) fn tokens_at(&self, share: f64) -> Option<u64> {
        self.max_tokens.map(|most| (most as f64 * share) as u64)
    }
}

/// The context budget as agent files write it: keys that are not named keep their values.
#[derive(Clone, Debug, PartialEq)]
pub enum ContextKey {
    /// No budget, and nothing is removed.
    Off,
    /// These keys.
    Keys(ContextMap),
}

#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContextMap {
    /// The budget for one request, in tokens. Default: none.
    max_tokens: Option<Whole<1>>,
    /// Share of the budget from which on a request gives a warning, once. Nothing is cut. Default: 1.
    warn_at: Option<Part>,
    /// What is removed from the conversation: nothing, the texts of old tool results, or old messages, which a summary
    /// stands for. Default: off.
    compact: Option<Compact>,
    /// Share of the budget from which on something is removed. Default: 0.7.
    at: Option<Part>,
    /// Something is removed after so many replies, whatever the size. Default: only because of the size.
    every: Option<Count<1>>,
    /// The last replies that stay whole, with their results. Default: 2.
    keep_last: Option<Count<1>>,
    /// The most tokens of a summary. Default: 500.
    summary_tokens: Option<Whole<1>>,
    /// The model that makes summaries: provider/model. The name of one of the agent's models has its settings. Default: the
    /// agent's first model.
    model: Option<String>,
    /// Results above this many bytes are stored once and read by ranges. Default: 65,536.
    spill_bytes: Option<Whole<0>>,
}

impl From<ContextMap> for ContextKey {
    fn from(map: ContextMap) -> Self {
        Self::Keys(map)
    }
}

impl Written for ContextKey {
    const EXPECTED: &'static str = "off or a map";
    type Map = ContextMap;

    fn words() -> Vec<(Word<'static>, Self)> {
        vec![(Word::Text("off"), Self::Off), (Word::Flag(false), Self::Off)]
    }
}

written!(ContextKey);

impl Put<Context> for ContextKey {
    fn put(self, place: &mut Context) {
        let Self::Keys(keys) = self else {
            *place = Context::default();
            return;
        };
        let fallback = place.clone();
        *place = Context {
            max_tokens: keys.max_tokens.map(Whole::get).or(fallback.max_tokens),
            warn_at: keys.warn_at.map_or(fallback.warn_at, Part::get),
            compact: keys.compact.unwrap_or(fallback.compact),
            at: keys.at.map_or(fallback.at, Part::get),
            every: keys.every.map(Whole::get_u32).or(fallback.every),
            keep_last: keys.keep_last.map_or(fallback.keep_last, Whole::get_u32),
            summary_tokens: keys.summary_tokens.map_or(fallback.summary_tokens, Whole::get),
            model: keys.model.map(Text::from).or(fallback.model),
            spill_bytes: keys.spill_bytes.map_or(fallback.spill_bytes, Whole::get),
        };
    }
}
