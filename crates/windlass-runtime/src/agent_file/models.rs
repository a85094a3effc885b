//! The models of a file.

use windlass_core::{ModelChoice, Prices, Secret};
use windlass_models::{ModelSettings, Timeouts};

use super::address::Address;
use super::reading::{ModelNames, Reading};
use super::timeouts::TimeoutSettings;
use crate::yaml::{Field, NodeValue, Place, YamlError};

/// The most entries of `metadata` (OpenAI API reference, chat completions).
const MAX_METADATA: usize = 16;

/// The most that `max_reply_bytes` may be (1 GiB): a reply is held in memory several times while it is read.
const MOST_REPLY_BYTES: u64 = 1024 * 1024 * 1024;

/// A model with its settings.
#[derive(Clone, Debug, Default)]
pub struct ModelEntry {
    /// `provider/model`, `auto` or `tour`; with a base URL any name.
    pub use_: String,
    /// Where the API is, instead of the provider's usual place.
    pub base_url: Option<Address>,
    /// The key, instead of the provider's usual variable.
    pub key: Option<Secret>,
    /// More headers.
    pub headers: Vec<(String, Secret)>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// The most tokens of a reply.
    pub max_tokens: Option<u64>,
    /// The most bytes of a reply: text, reasoning and arguments together.
    pub max_reply_bytes: Option<u64>,
    /// Texts that end a reply.
    pub stop: Vec<String>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// How much tokens that came already are held back.
    pub presence_penalty: Option<f64>,
    /// How much the model is to reason.
    pub reasoning: Option<String>,
    /// What the provider is to keep with each request.
    pub metadata: Vec<(String, String)>,
    /// Whether marks for the provider's cache are sent; `None`: to OpenRouter only.
    pub cache_control: Option<bool>,
    /// List prices, instead of those that are known of the provider.
    pub prices: Option<Prices>,
    /// Timeouts of this model alone.
    pub timeouts: TimeoutSettings,
    /// Where the entry stands.
    pub place: Place,
}

impl ModelEntry {
    /// What the core knows of it.
    pub fn choice(&self) -> ModelChoice {
        ModelChoice {
            name: self.use_.as_str().into(),
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            max_reply_bytes: self.max_reply_bytes,
            stop: self.stop.iter().map(|text| text.as_str().into()).collect(),
            top_p: self.top_p,
            presence_penalty: self.presence_penalty,
            reasoning: self.reasoning.as_deref().map(Into::into),
            metadata: self
                .metadata
                .iter()
                .map(|(key, value)| (key.as_str().into(), value.as_str().into()))
                .collect(),
            prices: self.prices.or_else(|| self.list_price()),
            wire: None,
        }
    }

    /// The price that is known of the model at its provider's own address.
    fn list_price(&self) -> Option<Prices> {
        if self.base_url.is_some() {
            return None;
        }
        windlass_models::providers::list_price(&self.use_)
    }

    /// What [`windlass_models::resolve`] needs; `usual` are the agent's timeouts.
    pub fn settings(&self, usual: Timeouts) -> ModelSettings {
        ModelSettings {
            use_: self.use_.clone(),
            base_url: self.base_url.as_ref().map(|url| url.expose().to_owned()),
            key: self.key.clone(),
            headers: self.headers.clone(),
            timeouts: self.timeouts.over(usual),
            cache_control: self.cache_control,
        }
    }
}

pub(super) fn decode(field: &Field<'_>, reading: &mut Reading<'_>) -> Result<Vec<ModelEntry>, YamlError> {
    match field.node.value {
        NodeValue::List(_) => {
            let items = field.list()?;
            if items.is_empty() {
                return Err(field.error("agent.no_model", "`model` is an empty list"));
            }
            items.iter().map(|item| entry(item, reading)).collect()
        }
        _ => Ok(vec![entry(field, reading)?]),
    }
}

fn entry(field: &Field<'_>, reading: &mut Reading<'_>) -> Result<ModelEntry, YamlError> {
    let place = field.node.place();
    match field.node.value {
        NodeValue::String(_) => {
            Ok(ModelEntry { use_: name(field, false, reading)?, place, ..ModelEntry::default() })
        }
        NodeValue::Map(_) => {
            let mut map = field.map()?;
            let base_url = map.maybe("base_url", |url| reading.address(&url))?;
            let entry = ModelEntry {
                use_: name(&map.required("use")?, base_url.is_some(), reading)?,
                base_url,
                key: map.maybe("key", |key| reading.secret(&key))?,
                headers: map.or("headers", Vec::new(), |headers| reading.secrets(&headers))?,
                temperature: map.maybe("temperature", |number| number.f64_from_zero())?,
                max_tokens: map.maybe("max_tokens", |number| number.u64_in(1, u64::MAX))?,
                max_reply_bytes: map.maybe("max_reply_bytes", |number| number.u64_in(1, MOST_REPLY_BYTES))?,
                stop: map.or("stop", Vec::new(), |texts| texts.text_or_texts())?,
                top_p: map.maybe("top_p", |number| share(&number))?,
                presence_penalty: map.maybe("presence_penalty", |number| penalty(&number))?,
                reasoning: map.maybe("reasoning", |effort| reasoning(&effort))?,
                metadata: map.or("metadata", Vec::new(), |field| metadata(&field))?,
                cache_control: map.maybe("cache_control", |flag| flag.bool())?,
                prices: map.maybe("prices", |prices| read_prices(&prices))?,
                timeouts: map.or("timeouts", TimeoutSettings::default(), |field| {
                    TimeoutSettings::decode(&field, false)
                })?,
                place,
            };
            map.finish()?;
            Ok(entry)
        }
        _ => Err(field.wrong("a model's name, a map, or a list of these")),
    }
}

/// A share of probability.
fn share(field: &Field<'_>) -> Result<f64, YamlError> {
    field
        .f64_from_zero()
        .ok()
        .filter(|share| *share <= 1.0)
        .ok_or_else(|| field.wrong("a number from 0 to 1"))
}

/// A penalty in the range of OpenAI's API.
fn penalty(field: &Field<'_>) -> Result<f64, YamlError> {
    let number = field.json().as_f64().filter(|number| (-2.0..=2.0).contains(number));
    number.ok_or_else(|| field.wrong("a number from -2 to 2"))
}

/// `true` is `medium` (acorn).
fn reasoning(field: &Field<'_>) -> Result<String, YamlError> {
    match &field.node.value {
        NodeValue::Bool(true) => Ok("medium".to_owned()),
        NodeValue::String(effort) if ["low", "medium", "high"].contains(&effort.as_str()) => {
            Ok(effort.clone())
        }
        _ => Err(field.wrong("true, low, medium or high")),
    }
}

fn metadata(field: &Field<'_>) -> Result<Vec<(String, String)>, YamlError> {
    let entries = field.entries()?;
    if entries.len() > MAX_METADATA {
        return Err(field.wrong("a map of at most 16 entries"));
    }
    entries.into_iter().map(|(key, value)| Ok((key.name.clone(), value.loose_text()?))).collect()
}

fn name(field: &Field<'_>, has_base_url: bool, reading: &Reading<'_>) -> Result<String, YamlError> {
    let name = field.filled_text()?;
    let full =
        name.split_once('/').is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty());
    if full || has_base_url || matches!(name, "auto" | "tour") || reading.model_names == ModelNames::Plain {
        return Ok(name.to_owned());
    }
    Err(field.wrong("provider/model (such as openai/gpt-5-mini), auto or tour"))
}

/// List prices in USD per million tokens, as `prices` writes them.
///
/// # Errors
/// A key is missing or unknown, or a price is no number from 0.
pub fn read_prices(field: &Field<'_>) -> Result<Prices, YamlError> {
    let mut map = field.map()?;
    let input = map.required("input")?.f64_from_zero()?;
    let output = map.required("output")?.f64_from_zero()?;
    let cached = map.maybe("cached", |price| price.f64_from_zero())?;
    map.finish()?;
    Ok(Prices::per_million(input, output, cached))
}
