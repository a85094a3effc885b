//! Owns the wire of OpenAI Chat Completions: what OpenAI and nearly every other server speaks.
//!
//! [`encode`](encode::encode) and [`Decoder`](decode::Decoder) are pure; [`OpenAiChat`] puts HTTP between them.

use std::sync::{Arc, OnceLock};

use futures_util::TryFutureExt;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};

use crate::{Deltas, Model, ModelError, ModelRequest};
use windlass_core::Secret;

mod binding;
mod call;
mod classify;
pub(crate) mod client;
pub mod decode;
mod directory;
pub mod encode;
pub(crate) mod endpoint;
mod json;
pub mod sse;
mod trouble;
mod watch;
mod wire;

use self::call::{Call, open};
pub use self::client::http_client;
use self::client::{ClientKey, client};
use self::encode::{Dialect, encode};
use self::endpoint::Endpoint;
pub use self::watch::Timeouts;

/// What an [`OpenAiChat`] is made of.
#[derive(Clone, Debug)]
pub struct OpenAiConfig {
    /// The provider's label, such as `openai` or `ollama`: it is taken off model names (`LABEL/NAME`).
    pub name: Arc<str>,
    /// Where the API is: with or without a slash at the end, with or without `/v1`; any other path is kept.
    pub base_url: String,
    /// Sent as `Authorization: Bearer KEY`, if there is one.
    pub key: Option<Secret>,
    /// More headers; one named `Authorization` stands in for the key's. Their values count as secrets.
    pub headers: Vec<(String, Secret)>,
    /// How long a call may take.
    pub timeouts: Timeouts,
    /// Whether the variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY count.
    pub allow_proxy: bool,
    /// Whether marks for the provider's cache are sent (`cache_control`); `None`: to OpenRouter only. Gateways such as LiteLLM
    /// take them; OpenAI itself, which caches without being asked, refuses them.
    pub cache_control: Option<bool>,
    /// Whether the provider wants its reasoning back with the calls that followed it (DeepSeek, Kimi; E44).
    pub return_reasoning: bool,
}

impl OpenAiConfig {
    /// A server without a key, with default timeouts.
    pub fn new(name: impl Into<Arc<str>>, base_url: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            base_url: base_url.into(),
            key: None,
            headers: Vec::new(),
            timeouts: Timeouts::default(),
            allow_proxy: true,
            cache_control: None,
            return_reasoning: false,
        }
    }
}

/// A model behind an OpenAI Chat Completions API. Makes exactly one HTTP request a call: retries are the core's.
#[derive(Clone, Debug)]
pub struct OpenAiChat {
    server: Arc<Server>,
}

/// What all calls of an adapter share.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    pub(crate) timeouts: Timeouts,
    dialect: Dialect,
    headers: HeaderMap,
    client_key: ClientKey,
    client: OnceLock<reqwest::Client>,
}

impl OpenAiChat {
    /// Makes an adapter. Nothing is connected and no TLS is set up before the first call.
    ///
    /// # Errors
    /// The base URL or a header cannot be used.
    pub fn new(config: OpenAiConfig) -> Result<Self, ModelError> {
        let endpoint = Endpoint::parse(&config.base_url)?;
        let dialect = Dialect {
            label: config.name,
            completion_tokens: endpoint.is_openai(),
            cache_control: config.cache_control.unwrap_or(endpoint.is_openrouter()),
            return_reasoning: config.return_reasoning,
        };
        let headers = headers(config.key.as_ref(), &config.headers)?;
        let client_key = ClientKey::of(&endpoint.chat, config.timeouts.connect_ms, config.allow_proxy);
        let client = OnceLock::new();
        let timeouts = config.timeouts;
        Ok(Self { server: Arc::new(Server { endpoint, timeouts, dialect, headers, client_key, client }) })
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }
}

impl Model for OpenAiChat {
    fn provider(&self) -> &str {
        &self.server.dialect.label
    }

    fn binding(&self) -> Vec<(String, Secret)> {
        binding::of(&self.server.endpoint.chat, &self.server.headers)
    }

    fn call(&self, request: ModelRequest) -> Deltas {
        let encoding = encode(&self.server.dialect, &request);
        let call = Call {
            server: self.server.clone(),
            max_reply_bytes: request.model.max_reply_bytes(),
            model: request.model.name,
            content_bytes: encoding.content_bytes,
            stream: request.stream,
        };
        Box::pin(open(call, encoding.body).try_flatten_stream())
    }
}

impl Server {
    /// The HTTP client, made at the first call.
    pub(crate) fn client(&self) -> Result<&reqwest::Client, ModelError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let made = client(self.client_key, &self.endpoint.host)?;
        Ok(self.client.get_or_init(|| made))
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The label that readable reasoning is sealed with.
    fn seal(&self) -> Option<Arc<str>> {
        self.dialect.return_reasoning.then(|| self.dialect.label.clone())
    }
}

fn headers(key: Option<&Secret>, more: &[(String, Secret)]) -> Result<HeaderMap, ModelError> {
    let secret_value = |name: &str, value: &str| {
        let bad = |_| ModelError::BadHeader { name: name.to_owned() };
        let mut value = HeaderValue::from_str(value.trim()).map_err(bad)?;
        value.set_sensitive(true);
        Ok(value)
    };
    let mut headers = HeaderMap::with_capacity(4 + more.len());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(key) = key {
        headers.insert(
            AUTHORIZATION,
            secret_value("authorization", &format!("Bearer {}", key.expose().trim()))?,
        );
    }
    for (name, value) in more {
        let bad = |_| ModelError::BadHeader { name: name.clone() };
        headers.insert(
            HeaderName::from_bytes(name.as_bytes()).map_err(bad)?,
            secret_value(name, value.expose())?,
        );
    }
    Ok(headers)
}
