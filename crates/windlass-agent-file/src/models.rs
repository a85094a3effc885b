//! The models of a file.

mod keys;
mod words;

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::model::{ModelChoice, ModelOptions, OutputBy, Prices, Role};
use windlass_core::secret::Secret;
use windlass_core::settings::Whole;
use windlass_core::text::did_you_mean;
use windlass_core::tool::HostedTool;
use windlass_models::{ModelSettings, Rate, Timeouts};

use self::keys::{ModelMap, SimpleModel, effort};
use super::AgentFile;
use super::address::Address;
use super::kinds::{Number, TextOr};
use super::rate::rate;
use super::reading::{ModelNames, Reading};
use super::timeouts::TimeoutSettings;
use crate::yaml::{At, Field, OneOrMany, Place, Problem, YamlError};

/// The most entries of `metadata` (OpenAI API reference, chat completions).
const MAX_METADATA: usize = 16;

/// The most that `max_reply_bytes` may be (1 GiB): a reply is held in memory several times while it is read.
const MOST_REPLY_BYTES: u64 = 1024 * 1024 * 1024;

/// A model with its settings.
#[derive(Clone, Debug, Default)]
pub struct ModelEntry {
    /// `provider/model`, `auto` or `tour`; with a base URL any name.
    pub use_: String,
    /// The work that it is asked for.
    pub role: Role,
    /// Base URL of the API, in place of the provider's default.
    pub base_url: Option<Address>,
    /// The key, instead of the provider's usual variable.
    pub key: Option<Secret>,
    /// Origin of the key, for the error that it was refused: the place in the file, and the variables that it names.
    pub key_source: Option<String>,
    /// A command that prints the key: a line for the shell, or a program with its arguments; empty: there is none.
    pub key_command: Vec<String>,
    /// Folder that `key_command` starts in: the agent file's.
    pub key_folder: Option<PathBuf>,
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
    /// Presence penalty: penalizes tokens that have already occurred.
    pub presence_penalty: Option<f64>,
    /// Reasoning effort.
    pub reasoning: Option<String>,
    /// Settings that few agents use.
    pub options: Option<Arc<ModelOptions>>,
    /// Whether the model may make several calls in one reply; `None`: the provider's default.
    pub parallel: Option<bool>,
    /// Whether the provider holds the model to the schemas of tools, where it offers that.
    pub strict: bool,
    /// The wire; `None`: the provider's.
    pub api: Option<&'static str>,
    /// Whether readable reasoning goes back to its provider; `None`: as the provider wants it.
    pub return_reasoning: Option<bool>,
    /// Whether the provider keeps replies, so that a turn sends only what follows; `None`: the provider's default.
    pub stored_replies: Option<bool>,
    /// Whether the server holds replies to a schema; `None`: as its provider's entry says.
    pub structured_output: Option<bool>,
    /// Whether its server holds an answer to a schema in requests that offer tools, too.
    pub native_output: Option<bool>,
    /// Metadata that the provider stores with each request.
    pub metadata: Vec<(String, String)>,
    /// Whether marks for the provider's cache are sent; `None`: to Anthropic and OpenRouter.
    pub cache_control: Option<bool>,
    /// List prices. Without them a run has no cost, and a limit on cost is refused.
    pub prices: Option<Prices>,
    /// The most requests and tokens a minute with the key; `None`: the provider's.
    pub rate: Option<Rate>,
    /// After how many milliseconds without a reply the next model is asked beside it.
    pub hedge_ms: Option<u64>,
    /// Timeouts of this model alone.
    pub timeouts: TimeoutSettings,
    /// Position of the entry.
    pub place: Place,
}

impl ModelEntry {
    /// The core's description of the model.
    pub fn choice(&self) -> ModelChoice {
        ModelChoice {
            name: self.use_.as_str().into(),
            role: self.role,
            temperature: self.temperature,
            max_tokens: self.max_tokens,
            max_reply_bytes: self.max_reply_bytes,
            stop: self.stop.iter().map(|text| text.as_str().into()).collect(),
            top_p: self.top_p,
            presence_penalty: self.presence_penalty,
            reasoning: self.reasoning.as_deref().map(Into::into),
            parallel: self.parallel,
            strict: self.strict,
            metadata: self
                .metadata
                .iter()
                .map(|(key, value)| (key.as_str().into(), value.as_str().into()))
                .collect(),
            options: self.options.clone(),
            hedge_ms: self.hedge_ms,
            prices: self.prices.clone().or_else(|| self.list_price()),
            structured: self.structured_output,
            sampling: None,
            wire: None,
            output: self.native_output.map(|native| if native { OutputBy::Native } else { OutputBy::Tool }),
            key_command: self.key_program().map(Into::into),
        }
    }

    /// The program whose output is the key: the first word of `key_command`.
    fn key_program(&self) -> Option<&str> {
        self.key_command.first()?.split_whitespace().next()
    }

    /// The price that is known of the model at its provider's own address.
    fn list_price(&self) -> Option<Prices> {
        if self.base_url.is_some() {
            return None;
        }
        let price = windlass_models::providers::list_price(&self.use_)?;
        let lifetime = self.options.as_ref().and_then(|options| options.cache_lifetime.as_deref());
        // Anthropic, "Prompt caching", "Pricing": what is kept for an hour costs twice the input.
        Some(match lifetime {
            Some("1h") if price.cache_write != price.input => {
                Prices { cache_write: 2 * price.input, ..price }
            }
            _ => price,
        })
    }

    /// The input of [`windlass_models::resolve`](mod@windlass_models::resolve); `defaults` are the agent's timeouts.
    pub fn settings(&self, defaults: Timeouts) -> ModelSettings {
        ModelSettings {
            use_: self.use_.clone(),
            base_url: self.base_url.as_ref().map(|url| url.expose().to_owned()),
            key: self.key.clone(),
            key_source: self.key_source.clone(),
            key_command: self.key_command.clone(),
            key_folder: self.key_folder.clone(),
            headers: self.headers.clone(),
            timeouts: self.timeouts.over(defaults),
            rate: self.rate,
            cache_control: self.cache_control,
            api: self.api,
            return_reasoning: self.return_reasoning,
            // A conversation that the provider keeps is made of stored replies.
            stored_replies: self
                .stored_replies
                .or_else(|| self.options.as_ref()?.conversation.as_ref().map(|_| true)),
        }
    }
}

/// The model or models of a file.
pub(super) type ModelKeys = OneOrMany<At<TextOr<ModelMap>>>;

/// List prices in USD per million tokens.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct PriceKeys {
    /// USD per million tokens of requests.
    input: Number,
    /// USD per million tokens of replies.
    output: Number,
    /// USD per million cached tokens of requests. Default: as `input`.
    cached: Option<Number>,
    /// USD per million tokens of requests that are written to the provider's cache. Default: as `input`.
    cache_write: Option<Number>,
    /// Tools that the provider runs, in USD per 1,000 uses. Default: unknown.
    hosted: Option<HostedPriceKeys>,
}

/// Prices of tools that the provider runs, in USD per 1,000 uses. The price of one that is not named is unknown.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "hostedPrices")]
struct HostedPriceKeys {
    /// A search of the web.
    web_search: Option<Number>,
    /// A page that is read.
    url: Option<Number>,
    /// A run of code.
    code: Option<Number>,
    /// A search of files.
    file_search: Option<Number>,
    /// An image.
    image: Option<Number>,
    /// A search among the tools of the request.
    tool_search: Option<Number>,
    /// A call of a tool of an MCP server.
    mcp: Option<Number>,
}

impl HostedPriceKeys {
    fn all(self) -> impl Iterator<Item = (HostedTool, f64)> {
        let Self { web_search, url, code, file_search, image, tool_search, mcp } = self;
        let all = [
            (HostedTool::WebSearch, web_search),
            (HostedTool::Url, url),
            (HostedTool::Code, code),
            (HostedTool::FileSearch, file_search),
            (HostedTool::Image, image),
            (HostedTool::ToolSearch, tool_search),
            (HostedTool::Mcp, mcp),
        ];
        all.into_iter().filter_map(|(tool, usd)| Some((tool, usd?.0)))
    }
}

impl From<PriceKeys> for Prices {
    fn from(keys: PriceKeys) -> Self {
        let prices = Self::per_million(keys.input.0, keys.output.0, keys.cached.map(|price| price.0));
        let prices = prices.with_hosted(keys.hosted.into_iter().flat_map(HostedPriceKeys::all));
        match keys.cache_write {
            Some(usd) => prices.with_cache_write(usd.0),
            None => prices,
        }
    }
}

/// List prices in USD per million tokens, as `prices` writes them.
///
/// # Errors
/// A key is missing or unknown, or a price is no number from 0.
pub fn read_prices(field: &Field<'_>) -> Result<Prices, YamlError> {
    field.decode().map(|keys: PriceKeys| keys.into())
}

pub(super) fn entries(
    models: &At<ModelKeys>,
    reading: &mut Reading<'_>,
) -> Result<Vec<ModelEntry>, YamlError> {
    if models.value.0.is_empty() {
        return Err(models.error("agent.no_model", "`model` is an empty list"));
    }
    let mut entries: Vec<ModelEntry> = Vec::new();
    let mut simple = None;
    for (place, entry) in models.value.0.iter().enumerate() {
        match &entry.value {
            TextOr::Text(name) => entries.push(named(&entry.with(name), reading)?),
            TextOr::Map(keys) => {
                if let Some(own) = keys.simple.as_deref().filter(|_| !entries.is_empty()) {
                    let message = "only the first model names one for simple turns";
                    return Err(own.error("agent.simple_model", message));
                }
                simple = simple.or(keys.simple.as_deref());
                if let Some(hedge) = keys.hedge_ms.as_ref().filter(|_| place + 1 == models.value.0.len()) {
                    let message = "`hedge_ms` asks the next model of the list, and there is none";
                    return Err(hedge.error("agent.hedge", message));
                }
                entries.push(self::entry(keys.clone(), entry.place, reading)?);
            }
        }
    }
    if let Some(keys) = simple {
        let model = match &keys.value {
            TextOr::Text(name) => known_or_named(&entries, &keys.with(name), reading)?,
            TextOr::Map(SimpleModel(map)) => {
                if let Some(again) = &map.simple {
                    let message = "the model for simple turns has none of its own";
                    return Err(again.error("agent.simple_model", message));
                }
                entry(map.clone(), keys.place, reading)?
            }
        };
        entries.push(ModelEntry { role: Role::Simple, ..model });
    }
    Ok(entries)
}

impl AgentFile {
    /// These models, the file's own or usual ones, and the one that `context.model` names, with the settings of one of them if
    /// it has its name.
    pub fn with_summariser(&self, entries: &[ModelEntry]) -> Vec<ModelEntry> {
        let mut all = entries.to_vec();
        let named = self.policy().ok().and_then(|policy| policy.past.context.model);
        if let Some(name) = named {
            let known = entries.iter().find(|entry| entry.use_ == *name).cloned();
            let model =
                known.unwrap_or_else(|| ModelEntry { use_: name.to_string(), ..ModelEntry::default() });
            all.push(ModelEntry { role: Role::Summarise, ..model });
        }
        all
    }
}

/// A model by its name: one of these with its settings, or another one.
fn known_or_named<T: AsRef<str>>(
    entries: &[ModelEntry],
    name: &At<T>,
    reading: &Reading<'_>,
) -> Result<ModelEntry, YamlError> {
    let known = entries.iter().find(|entry| entry.use_ == name.value.as_ref());
    known.map_or_else(|| named(name, reading), |known| Ok(known.clone()))
}

fn named<T: AsRef<str>>(name: &At<T>, reading: &Reading<'_>) -> Result<ModelEntry, YamlError> {
    let use_ = name_of(name, false, reading)?;
    Ok(ModelEntry { use_, place: name.place, ..ModelEntry::default() })
}

fn entry(keys: ModelMap, place: Place, reading: &mut Reading<'_>) -> Result<ModelEntry, YamlError> {
    let key_command = command(&keys)?;
    let options = keys.options();
    let effort = keys.reasoning.as_ref().map(effort).transpose()?.flatten();
    let metadata = keys.metadata.value.0;
    if metadata.len() > MAX_METADATA {
        let found =
            format!("`{}` has {} entries; the maximum is {MAX_METADATA}", keys.metadata.path, metadata.len());
        return Err(YamlError::new(
            keys.metadata.place,
            keys.metadata.path,
            Problem::Other { code: "agent.metadata", message: found, help: None },
        ));
    }
    let key_folder = (!key_command.is_empty()).then(|| reading.folder.clone());
    Ok(ModelEntry {
        use_: name_of(&keys.use_, keys.base_url.is_some(), reading)?,
        role: Role::Main,
        base_url: keys.base_url.map(|url| reading.address(&url)).transpose()?,
        key_command,
        key_folder,
        key_source: keys.key.as_ref().map(|key| reading.source_of(key)),
        key: keys.key.map(|key| reading.secret(&key)).transpose()?,
        headers: reading.secrets(&keys.headers)?,
        temperature: keys.temperature.map(|number| number.0),
        max_tokens: keys.max_tokens.map(Whole::get),
        max_reply_bytes: keys.max_reply_bytes.map(Whole::get),
        stop: keys.stop.0,
        top_p: keys.top_p.map(|number| number.0),
        presence_penalty: keys.presence_penalty.map(|number| number.0),
        reasoning: effort.map(|effort| effort.0.to_owned()),
        options,
        parallel: keys.parallel,
        strict: keys.strict,
        api: keys.api.map(|api| api.0),
        return_reasoning: keys.return_reasoning.and_then(|returned| returned.0),
        stored_replies: keys.stored_replies,
        structured_output: keys.structured_output,
        native_output: keys.native_output,
        metadata: metadata.into_iter().map(|(key, value)| (key, value.0)).collect(),
        cache_control: keys.cache_control,
        prices: keys.prices.map(Into::into),
        rate: keys.rate.as_ref().map(rate).transpose()?,
        hedge_ms: keys.hedge_ms.map(|ms| ms.value.get()),
        timeouts: keys.timeouts.into(),
        place,
    })
}

/// The command that prints a key, which no key may stand beside.
fn command(keys: &ModelMap) -> Result<Vec<String>, YamlError> {
    let command = &keys.key_command;
    if command.value.0.iter().any(|word| word.trim().is_empty()) {
        return Err(command.error("agent.key_command", "`key_command` is an empty command"));
    }
    if keys.key.is_some() && !command.value.0.is_empty() {
        return Err(command.error("agent.key_command", "`key` and `key_command` stand beside each other"));
    }
    Ok(command.value.0.clone())
}

fn name_of<T: AsRef<str>>(
    name: &At<T>,
    has_base_url: bool,
    reading: &Reading<'_>,
) -> Result<String, YamlError> {
    let text = name.value.as_ref();
    let full =
        text.split_once('/').is_some_and(|(provider, model)| !provider.is_empty() && !model.is_empty());
    if full || has_base_url || matches!(text, "auto" | "tour") || reading.model_names == ModelNames::Plain {
        return Ok(text.to_owned());
    }
    let error = name.wrong("provider/model (such as openai/gpt-5-mini), auto or tour");
    let near = did_you_mean(&windlass_models::providers::named_alone(text));
    Err(if near.is_empty() {
        error
    } else {
        name.error("yaml.wrong_value", format!("{}{near}", error.problem))
    })
}
