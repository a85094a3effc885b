//! Owns names of models: `provider/model` to something that can be called.

use std::path::PathBuf;
use std::sync::Arc;

use url::Url;
use windlass_core::Message;
use windlass_core::model::{ModelChoice, Reply, ToolChoice};
use windlass_core::secret::{Secret, mask, mask_url_parts};

use crate::http::KeyCommand;
use crate::providers::{
    OPENAI_COMPATIBLE, Provider, key_variables, named_alone, names_near, placeholders, provider,
    provider_names,
};
use crate::tour::Tour;
use crate::wires::{Wire, WireFacts};
use crate::{HttpModel, HttpModelConfig, Model, ModelError, ModelRequest, Rate, Timeouts, assemble, wires};

mod auto;
mod offline;

pub use auto::{Auto, PROBE_MS, Places, choose_auto, choose_auto_at};
pub use offline::{OFFLINE, is_offline};

/// A lookup of environment variables: `|name| std::env::var(name).ok()`, a `.env` file, or a test's own.
pub type Env<'e> = &'e (dyn Fn(&str) -> Option<String> + Sync);

/// Registers the keys in all known variables and the logins of proxies for masking, because a tool may print keys of other
/// providers, too.
pub fn mask_default_keys(env: Env<'_>) {
    key_variables().filter_map(env).for_each(|key| drop(Secret::from(key)));
    PROXIES.iter().filter_map(|name| env(name)).for_each(|url| mask_url_parts(&url));
}

/// The variables that name proxies.
const PROXIES: [&str; 6] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];

/// A model as an agent file names it.
#[derive(Clone, Debug, Default)]
pub struct ModelSettings {
    /// `provider/model`, or `tour`. With a base URL any other name is a plain model name of an OpenAI-compatible server.
    pub use_: String,
    /// The address of the API, instead of the provider's default.
    pub base_url: Option<String>,
    /// The key, instead of the provider's usual variable. With a base URL of its own a provider's variable is not
    /// read: a key never reaches another server.
    pub key: Option<Secret>,
    /// Origin of `key`, for the error that it was refused.
    pub key_source: Option<String>,
    /// A command that prints the key, instead of the provider's usual variable: a line for the shell, or a program with its
    /// arguments; empty: there is none. It runs when a model is called ([`KeyCommand`]).
    pub key_command: Vec<String>,
    /// Folder that `key_command` starts in; `None`: the process's.
    pub key_folder: Option<PathBuf>,
    /// More headers.
    pub headers: Vec<(String, Secret)>,
    /// Whether marks for the provider's cache are sent; `None`: to Anthropic and OpenRouter ([`HttpModelConfig::cache_control`]).
    pub cache_control: Option<bool>,
    /// The name of the wire ([`wires::wire`]); `None`: the provider's. An unknown name is the provider's, too.
    pub api: Option<&'static str>,
    /// Whether readable reasoning goes back to its provider; `None`: as its [quirks](crate::wires::Quirks) say.
    pub return_reasoning: Option<bool>,
    /// Whether the provider keeps replies, so that a turn sends only what follows the last one; `None`: as its
    /// [quirks](crate::wires::Quirks) say.
    pub stored_replies: Option<bool>,
    /// Time limits of a call.
    pub timeouts: Timeouts,
    /// The most requests and tokens a minute with the key; `None`: the provider's.
    pub rate: Option<Rate>,
}

impl ModelSettings {
    /// A model by name, everything else as usual for its provider.
    pub fn named(name: impl Into<String>) -> Self {
        Self { use_: name.into(), ..Self::default() }
    }
}

/// The model that the settings name.
///
/// # Errors
/// The provider is unknown, no model is named, a key or base URL is missing or cannot be used, or [`OFFLINE`] is set and the
/// server is not on this machine.
pub fn resolve(settings: &ModelSettings, env: Env<'_>) -> Result<Arc<dyn Model>, ModelError> {
    if settings.use_ == "tour" || settings.use_ == "windlass/tour" {
        return Ok(Arc::new(Tour));
    }
    let (provider, model) = split(settings)?;
    if model.is_empty() {
        return Err(ModelError::NoModel { name: settings.use_.clone() });
    }
    Ok(Arc::new(adapter(provider, settings, env)?))
}

/// The adapter of a provider, for [`HttpModel::list_models`]; `settings.use_` may be the provider's name alone.
///
/// # Errors
/// As [`resolve`]; `tour` has no server.
pub fn resolve_server(settings: &ModelSettings, env: Env<'_>) -> Result<HttpModel, ModelError> {
    adapter(split(settings)?.0, settings, env)
}

/// The names of a provider's models, as `provider/model`, sorted.
///
/// # Errors
/// As [`resolve`], or the server did not answer as it should.
pub async fn list_models(settings: &ModelSettings, env: Env<'_>) -> Result<Vec<String>, ModelError> {
    if settings.use_.split('/').next() == Some("tour") {
        return Ok(vec!["tour".to_owned()]);
    }
    let (provider, _) = split(settings)?;
    let names = adapter(provider, settings, env)?.list_models().await?;
    Ok(names.into_iter().map(|name| format!("{}/{name}", provider.name)).collect())
}

/// Asks a model for one word: whether it answers at all. `name` is sent as [`ModelChoice::name`].
///
/// # Errors
/// [`ModelError::Failed`] with the model's failure.
pub async fn check(model: &dyn Model, name: &str) -> Result<Reply, ModelError> {
    // Reasoning models count their thoughts: a smaller limit leaves no word.
    let choice = ModelChoice { name: name.into(), max_tokens: Some(512), ..ModelChoice::default() };
    let request = ModelRequest::new(choice, [Message::user("Say hello in one word.")]);
    let request = ModelRequest { choice: ToolChoice::None, ..request };
    assemble(model.call(request), name)
        .await
        .map(|reply| Reply { text: reply.text.map(|text| mask(&text).into()), ..reply })
        .map_err(|failure| ModelError::Failed(Box::new(failure)))
}

/// Provider and model of a name.
fn split(settings: &ModelSettings) -> Result<(&'static Provider, &str), ModelError> {
    let name = settings.use_.as_str();
    let (provider_name, model) = name.split_once('/').unwrap_or((name, ""));
    if let Some(provider) = provider(provider_name) {
        return Ok((provider, model));
    }
    let known = provider_names().any(|known| known == provider_name);
    match provider(OPENAI_COMPATIBLE).filter(|_| settings.base_url.is_some() && !name.is_empty() && !known) {
        Some(compatible) => Ok((compatible, name)),
        None if known => Err(ModelError::MissingBaseUrl { name: name.to_owned() }),
        None => {
            // A model without its provider.
            let alone = if model.is_empty() { named_alone(name) } else { Vec::new() };
            let nearest = if alone.is_empty() { names_near(provider_name) } else { alone };
            Err(ModelError::UnknownProvider { name: provider_name.to_owned(), nearest })
        }
    }
}

fn adapter(
    provider: &'static Provider,
    settings: &ModelSettings,
    env: Env<'_>,
) -> Result<HttpModel, ModelError> {
    mask_default_keys(env);
    let own_url = settings.base_url.clone();
    let named = || provider.address_variable().and_then(|variable| set(env, variable));
    let elsewhere = own_url.is_some() || named().is_some();
    // A provider's key is for the provider's own address.
    let at_home = own_url.is_none();
    let own = settings.key.is_some() || !settings.key_command.is_empty();
    let default = || {
        let mut keys = provider.keys.iter();
        let found = keys.find_map(|variable| Some((set(env, variable)?, variable)));
        found.filter(|_| at_home && !own)
    };
    let (key, key_source) = match (&settings.key, default()) {
        (None, Some((key, variable))) => (Some(Secret::from(key)), Some(variable.clone())),
        (key, _) => (key.clone(), settings.key_source.clone()),
    };
    let (command, folder) = match settings.key_command.as_slice() {
        [] if at_home && key.is_none() => (provider.key_command.as_slice(), None),
        command => (command, settings.key_folder.as_deref()),
    };
    let signed = settings.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let keyless = key.is_none() && command.is_empty() && !signed;
    if provider.key_variable().is_some() && keyless && !elsewhere {
        let variable = provider.keys.join(" or ");
        return Err(ModelError::MissingKey { name: settings.use_.clone(), variable });
    }
    let api = settings.api.and_then(wires::wire);
    let no_wire = || ModelError::NoWire { name: settings.use_.clone(), wires: provider.wires.join(", ") };
    let first = api.or_else(|| provider.wire()).ok_or_else(no_wire)?;
    let base_url = match own_url {
        Some(url) => url,
        None => default_url(provider, first, &settings.use_, env)?,
    };
    let wire = api.unwrap_or_else(|| wire_at(provider, first, &base_url));
    let model = HttpModel::new(HttpModelConfig {
        key,
        key_source: key_source.or_else(|| command.first().map(|program| program_of(program))),
        key_command: (!command.is_empty()).then(|| KeyCommand::shared(command, folder)),
        headers: settings.headers.clone(),
        timeouts: settings.timeouts,
        rate: settings.rate.or(provider.rate),
        quirks: provider.own_quirks(),
        cache_control: settings.cache_control,
        return_reasoning: settings.return_reasoning,
        stored_replies: settings.stored_replies,
        ..HttpModelConfig::new(wire, provider.name.as_str(), base_url)
    })?;
    offline::admit(model, &settings.use_, env)
}

/// The command as errors name it: its first word, because arguments may be secrets.
fn program_of(line: &str) -> String {
    format!("the command `{}`", line.split_whitespace().next().unwrap_or_default())
}

/// A variable's value, if there is one that is not blank.
fn set(env: Env<'_>, variable: &str) -> Option<String> {
    env(variable).filter(|value| !value.trim().is_empty())
}

/// The wire of a provider at this address: the one whose path the base URL ends in, else the `first`. A server may have several APIs
/// beside each other: of Ollama, `/v1` is OpenAI's.
fn wire_at(provider: &Provider, first: &'static dyn Wire, base_url: &str) -> &'static dyn Wire {
    let url = base_url.trim().trim_end_matches('/');
    let url = url.strip_suffix("/chat/completions").unwrap_or(url);
    let ends = |wire: &&'static dyn Wire| {
        let WireFacts { name, base_path, call_path, .. } = wire.facts();
        let own = provider.base_urls.get(*name).is_some_and(|own| own.trim_end_matches('/') == url);
        own || url.ends_with(base_path)
            || url.strip_suffix(call_path).is_some_and(|url| url.ends_with(base_path))
    };
    let all = || provider.wires.iter().filter_map(|name| wires::wire(name));
    // The path of Gemini's compatible API is none of the wire's own.
    let path = |url: &str| Url::parse(url).map(|url| url.path().trim_end_matches('/').to_owned());
    let listed = provider
        .base_urls
        .iter()
        .find(|(_, known)| path(known).is_ok_and(|path| !path.is_empty() && (url.ends_with(&path))));
    if let Some(listed) = listed.and_then(|(name, _)| wires::wire(name)) {
        return listed;
    }
    std::iter::once(first).chain(all()).find(ends).unwrap_or(first)
}

/// The base URL of a provider where the settings name none: its variable's, else its default for the wire.
fn default_url(
    provider: &Provider,
    wire: &'static dyn Wire,
    name: &str,
    env: Env<'_>,
) -> Result<String, ModelError> {
    let facts = wire.facts();
    if let Some(named) = provider.address_variable().and_then(|variable| set(env, variable)) {
        let Some(port) = provider.port else { return Ok(named) };
        let server = listening_url(&named, port);
        // The variable names a server, which may stand behind a path of a proxy. OpenAI's API may have any path.
        let path =
            Url::parse(&server).map(|url| url.path().trim_end_matches('/').to_owned()).unwrap_or_default();
        let known =
            wire_at(provider, wire, &server).facts().name != facts.name || path.ends_with(facts.base_path);
        let complete = path.is_empty() || known || facts.name == "openai_chat";
        return Ok(if complete { server } else { format!("{server}{}", facts.base_path) });
    }
    let default = provider.base_urls.get(facts.name).or(provider.base_url.as_ref());
    let default = default.ok_or_else(|| ModelError::MissingBaseUrl { name: name.to_owned() })?;
    placeholders(default, |placeholder| {
        let value = placeholder.variables.iter().find_map(|variable| set(env, variable));
        let value = value.or_else(|| placeholder.default.map(str::to_owned));
        value.ok_or_else(|| placeholder.variables.join(" or "))
    })
    .map_err(|variable| ModelError::MissingVariable { name: name.to_owned(), variable })
}

/// The base URL of a server by the address where it listens, which may be a host alone, `host:port` or a URL. The address
/// `0.0.0.0` is reached at the loopback address.
fn listening_url(host: &str, port: u16) -> String {
    let host = host.trim().trim_end_matches('/');
    if host.contains("://") {
        return host.to_owned();
    }
    let host = host.replace("0.0.0.0", "127.0.0.1");
    let host = if host.starts_with(':') { format!("127.0.0.1{host}") } else { host };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { format!("http://{host}") } else { format!("http://{host}:{port}") }
}

#[cfg(test)]
mod tests;
