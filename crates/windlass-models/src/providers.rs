//! The table of providers: names, addresses, keys, quirks, prices. A provider that speaks a known wire is one entry here.

use windlass_core::model::Prices;
use windlass_core::text::nearest;

use crate::wires::ollama::Ollama;
use crate::wires::openai_chat::OpenAiChat;
use crate::wires::{Quirks, Wire};

/// A provider of models.
#[derive(Clone, Copy, Debug)]
pub struct Provider {
    /// Its name, which stands before the model's: `NAME/MODEL`.
    pub name: &'static str,
    /// The wire that it speaks.
    pub wire: &'static dyn Wire,
    /// Its address.
    pub address: Address,
    /// The variable with its key; `None`: it needs none.
    pub key: Option<&'static str>,
    /// Its differences from others of its wire.
    pub quirks: Quirks,
    /// When `auto` takes it.
    pub auto: Auto,
    /// How to start it, for hints; empty for a remote provider.
    pub start: &'static str,
    /// List prices.
    pub prices: &'static [ListPrice],
}

/// The address of a provider.
#[derive(Clone, Copy, Debug)]
pub enum Address {
    /// A base URL; the variable overrides it.
    Url {
        /// The base URL.
        usual: &'static str,
        /// The variable.
        variable: &'static str,
    },
    /// The address of a local server; the variable overrides it with a host, `host:port` or a URL.
    Listening {
        /// The base URL.
        usual: &'static str,
        /// The variable.
        variable: &'static str,
        /// The port that is meant where none is named.
        port: u16,
    },
    /// The `base_url` of the settings.
    Given,
}

/// When `auto` takes a provider.
#[derive(Clone, Copy, Debug)]
pub enum Auto {
    /// Never.
    Never,
    /// If its key is set: this model.
    Key(&'static str),
    /// If its server runs on this machine: the server's first model.
    Server(Probe),
}

/// How to identify a server on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    /// The server's name, for people.
    pub program: &'static str,
    /// A path, and words that the answer holds.
    pub greeting: Option<(&'static str, &'static str)>,
    /// The path of its list of models.
    pub list: &'static str,
    /// The key of the list in the answer.
    pub items: &'static str,
    /// The key of a model's name.
    pub name: &'static str,
    /// A key of a model and its value, where the server tells itself by it.
    pub owner: Option<(&'static str, &'static str)>,
    /// Models are named by their files: the last part of a path is the name.
    pub files: bool,
}

/// A model's list price in USD per million tokens.
#[derive(Clone, Copy, Debug)]
pub struct ListPrice {
    /// The model, without the provider.
    pub model: &'static str,
    /// Input.
    pub input: f64,
    /// Output.
    pub output: f64,
    /// Input from the provider's cache.
    pub cached: Option<f64>,
    /// The day on which it was read, as YYYY-MM-DD.
    pub as_of: &'static str,
    /// The page where it was read.
    pub source: &'static str,
}

/// The providers, in the order in which `auto` looks at them.
pub static PROVIDERS: &[Provider] = &[
    Provider {
        name: "openai",
        wire: &OpenAiChat,
        address: Address::Url { usual: "https://api.openai.com/v1", variable: "OPENAI_BASE_URL" },
        key: Some("OPENAI_API_KEY"),
        quirks: Quirks::NONE,
        auto: Auto::Key("gpt-5-mini"),
        start: "",
        prices: &[],
    },
    Provider {
        name: "ollama",
        wire: &Ollama,
        address: Address::Listening { usual: "http://127.0.0.1:11434", variable: "OLLAMA_HOST", port: 11434 },
        key: None,
        quirks: Quirks { return_reasoning: true, ..Quirks::NONE },
        auto: Auto::Server(Probe {
            program: "Ollama",
            greeting: Some(("/", "Ollama is running")),
            list: "/api/tags",
            items: "models",
            name: "name",
            owner: None,
            files: false,
        }),
        start: "ollama serve",
        prices: &[],
    },
    Provider {
        name: "llama",
        wire: &OpenAiChat,
        address: Address::Url { usual: "http://127.0.0.1:8080", variable: "LLAMA_BASE_URL" },
        key: None,
        quirks: Quirks::NONE,
        auto: Auto::Server(Probe {
            program: "llama-server",
            greeting: None,
            list: "/v1/models",
            items: "data",
            name: "id",
            owner: Some(("owned_by", "llamacpp")),
            files: true,
        }),
        start: "llama-server -m MODEL.gguf --jinja",
        prices: &[],
    },
    Provider {
        name: OPENAI_COMPATIBLE,
        wire: &OpenAiChat,
        address: Address::Given,
        key: None,
        quirks: Quirks::NONE,
        auto: Auto::Never,
        start: "",
        prices: &[],
    },
];

/// The provider that a plain model name with a base URL means.
pub const OPENAI_COMPATIBLE: &str = "openai-compatible";

/// A provider whose own API comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaterProvider {
    /// Its names, the usual one first.
    pub names: &'static [&'static str],
    /// Base URL of its OpenAI-compatible API; empty: it has none that takes an API key.
    pub base_url: &'static str,
    /// The variable that usually holds its key.
    pub key: &'static str,
}

/// Known providers without an entry in [`PROVIDERS`].
pub static LATER_PROVIDERS: &[LaterProvider] = &[
    later(&["anthropic", "claude"], "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    later(
        &["gemini", "google", "google-gemini"],
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
    ),
    later(&["openrouter"], "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    later(&["mistral", "mistralai"], "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    later(&["groq"], "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    later(&["deepseek"], "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    later(&["xai", "grok"], "https://api.x.ai/v1", "XAI_API_KEY"),
    later(&["azure", "azure-openai"], "https://RESOURCE.openai.azure.com/openai/v1", "AZURE_OPENAI_API_KEY"),
    later(&["huggingface", "hf"], "https://router.huggingface.co/v1", "HF_TOKEN"),
    later(&["bedrock", "aws"], "", "AWS_SECRET_ACCESS_KEY"),
    later(&["vertex", "vertex-ai", "vertexai"], "", "GOOGLE_API_KEY"),
];

const fn later(names: &'static [&'static str], base_url: &'static str, key: &'static str) -> LaterProvider {
    LaterProvider { names, base_url, key }
}

impl LaterProvider {
    /// How to use one of its models with this version.
    pub fn meanwhile(&self, model: &str) -> String {
        let Self { base_url, key, .. } = self;
        let model = if model.is_empty() { "MODEL" } else { model };
        if base_url.is_empty() {
            return format!(
                "meanwhile, use an OpenAI-compatible gateway: `model: {{ use: {OPENAI_COMPATIBLE}/{model}, base_url: URL }}` in the agent file"
            );
        }
        format!(
            "meanwhile, use its OpenAI-compatible API: `model: {{ use: {OPENAI_COMPATIBLE}/{model}, base_url: \"{base_url}\", \
             key: \"${{{key}}}\" }}` in the agent file"
        )
    }

    /// The address of its OpenAI-compatible API, if it has one.
    pub fn compatible_url(&self) -> Option<&'static str> {
        Some(self.base_url).filter(|url| !url.is_empty())
    }
}

/// The provider of this name whose own API comes later.
pub fn later_provider(name: &str) -> Option<&'static LaterProvider> {
    LATER_PROVIDERS.iter().find(|provider| provider.names.contains(&name))
}

/// Hosts with quirks, under any provider's name; subdomains count.
static HOSTS: &[(&str, Quirks)] = &[
    ("api.openai.com", Quirks { completion_tokens: true, ..Quirks::NONE }),
    ("openrouter.ai", Quirks { cache_control: true, ..Quirks::NONE }),
];

/// Variables that usually hold keys of providers which only tools may ask.
static OTHER_KEYS: [&str; 11] = [
    "ANTHROPIC_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "AZURE_OPENAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "HF_TOKEN",
    "MISTRAL_API_KEY",
    "OPENROUTER_API_KEY",
    "XAI_API_KEY",
];

impl Provider {
    /// The variable that names its address, if there is one.
    pub fn address_variable(&self) -> Option<&'static str> {
        match self.address {
            Address::Url { variable, .. } | Address::Listening { variable, .. } => Some(variable),
            Address::Given => None,
        }
    }

    /// The list price of one of its models.
    pub fn price_of(&self, model: &str) -> Option<Prices> {
        let price = self.prices.iter().find(|price| price.model == model)?;
        Some(Prices::per_million(price.input, price.output, price.cached))
    }
}

/// The variables that usually hold keys.
pub(crate) fn key_variables() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().filter_map(|provider| provider.key).chain(OTHER_KEYS)
}

/// The provider of this name.
pub fn provider(name: &str) -> Option<&'static Provider> {
    PROVIDERS.iter().find(|provider| provider.name == name)
}

/// The names of all providers, the offline tour included.
pub fn provider_names() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().map(|provider| provider.name).chain(["tour"])
}

/// The names that are close to one that no provider has, else all.
pub fn names_near(name: &str) -> Vec<String> {
    let close = nearest(name, provider_names());
    if close.is_empty() { provider_names().map(str::to_owned).collect() } else { close }
}

/// The list price of a model by its whole name, `provider/model`.
pub fn list_price(name: &str) -> Option<Prices> {
    let (provider_name, model) = name.split_once('/')?;
    provider(provider_name)?.price_of(model)
}

/// The quirks of the server at a host.
pub fn quirks_of_host(host: &str) -> Quirks {
    let within = |domain: &str| {
        host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    HOSTS
        .iter()
        .filter(|(domain, _)| within(domain))
        .fold(Quirks::NONE, |quirks, (_, known)| quirks.and(*known))
}

#[cfg(test)]
mod tests;
