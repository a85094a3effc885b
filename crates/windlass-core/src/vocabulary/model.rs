//! Inputs of a run beside its messages: the models that it may use, their prices, and usage carried over.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_macros::Named;

use crate::vocabulary::amount::Amount;
use crate::vocabulary::annotations::Annotations;
use crate::vocabulary::hosted::{HostedPrices, HostedTool};
use crate::vocabulary::ids::Text;
use crate::vocabulary::options::{ModelOption, ModelOptions, OptionValue, ReasoningOptions};
use crate::vocabulary::output::OutputBy;
use crate::vocabulary::reply::Usage;

/// The most bytes of one reply, where its model has no other bound (16 MiB).
pub const MAX_REPLY_BYTES: u64 = 16 * 1024 * 1024;

/// The work that a model of a run is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Named)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything that no other model is there for: it, and after it its fallbacks in order.
    #[default]
    Main,
    /// Simple turns, which only follow up on results of tools.
    Simple,
    /// Summaries of messages and of long results.
    Summarise,
}

impl Role {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
    fn is_main(&self) -> bool {
        *self == Self::Main
    }
}

/// A model to ask, in the order of fallbacks, with its settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// `provider/model`, as the agent names it.
    pub name: Text,
    /// The work that it is asked for. Only models of the role [`Role::Main`] are fallbacks.
    #[serde(default, skip_serializing_if = "Role::is_main")]
    pub role: Role,
    /// Sampling temperature; `None`: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// The most tokens that one reply may have; `None`: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// The most bytes that one reply may have: text, reasoning and arguments together; `None`: [`MAX_REPLY_BYTES`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_reply_bytes: Option<u64>,
    /// Texts that end a reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<Text>,
    /// Nucleus sampling: the share of probability that tokens are taken from; `None`: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Presence penalty, from -2 to 2; `None`: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`, or another word that the provider takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Text>,
    /// Whether the model may make several calls in one reply; `None`: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<bool>,
    /// Whether the provider holds the model to the schemas of tools, where it offers that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Metadata that the provider stores with the request.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<Text, Text>,
    /// Settings that few agents use, behind one pointer: a choice is cloned for each request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Arc<ModelOptions>>,
    /// After how many milliseconds without a reply the next model of the list is asked beside it; `None`: it never is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hedge_ms: Option<u64>,
    /// List prices; `None`: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// Whether its server holds replies to a schema; `None`: nobody says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<bool>,
    /// Whether it takes sampling settings; `None`: as far as anybody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<bool>,
    /// Wire for calls of this model where the policy leaves it open (`wire: auto`). Set once the model has refused tools, so
    /// that later calls do not try them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<Wire>,
    /// How it is asked for the run's output where the policy leaves that open (`output: { mode: auto }`): decided before its first
    /// request, and again once it has refused that. `None`: as the loop asks unknown models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputBy>,
    /// The program whose output is the model's key: a key that is refused can be renewed by a person. `None`: the key is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_command: Option<Text>,
}

impl ModelChoice {
    /// The sampling temperature that it is asked with, where a preset has one: its own, or the preset's unless it takes none.
    pub fn temperature_or(&self, presets: Option<f64>) -> Option<f64> {
        self.temperature.or(presets.filter(|_| self.sampling != Some(false)))
    }

    /// Takes a setting away, by its key in agent files. `false`: it is none that can be left out, or it is not set.
    pub(crate) fn unset(&mut self, setting: &str) -> bool {
        match setting {
            // A preset's temperature goes with the model's own.
            "temperature" => {
                self.temperature.take().is_some() | (self.sampling.replace(false) != Some(false))
            }
            "top_p" => self.top_p.take().is_some(),
            "presence_penalty" => self.presence_penalty.take().is_some(),
            "stop" => !std::mem::take(&mut self.stop).is_empty(),
            "parallel" => self.parallel.take().is_some(),
            "metadata" => !std::mem::take(&mut self.metadata).is_empty(),
            "reasoning" => self.reasoning.take().is_some(),
            option => {
                let known = ModelOption::ALL.iter().find(|known| known.key() == option);
                let options = self.options.as_mut().zip(known);
                options.is_some_and(|(options, option)| Arc::make_mut(options).unset(*option))
            }
        }
    }

    /// The value of an option; `None`: it is not set.
    pub fn option(&self, option: ModelOption) -> Option<OptionValue<'_>> {
        self.options.as_ref()?.get(option)
    }

    /// How it reasons, beside its effort; `None`: as the provider does by itself.
    pub fn reasoning_options(&self) -> Option<&ReasoningOptions> {
        self.options.as_deref().map(|options| &options.reasoning).filter(|reasoning| !reasoning.is_empty())
    }

    /// How many of the most likely tokens come with each token of the reply; `None`: probabilities are not asked for.
    pub fn logprobs(&self) -> Option<u64> {
        self.options.as_deref()?.logprobs
    }

    /// The most bytes that one reply may have.
    pub fn max_reply_bytes(&self) -> u64 {
        self.max_reply_bytes.unwrap_or(MAX_REPLY_BYTES)
    }
}

/// List prices in pico-dollars (10⁻¹² USD) a token: integers, so that sums are exact.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// A token of the request.
    pub input: u64,
    /// A token of the reply.
    pub output: u64,
    /// A token of the request that came from the provider's cache.
    pub cached: u64,
    /// A token of the request that was written to the provider's cache.
    pub cache_write: u64,
    /// Tools that the provider runs; `None`: no price of one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosted: Option<Arc<HostedPrices>>,
}

impl Prices {
    /// From USD per million tokens, as price lists give them. Cached tokens cost as much as others if not given, and so do
    /// tokens that are written to the cache.
    pub fn per_million(input: f64, output: f64, cached: Option<f64>) -> Self {
        Self {
            input: pico(input),
            output: pico(output),
            cached: pico(cached.unwrap_or(input)),
            cache_write: pico(input),
            hosted: None,
        }
    }

    /// The same with this price of tokens that are written to the cache, in USD per million.
    #[must_use]
    pub fn with_cache_write(self, usd: f64) -> Self {
        Self { cache_write: pico(usd), ..self }
    }

    /// The same with these prices of tools that the provider runs, in USD per 1,000 uses.
    #[must_use]
    pub fn with_hosted(self, usd: impl IntoIterator<Item = (HostedTool, f64)>) -> Self {
        let prices: HostedPrices =
            usd.into_iter().map(|(tool, usd)| (tool, (usd * 1e9).round() as u64)).collect();
        Self { hosted: (!prices.is_empty()).then(|| Arc::new(prices)), ..self }
    }

    /// The most that a token of a request may cost: whether it is written to the cache is known only afterwards.
    pub fn most_input(&self) -> u64 {
        self.input.max(self.cache_write)
    }

    /// The cost of this usage, in pico-dollars: at list price, or what the provider reported if that is more.
    pub fn cost(&self, usage: &Usage) -> u64 {
        self.list_cost(usage).max(usage.reported.get())
    }

    /// The cost of a model call in pico-dollars, with the tools that its provider ran: at list price, or what the provider reported if that
    /// is more. `None`: the price of its tokens is unknown, and its provider has reported none.
    pub fn cost_of(prices: Option<&Self>, usage: &Usage, ran: Option<&Annotations>) -> Option<u64> {
        let reported = usage.reported.get();
        let Some(prices) = prices else { return (reported != 0).then_some(reported) };
        let uses = prices.hosted.as_ref().zip(ran).map(|(_, ran)| ran.uses()).unwrap_or_default();
        let hosted = uses.into_iter().filter_map(|(tool, uses)| prices.hosted_cost(tool, uses));
        Some(hosted.fold(prices.list_cost(usage), u64::saturating_add).max(reported))
    }

    /// The cost of uses of a tool that the provider runs, in pico-dollars; `None`: its price is unknown, or it has none.
    pub fn hosted_cost(&self, tool: HostedTool, uses: u64) -> Option<u64> {
        self.hosted.as_ref()?.get(&tool).map(|price| price.saturating_mul(uses))
    }

    /// Savings of the provider's cache for this usage at list prices, in pico-dollars: below 0, writing to it cost more than reading from it
    /// saved.
    pub fn saved(&self, usage: &Usage) -> i64 {
        let cached = usage.cached.min(usage.input);
        let written = usage.cache_write.min(usage.input - cached);
        let amount = |tokens: u64, dear: u64, cheap: u64| {
            let difference = i128::from(dear) - i128::from(cheap);
            i128::from(tokens).saturating_mul(difference)
        };
        let saved = amount(cached, self.input, self.cached) + amount(written, self.input, self.cache_write);
        i64::try_from(saved).unwrap_or(if saved < 0 { i64::MIN } else { i64::MAX })
    }

    fn list_cost(&self, usage: &Usage) -> u64 {
        let cached = usage.cached.min(usage.input);
        let written = usage.cache_write.min(usage.input - cached);
        (usage.input - cached - written)
            .saturating_mul(self.input)
            .saturating_add(cached.saturating_mul(self.cached))
            .saturating_add(written.saturating_mul(self.cache_write))
            .saturating_add(usage.output.saturating_mul(self.output))
    }
}

/// USD per million tokens, in pico-dollars a token.
fn pico(usd: f64) -> u64 {
    (usd * 1e6).round() as u64
}

/// The counters that a continued run takes over from the run that ended at a limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// The counters as they stood.
    pub counters: crate::vocabulary::amount::Counters,
    /// The usage as it stood, for limits on tokens.
    pub usage: Usage,
    /// The cost as it stood, in pico-dollars, for limits on cost.
    #[serde(default)]
    pub cost: u64,
    /// Reservations for model calls that were lost with their process. They count against limits on tokens and cost.
    #[serde(default, skip_serializing_if = "Amount::is_zero")]
    pub reserved: Amount,
    /// The time as it stood, in milliseconds, for a limit on seconds.
    #[serde(default)]
    pub elapsed_ms: u64,
}

/// How calls are read from a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Wire {
    /// Native calls; where there are none, the text forms of calls. A model that refuses tools is asked again by schema
    /// where its server holds replies to schemas, else with fenced blocks, and from then on.
    Auto,
    /// Native calls only.
    Native,
    /// JSON objects that the provider holds to a schema: one form a tool, and one for the answer.
    Schema,
    /// Fenced JSON blocks in the text.
    Fenced,
}
