//! Owns names of models: `provider/model` to something that can be called.

use std::sync::Arc;

use windlass_core::{
    History, Message, ModelChoice, Purpose, Reply, Secret, ToolChoice, mask, mask_url_parts, nearest,
};

use crate::tour::Tour;
use crate::{Model, ModelError, ModelRequest, OpenAiChat, OpenAiConfig, PrefixCell, Timeouts, assemble};

mod auto;

pub use auto::{Auto, PROBE_MS, Places, choose_auto, choose_auto_at};

/// Where environment variables are read: `|name| std::env::var(name).ok()`, a `.env` file, or a test's own.
pub type Env<'e> = &'e (dyn Fn(&str) -> Option<String> + Sync);

/// The providers by name, for messages and completion.
pub const PROVIDERS: [&str; 5] = ["openai", "ollama", "llama", "openai-compatible", "tour"];

/// Where Ollama listens if `OLLAMA_HOST` does not say otherwise.
const OLLAMA: &str = "http://127.0.0.1:11434";

/// Where llama-server listens if `LLAMA_BASE_URL` does not say otherwise.
const LLAMA: &str = "http://127.0.0.1:8080";

/// Where OpenAI is if `OPENAI_BASE_URL` does not say otherwise.
const OPENAI: &str = "https://api.openai.com/v1";

/// The variables that usually hold keys of providers.
const KEYS: [&str; 12] = [
    "ANTHROPIC_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "AZURE_OPENAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "HF_TOKEN",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "XAI_API_KEY",
];

/// Has the keys of all usual variables masked from now on, and the logins of proxies: a tool may find those of providers,
/// too, that nobody asks here.
pub fn mask_usual_keys(env: Env<'_>) {
    KEYS.iter().filter_map(|name| env(name)).for_each(|key| drop(Secret::from(key)));
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
    /// Where the API is, instead of the provider's usual place.
    pub base_url: Option<String>,
    /// The key, instead of the provider's usual variable. With a base URL of its own a provider's variable is not
    /// read: a key never reaches another server (E43).
    pub key: Option<Secret>,
    /// More headers.
    pub headers: Vec<(String, Secret)>,
    /// Whether marks for the provider's cache are sent; `None`: to OpenRouter only ([`OpenAiConfig::cache_control`]).
    pub cache_control: Option<bool>,
    /// How long a call may take.
    pub timeouts: Timeouts,
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
/// The provider is unknown, no model is named, a key or base URL is missing or cannot be used.
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

/// The adapter of a provider, for [`OpenAiChat::list_models`]; `settings.use_` may be the provider's name alone.
///
/// # Errors
/// As [`resolve`]; `tour` has no server.
pub fn resolve_server(settings: &ModelSettings, env: Env<'_>) -> Result<OpenAiChat, ModelError> {
    adapter(split(settings)?.0, settings, env)
}

/// The names of a provider's models, as `provider/model`, sorted.
///
/// # Errors
/// As [`resolve`], or the server did not answer as it should.
pub async fn list_models(settings: &ModelSettings, env: Env<'_>) -> Result<Vec<String>, ModelError> {
    let (provider, _) = split(settings)?;
    if provider == "tour" {
        return Ok(vec!["tour".to_owned()]);
    }
    let names = adapter(provider, settings, env)?.list_models().await?;
    Ok(names.into_iter().map(|name| format!("{provider}/{name}")).collect())
}

/// Asks a model for one word: whether it answers at all. `name` is sent as [`ModelChoice::name`].
///
/// # Errors
/// [`ModelError::Failed`] with the model's failure.
pub async fn check(model: &dyn Model, name: &str) -> Result<Reply, ModelError> {
    let message = Message::user("Say hello in one word.");
    let request = ModelRequest {
        // Reasoning models count their thoughts: a smaller limit leaves no word.
        model: ModelChoice { name: name.into(), max_tokens: Some(512), ..ModelChoice::default() },
        purpose: Purpose::Act,
        prompt: Arc::default(),
        history: std::iter::once(Arc::new(message)).collect::<History>(),
        tools: Arc::default(),
        choice: ToolChoice::None,
        response_schema: None,
        fenced: None,
        cache: Vec::new(),
        stream: false,
        prefix: PrefixCell::default(),
    };
    assemble(model.call(request), name)
        .await
        .map(|reply| Reply { text: reply.text.map(|text| mask(&text).into()), ..reply })
        .map_err(|failure| ModelError::Failed(Box::new(failure)))
}

/// Provider and model of a name.
fn split(settings: &ModelSettings) -> Result<(&str, &str), ModelError> {
    let name = settings.use_.as_str();
    let (provider, model) = name.split_once('/').unwrap_or((name, ""));
    if PROVIDERS.contains(&provider) {
        return Ok((provider, model));
    }
    if settings.base_url.is_some() && !name.is_empty() {
        return Ok(("openai-compatible", name));
    }
    let close = nearest(provider, PROVIDERS);
    let nearest = if close.is_empty() { PROVIDERS.map(str::to_owned).to_vec() } else { close };
    Err(ModelError::UnknownProvider { name: provider.to_owned(), nearest })
}

fn adapter(provider: &str, settings: &ModelSettings, env: Env<'_>) -> Result<OpenAiChat, ModelError> {
    let set = |name: &str| env(name).filter(|value| !value.trim().is_empty());
    mask_usual_keys(env);
    let own_url = settings.base_url.clone();
    let own_key = settings.key.clone();
    let (base_url, key) = match provider {
        "openai" => {
            let signed = settings.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
            let key = own_key
                .or_else(|| own_url.is_none().then(|| set("OPENAI_API_KEY").map(Secret::from)).flatten());
            let url = own_url.clone().or_else(|| set("OPENAI_BASE_URL"));
            if key.is_none() && !signed && url.is_none() {
                return Err(ModelError::MissingKey {
                    name: settings.use_.clone(),
                    variable: "OPENAI_API_KEY".to_owned(),
                });
            }
            (url.unwrap_or_else(|| OPENAI.to_owned()), key)
        }
        "ollama" => (own_url.unwrap_or_else(|| ollama_url(set("OLLAMA_HOST"))), own_key),
        "llama" => {
            let url = own_url.or_else(|| set("LLAMA_BASE_URL"));
            (url.unwrap_or_else(|| LLAMA.to_owned()), own_key)
        }
        "openai-compatible" => {
            let missing = || ModelError::MissingBaseUrl { name: settings.use_.clone() };
            (own_url.ok_or_else(missing)?, own_key)
        }
        _ => return Err(ModelError::MissingBaseUrl { name: settings.use_.clone() }),
    };
    OpenAiChat::new(OpenAiConfig {
        key,
        headers: settings.headers.clone(),
        timeouts: settings.timeouts,
        cache_control: settings.cache_control,
        ..OpenAiConfig::new(provider, base_url)
    })
}

/// The address in `OLLAMA_HOST`, which may be a host alone, `host:port` or a URL; the address that a server listens
/// at (`0.0.0.0`) is reached at the loopback address.
fn ollama_url(host: Option<String>) -> String {
    let Some(host) = host else { return OLLAMA.to_owned() };
    let host = host.trim().trim_end_matches('/');
    if let Some((scheme, _)) = host.split_once("://") {
        let with_path = host.get(scheme.len() + 3..).is_some_and(|rest| rest.contains('/'));
        return if with_path { host.to_owned() } else { format!("{host}/v1") };
    }
    let host = host.replace("0.0.0.0", "127.0.0.1");
    let host = if host.starts_with(':') { format!("127.0.0.1{host}") } else { host };
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { format!("http://{host}/v1") } else { format!("http://{host}:11434/v1") }
}

#[cfg(test)]
mod tests;
