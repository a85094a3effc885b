//! Owns the options of a model call: settings of a request that few agents use. One table gives their type here, their keys in
//! agent files with documentation and schema, and the names by which each wire says where it writes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::vocabulary::ids::Text;

/// Gives the table of options to a macro, each as `doc key: Variant kind;`: first those of a model, then those of its `reasoning`. A
/// kind is a way of writing the value: `whole` a whole number, `positive` one from 1, `penalty` a number from -2 to 2, `level` one of
/// `low`, `medium` and `high`, `text` a text that is not empty, `texts` texts by names, `summary` one of `auto`, `concise` and
/// `detailed`, `flag` true or false.
#[macro_export]
macro_rules! model_options {
    ($then:ident) => {
        $then! {
            {
                /// A number that the provider draws tokens by: equal requests then have equal replies, as far as it can.
                seed: Seed whole;
                /// How many of the most likely tokens the next one is drawn from.
                top_k: TopK positive;
                /// Frequency penalty: penalizes tokens by how often they have occurred.
                frequency_penalty: FrequencyPenalty penalty;
                /// The provider's class of service, such as `flex` or `priority`: it decides on price and speed.
                service_tier: ServiceTier text;
                /// How long the model's answers are.
                verbosity: Verbosity level;
                /// An id of the person who asks, without personal data: the provider traces abuse by it.
                user: User text;
                /// Requests with one key are led to one cache of the provider.
                cache_key: CacheKey text;
                /// How long the provider keeps what requests write to its cache, in its own words: `5m` or `1h` (Anthropic), `in_memory` or `24h` (OpenAI).
                cache_lifetime: CacheLifetime text;
                /// Whether a mark for the provider's cache stands behind the tools, in addition to those of `loop.cache` (Anthropic).
                cache_tools: CacheTools flag;
                /// Whether the provider itself marks the newest block of each request for its cache (Anthropic).
                cache_automatic: CacheAutomatic flag;
                /// The name of content that the provider keeps, which requests begin with. Instructions and tools stand in it, and the agent has none (Gemini).
                cached_content: CachedContent text;
                /// The id of a conversation that the provider keeps: what it has is not sent again (OpenAI Responses).
                conversation: Conversation text;
                /// From which probability on a category of harm is blocked, in the provider's words: `HARM_CATEGORY_HARASSMENT: BLOCK_NONE`.
                safety: Safety texts;
                /// Probabilities of the reply's tokens come with it, and those of so many of the most likely ones at each place; 0: only of the chosen ones.
                logprobs: Logprobs whole;
                /// The context window that the server keeps for the model, in tokens: what is longer is refused (Ollama).
                num_ctx: NumCtx positive;
                /// How long the server keeps the model in memory after the call, such as `10m` (Ollama).
                keep_alive: KeepAlive text;
            }
            reasoning {
                /// The most tokens that the model thinks with, in place of `effort`.
                budget_tokens: ReasoningBudget positive;
                /// The summary of the model's thoughts that comes with its reply.
                summary: ReasoningSummary summary;
                /// Whether the model's thoughts can be read, as far as the provider shows them.
                show: ShowReasoning flag;
            }
        }
    };
}

macro_rules! declare {
    (
        { $($(#[$doc:meta])* $key:ident: $Variant:ident $kind:ident;)* }
        reasoning { $($(#[$own_doc:meta])* $own_key:ident: $OwnVariant:ident $own_kind:ident;)* }
    ) => {
        /// Settings of a request that few agents use. What is `None` is not sent, and the provider's default counts.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct ModelOptions {
            $($(#[$doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $key: Option<declare!(@type $kind)>,)*
            /// How the model reasons, beside its effort.
            #[serde(default, skip_serializing_if = "ReasoningOptions::is_empty")]
            pub reasoning: ReasoningOptions,
            /// Parts of the request's body that Windlass has no name for: they are merged into it as they are, objects key by key.
            #[serde(default, skip_serializing_if = "Map::is_empty")]
            pub extra: Map<String, Value>,
        }

        /// How a model reasons, beside its [effort](crate::model::ModelChoice::reasoning).
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct ReasoningOptions {
            $($(#[$own_doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $own_key: Option<declare!(@type $own_kind)>,)*
        }

        /// An option of a model call.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ModelOption {
            $($(#[$doc])* $Variant,)*
            $($(#[$own_doc])* $OwnVariant,)*
        }

        impl ModelOption {
            /// All options.
            pub const ALL: &'static [Self] = &[$(Self::$Variant,)* $(Self::$OwnVariant,)*];

            /// Its key in agent files.
            pub fn key(self) -> &'static str {
                match self {
                    $(Self::$Variant => stringify!($key),)*
                    $(Self::$OwnVariant => concat!("reasoning.", stringify!($own_key)),)*
                }
            }
        }

        impl ModelOptions {
            /// Takes an option away. `false`: it was not set.
            pub(crate) fn unset(&mut self, option: ModelOption) -> bool {
                match option {
                    $(ModelOption::$Variant => self.$key.take().is_some(),)*
                    $(ModelOption::$OwnVariant => self.reasoning.$own_key.take().is_some(),)*
                }
            }

            /// The value of an option; `None`: it is not set.
            pub fn get(&self, option: ModelOption) -> Option<OptionValue<'_>> {
                match option {
                    $(ModelOption::$Variant => self.$key.as_ref().map(OptionValue::from),)*
                    $(ModelOption::$OwnVariant => self.reasoning.$own_key.as_ref().map(OptionValue::from),)*
                }
            }
        }

        impl ReasoningOptions {
            /// Whether nothing is set.
            pub fn is_empty(&self) -> bool {
                $(self.$own_key.is_none() &&)* true
            }
        }
    };
    (@type whole) => { u64 };
    (@type positive) => { u64 };
    (@type penalty) => { f64 };
    (@type level) => { Text };
    (@type text) => { Text };
    (@type texts) => { BTreeMap<Text, Text> };
    (@type summary) => { Text };
    (@type flag) => { bool };
}
model_options!(declare);

impl ModelOptions {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.extra.is_empty() && ModelOption::ALL.iter().all(|option| self.get(*option).is_none())
    }
}

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum OptionValue<'o> {
    /// A whole number.
    Whole(u64),
    /// A number.
    Number(f64),
    /// A text.
    Text(&'o str),
    /// Texts by names.
    Texts(&'o BTreeMap<Text, Text>),
    /// True or false.
    Flag(bool),
}

impl From<&u64> for OptionValue<'_> {
    fn from(number: &u64) -> Self {
        Self::Whole(*number)
    }
}

impl From<&f64> for OptionValue<'_> {
    fn from(number: &f64) -> Self {
        Self::Number(*number)
    }
}

impl<'o> From<&'o Text> for OptionValue<'o> {
    fn from(text: &'o Text) -> Self {
        Self::Text(text)
    }
}

impl<'o> From<&'o BTreeMap<Text, Text>> for OptionValue<'o> {
    fn from(texts: &'o BTreeMap<Text, Text>) -> Self {
        Self::Texts(texts)
    }
}

impl From<&bool> for OptionValue<'_> {
    fn from(flag: &bool) -> Self {
        Self::Flag(*flag)
    }
}
