//! A model with settings, as an agent file writes it.

use std::sync::Arc;

use schemars::{JsonSchema, json_schema};
use serde::de::SeqAccess;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use windlass_core::model::{ModelOptions, ReasoningOptions};
use windlass_core::model_options;
use windlass_core::settings::Whole;

use super::words::{Api, Effort, ReturnReasoning};
use super::{MAX_METADATA, MOST_REPLY_BYTES, PriceKeys};
use crate::kinds::{AddressText, Filled, LooseText, Number, Pairs, SecretText, Short, TextOr};
use crate::rate::RateKeys;
use crate::timeouts::ModelTimeouts;
use crate::yaml::{At, Kind, OfKind, OneOrMany, Valued, YamlError, of_kind};

macro_rules! model_map {
    (
        { $($(#[$doc:meta])* $key:ident: $Variant:ident $kind:ident;)* }
        reasoning { $($(#[$own_doc:meta])* $own_key:ident: $OwnVariant:ident $own_kind:ident;)* }
    ) => {
        /// A model with settings.
        #[derive(Clone, Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(rename = "model")]
        pub(crate) struct ModelMap {
            /// provider/model, auto or tour; with a `base_url` any name.
            #[serde(rename = "use")]
            pub(super) use_: At<Filled>,
            /// Base URL of the API, with or without a trailing slash or /v1.
            pub(super) base_url: Option<At<AddressText>>,
            /// The key, instead of the provider's usual variable.
            pub(super) key: Option<At<SecretText>>,
            /// A command that prints the key, in place of `key`: a line for the shell, or a list of a program and its arguments. It
            /// runs when the model is called, and again when the key expires or is refused.
            #[serde(default)]
            pub(super) key_command: At<OneOrMany<String>>,
            /// More headers for every request.
            #[serde(default)]
            pub(super) headers: Pairs<At<SecretText>>,
            /// Sampling temperature. Default: the provider's.
            pub(super) temperature: Option<Number>,
            /// The most tokens of a reply. Default: the provider's.
            pub(super) max_tokens: Option<Whole<1>>,
            /// The most bytes of a reply: text, reasoning and arguments together. Default: 16 MiB.
            pub(super) max_reply_bytes: Option<Whole<1, MOST_REPLY_BYTES>>,
            /// Texts that end a reply.
            #[serde(default)]
            pub(super) stop: OneOrMany<String>,
            /// Nucleus sampling: the share of probability that tokens are drawn from.
            pub(super) top_p: Option<Number<0, 1>>,
            /// Presence penalty: penalizes tokens that have already occurred.
            pub(super) presence_penalty: Option<Number<-2, 2>>,
            /// How much the model reasons: an effort, or a map with more of it. `true` is `medium`; `none`, `off` and `false` ask for none,
            /// or for as little as the model takes. Default: the provider's.
            pub(super) reasoning: Option<At<Reasoning>>,
            $($(#[$doc])*
            ///
            /// Default: the provider's.
            pub(super) $key: Option<model_map!(@kind $kind)>,)*
            /// Parts of the request's body that no other key says, merged into it as they are, objects key by key: the provider's
            /// own. A key that Windlass writes itself is refused.
            pub(super) extra: Option<Map<String, Value>>,
            /// Whether the model may make several calls in one reply. Default: the provider's.
            pub(super) parallel: Option<bool>,
            /// Whether the provider holds the model to the schemas of tools, where it offers that. A tool whose schema cannot be
            /// written in the provider's strict form is refused, with the place in it.
            #[serde(default)]
            pub(super) strict: bool,
            /// The API that the server speaks. Default: the provider's.
            pub(super) api: Option<Api>,
            /// Whether readable reasoning goes back to the provider that made it. Default: as the provider wants it.
            pub(super) return_reasoning: Option<ReturnReasoning>,
            /// Whether the provider keeps replies, so that a turn sends only what follows the last one (OpenAI Responses). Default: no.
            pub(super) stored_replies: Option<bool>,
            /// Whether the server holds replies to a JSON Schema: with `wire: auto` a model that refuses tools is then asked by schema.
            /// Default: as the provider's entry says.
            pub(super) structured_output: Option<bool>,
            /// Whether the server holds an answer to the schema of the agent's `output` in requests that offer tools, too: with
            /// `output: { mode: auto }` the model is then asked for the output without the finish tool. Default: as the provider's entry
            /// says of the model at the provider's own address.
            pub(super) native_output: Option<bool>,
            /// Metadata that the provider stores with each request.
            #[serde(default)]
            #[schemars(extend("maxProperties" = MAX_METADATA))]
            pub(super) metadata: At<Pairs<LooseText>>,
            /// Whether the marks of `loop.cache` are sent. Default: to Anthropic and OpenRouter.
            pub(super) cache_control: Option<bool>,
            /// List prices. Without them a run has no cost, and a limit on cost is refused.
            pub(super) prices: Option<PriceKeys>,
            /// The most requests and tokens a minute with the key, for all runs of the process together: a request that is one too many waits
            /// for its turn. Default: the provider's, else any number.
            pub(super) rate: Option<At<RateKeys>>,
            /// After so many milliseconds without a reply the next model of the list is asked beside this one. The first whole reply
            /// counts; the other call is stopped, and its usage is counted. Default: the next model is asked only once this one
            /// has failed.
            pub(super) hedge_ms: Option<At<Whole<1>>>,
            /// Timeouts of this model's calls. Default: the agent's.
            #[serde(default)]
            pub(super) timeouts: ModelTimeouts,
            /// The model for simple turns: those that only follow up on results of tools. The name of another model of the list
            /// has its settings. Only of the first model.
            pub(super) simple: Option<Box<At<TextOr<SimpleModel>>>>,
        }

        /// How a model reasons.
        #[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[schemars(rename = "reasoning")]
        pub(super) struct ReasoningMap {
            /// How much it reasons. Default: the provider's.
            pub(super) effort: Option<Effort>,
            $($(#[$own_doc])*
            ///
            /// Default: the provider's.
            pub(super) $own_key: Option<model_map!(@kind $own_kind)>,)*
        }

        impl ModelMap {
            /// The options that are set; `None`: there are none.
            pub(super) fn options(&self) -> Option<Arc<ModelOptions>> {
                let own = self.reasoning.as_ref().and_then(|reasoning| reasoning.value.map());
                let options = ModelOptions {
                    $($key: self.$key.as_ref().map(|value| model_map!(@value $kind value)),)*
                    reasoning: own.map(|own| ReasoningOptions {
                        $($own_key: own.$own_key.as_ref().map(|value| model_map!(@value $own_kind value)),)*
                    }).unwrap_or_default(),
                    extra: self.extra.clone().unwrap_or_default(),
                };
                Some(options).filter(|options| !options.is_empty()).map(Arc::new)
            }
        }
    };
    (@kind whole) => { Whole };
    (@kind positive) => { Whole<1> };
    (@kind penalty) => { Number<-2, 2> };
    (@kind level) => { Level };
    (@kind text) => { Filled };
    (@kind texts) => { Pairs<Filled> };
    (@kind summary) => { Summary };
    (@kind flag) => { bool };
    (@value whole $value:ident) => { $value.get() };
    (@value positive $value:ident) => { $value.get() };
    (@value penalty $value:ident) => { $value.0 };
    (@value level $value:ident) => { $value.name().into() };
    (@value text $value:ident) => { $value.0.as_str().into() };
    (@value texts $value:ident) => {
        $value.0.iter().map(|(name, text)| (name.as_str().into(), text.0.as_str().into())).collect()
    };
    (@value summary $value:ident) => { $value.name().into() };
    (@value flag $value:ident) => { *$value };
}
model_options!(model_map);

/// `low`, `medium` or `high`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Level {
    Low,
    Medium,
    High,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A summary of thoughts.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub(super) enum Summary {
    Auto,
    Concise,
    Detailed,
}

impl Summary {
    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Concise => "concise",
            Self::Detailed => "detailed",
        }
    }
}

/// An effort, or a map with more.
#[derive(Clone, Debug)]
pub(super) enum Reasoning {
    Effort(Effort),
    Map(ReasoningMap),
}

impl Reasoning {
    fn effort(&self) -> Option<Effort> {
        match self {
            Self::Effort(effort) => Some(*effort),
            Self::Map(map) => map.effort,
        }
    }

    fn map(&self) -> Option<&ReasoningMap> {
        match self {
            Self::Effort(_) => None,
            Self::Map(map) => Some(map),
        }
    }
}

impl OfKind for Reasoning {
    const EXPECTED: &'static str = "an effort, true, false or a map";

    fn of_kind<'de, A: SeqAccess<'de>>(kind: Kind, value: Valued<A>) -> Option<Result<Self, A::Error>> {
        match kind {
            Kind::Text | Kind::Flag => Some(value.read().map(Self::Effort)),
            Kind::Map => Some(value.read().map(Self::Map)),
            Kind::Nothing | Kind::Number | Kind::List => None,
        }
    }
}

impl<'de> Deserialize<'de> for Reasoning {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        of_kind(deserializer)
    }
}

windlass_core::schema_as!(inline [] Reasoning, "effort_or_reasoning", |generator| {
    json_schema!({ "oneOf": [generator.subschema_for::<Effort>(), generator.subschema_for::<ReasoningMap>()] })
});

/// The model for simple turns.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(transparent)]
pub(crate) struct SimpleModel(pub(super) ModelMap);

impl Short for SimpleModel {
    const EXPECTED: &'static str = "a model's name or a map";
}

impl Short for ModelMap {
    const EXPECTED: &'static str = "a model's name, a map, or a list of these";
}

/// The effort. No two settings of how a model reasons may contradict each other.
pub(super) fn effort(reasoning: &At<Reasoning>) -> Result<Option<Effort>, YamlError> {
    if let Some(map) = reasoning.value.map() {
        if map.effort.is_some() && map.budget_tokens.is_some() {
            let message =
                "`reasoning` has an `effort` and `budget_tokens`: each says how much the model thinks";
            return Err(reasoning.error("agent.reasoning", message));
        }
        if map.summary.is_some() && map.show == Some(false) {
            let message = "`reasoning` has a `summary` that `show: false` does not show";
            return Err(reasoning.error("agent.reasoning", message));
        }
    }
    Ok(reasoning.value.effort())
}
