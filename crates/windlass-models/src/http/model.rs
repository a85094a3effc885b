//! Owns [`HttpModel`]: the adapter of every model behind HTTP, for any wire.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::future::ready;
use futures_util::{FutureExt, TryFutureExt, TryStreamExt};
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use windlass_core::model::{FailureKind, ModelChoice, ModelFailure};
use windlass_core::secret::{Secret, mask};

use super::binding;
use super::blaming::blamed;
use super::call::{Call, open};
use super::client::Route;
use super::endpoint::{Endpoint, Target};
use super::hints::bare;
use super::keys::KeyCommand;
use super::restoring::Restoring;
use super::timeouts::Timeouts;
use super::turns::{Account, Rate, Turns, tokens};
use super::writing::{Shown, written};
use crate::wires::openai_chat::OpenAiChat;
use crate::wires::{Dialect, Encoding, KeyHeader, Quirks, Wire, WireFacts, is_off, once};
use crate::{Deltas, Known, Model, ModelError, ModelRequest, WrittenRequest, providers};

/// The configuration of an [`HttpModel`].
#[derive(Clone, Debug)]
pub struct HttpModelConfig {
    /// The wire that the server speaks.
    pub wire: &'static dyn Wire,
    /// The provider's label, such as `openai` or `ollama`: it is taken off model names (`LABEL/NAME`).
    pub name: Arc<str>,
    /// The address of the API: with or without a slash at the end, with or without the wire's usual path (`/v1`); any other path
    /// is kept.
    pub base_url: String,
    /// The key, sent in the wire's header if there is one.
    pub key: Option<Secret>,
    /// A command that prints the key; `key` counts where both are given.
    pub key_command: Option<Arc<KeyCommand>>,
    /// Origin of the key, for the error that it was refused: a variable, or a place in a file.
    pub key_source: Option<String>,
    /// More headers; one with the name of the key's header stands in for it. Their values count as secrets.
    pub headers: Vec<(String, Secret)>,
    /// Time limits of a call.
    pub timeouts: Timeouts,
    /// The most requests and tokens a minute with this key; `None`: any number.
    pub rate: Option<Rate>,
    /// Whether the variables HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY count.
    pub allow_proxy: bool,
    /// Differences between this server and others of its wire, besides those [known of its host](providers::quirks_of_host).
    pub quirks: Quirks,
    /// Whether marks for the provider's cache are sent (`cache_control`); `None`: as the quirks say. Gateways such as LiteLLM
    /// take them; OpenAI itself, which caches without being asked, refuses them.
    pub cache_control: Option<bool>,
    /// Whether readable reasoning goes back to its provider; `None`: as the quirks say.
    pub return_reasoning: Option<bool>,
    /// Whether the provider keeps replies and a turn sends only what follows the last one ([`Quirks::stored_replies`]); `None`: as
    /// the quirks say.
    pub stored_replies: Option<bool>,
}

impl HttpModelConfig {
    /// A server without a key, with default timeouts.
    pub fn new(wire: &'static dyn Wire, name: impl Into<Arc<str>>, base_url: impl Into<String>) -> Self {
        Self {
            wire,
            name: name.into(),
            base_url: base_url.into(),
            key: None,
            key_source: None,
            key_command: None,
            headers: Vec::new(),
            timeouts: Timeouts::default(),
            rate: None,
            allow_proxy: true,
            quirks: Quirks::NONE,
            cache_control: None,
            return_reasoning: None,
            stored_replies: None,
        }
    }

    /// A server of OpenAI Chat Completions, which nearly every server speaks.
    pub fn openai_chat(name: impl Into<Arc<str>>, base_url: impl Into<String>) -> Self {
        Self::new(&OpenAiChat, name, base_url)
    }
}

/// A model behind HTTP. It makes exactly one request a call: retries are the core's.
#[derive(Clone, Debug)]
pub struct HttpModel {
    server: Arc<Server>,
}

/// Shared state of an adapter's calls.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) wire: &'static dyn Wire,
    pub(crate) endpoint: Endpoint,
    pub(crate) timeouts: Timeouts,
    pub(crate) dialect: Dialect,
    /// The command that prints the key, if there is one and the settings have none.
    pub(crate) key_command: Option<Arc<KeyCommand>>,
    /// Origin of the key, for errors.
    pub(super) key_source: Option<String>,
    pub(super) turns: Turns,
    headers: HeaderMap,
    allow_proxy: bool,
    /// Found at the first call: it reads the environment.
    ready: OnceLock<Ready>,
    /// The address of calls whose path the wire never changes.
    fixed: OnceLock<(&'static str, Addressed)>,
}

/// The constant parts of requests to a server.
#[derive(Debug)]
struct Ready {
    route: Route,
    headers: HeaderMap,
}

/// An address with what the request line says for it.
#[derive(Clone, Debug)]
pub(crate) struct Addressed {
    pub(crate) url: Arc<str>,
    pub(crate) line: Uri,
}

impl HttpModel {
    /// Makes an adapter. Nothing is connected and no TLS is set up before the first call.
    ///
    /// # Errors
    /// The base URL or a header cannot be used.
    pub fn new(config: HttpModelConfig) -> Result<Self, ModelError> {
        let facts = config.wire.facts();
        let endpoint = Endpoint::parse(&config.base_url, facts)?;
        let quirks = config.quirks.and(providers::quirks_of_host(endpoint.name()));
        let cache_control = config.cache_control.unwrap_or(quirks.cache_control);
        let return_reasoning = config.return_reasoning.unwrap_or(quirks.return_reasoning);
        let stored_replies = config.stored_replies.unwrap_or(quirks.stored_replies);
        let quirks = Quirks { cache_control, return_reasoning, stored_replies, ..quirks };
        let headers = headers(facts, config.key.as_ref(), &config.headers)?;
        let key_command = config.key_command.filter(|_| config.key.is_none());
        let account = Account {
            host: &endpoint.host,
            query: endpoint.query(),
            headers: &headers,
            command: key_command.as_ref().map_or(&[], |command| command.words()),
        };
        let server = Server {
            wire: config.wire,
            turns: Turns::new(config.rate, &account),
            headers,
            key_source: config.key_source,
            key_command,
            endpoint,
            timeouts: config.timeouts,
            dialect: Dialect { label: config.name, quirks },
            allow_proxy: config.allow_proxy,
            ready: OnceLock::new(),
            fixed: OnceLock::new(),
        };
        Ok(Self { server: Arc::new(server) })
    }

    /// Whether a model reasons before it answers: the request asks for it, or the provider's entry says so.
    fn reasons(&self, model: &ModelChoice) -> bool {
        let Dialect { label, .. } = &self.server.dialect;
        match &model.reasoning {
            Some(effort) => !is_off(effort),
            None => providers::provider(label)
                .is_some_and(|provider| provider.reasons(self.server.dialect.plain_name(&model.name))),
        }
    }

    /// The body of a request, and the way back of its reply; or why it cannot be sent.
    fn encoded(&self, request: &mut ModelRequest) -> Result<(Option<Restoring>, Encoding), String> {
        let restoring = Restoring::of(self.server.wire, request);
        match self.refuses(request) {
            Some(words) => Err(words),
            None => Ok((restoring, self.server.wire.encode(&self.server.dialect, request))),
        }
    }

    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }
}

impl Model for HttpModel {
    fn provider(&self) -> &str {
        &self.server.dialect.label
    }

    fn binding(&self) -> Vec<(String, Secret)> {
        let Server { wire, endpoint, headers, .. } = &*self.server;
        binding::of(&endpoint.url(&wire.path("", false)), headers, wire.facts())
    }

    fn key_from(&self) -> Option<&str> {
        self.server.key_command.as_deref().map(KeyCommand::program)
    }

    fn known(&self, name: &str) -> Known {
        let Server { wire, endpoint, dialect, .. } = &*self.server;
        let name = dialect.plain_name(name);
        let provider = providers::provider(&dialect.label);
        let id = format!("{} {} {name}", wire.facts().name, endpoint.place());
        Known {
            id: Some(mask(&id).into_owned()),
            structured: Some(provider.is_none_or(|provider| provider.structured_output)),
            wire: provider.and_then(|provider| provider.wire_of_calls(name)),
            sampling: provider.and_then(|provider| provider.takes_sampling(name)),
        }
    }

    fn unsent(&self, choice: &ModelChoice) -> Vec<String> {
        let request = ModelRequest::new(choice.clone(), []);
        once::heard(|| drop(self.server.wire.encode(&self.server.dialect, &request)))
    }

    fn refuses(&self, request: &ModelRequest) -> Option<String> {
        self.server.wire.refuses(&self.server.dialect, request)
    }

    fn written(&self, mut request: ModelRequest) -> Option<WrittenRequest> {
        let (_, encoding) = self.encoded(&mut request).ok()?;
        let path = self.server.wire.path(self.server.dialect.plain_name(&request.model.name), request.stream);
        let server = &self.server;
        let url = server.endpoint.url(&path);
        let of = Shown {
            facts: server.wire.facts(),
            url: url.as_str(),
            headers: server.headers(),
            key_comes_later: server.key_command.is_some(),
            key_source: server.key_source.as_deref(),
            provider: &server.dialect.label,
        };
        Some(written(&of, encoding.body))
    }

    fn call(&self, mut request: ModelRequest) -> Deltas {
        let (restoring, encoding) = match self.encoded(&mut request) {
            Ok(encoded) => encoded,
            Err(words) => {
                let failure = ModelFailure::new(FailureKind::BadRequest, words, request.model.name);
                return Box::pin(ready(Err(failure)).into_stream());
            }
        };
        let reasons = self.reasons(&request.model);
        let call = Call {
            server: self.server.clone(),
            max_reply_bytes: request.model.max_reply_bytes(),
            tokens: tokens(encoding.content_bytes, request.model.max_tokens),
            turn: None,
            model: request.model.name,
            content_bytes: encoding.content_bytes,
            stream: request.stream,
            reasons,
        };
        let tools = request.tools;
        let deltas = open(call, encoding.body).try_flatten_stream();
        let deltas = Box::pin(deltas.map_err(move |failure| blamed(failure, &tools)));
        match restoring {
            Some(restoring) => restoring.over(deltas),
            None => deltas,
        }
    }
}

impl Server {
    /// The headers of every request that come from the settings.
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The way to the server, and the headers of every request to it.
    pub(crate) fn ready(&self) -> Result<(&Route, &HeaderMap), ModelError> {
        let ready = if let Some(ready) = self.ready.get() {
            ready
        } else {
            let route = Route::to(&self.endpoint.origin()?, self.allow_proxy)?;
            let mut headers = route.headers();
            // A header of the settings stands in for one of ours.
            headers.extend(self.headers.clone());
            self.ready.get_or_init(|| Ready { route, headers })
        };
        Ok((&ready.route, &ready.headers))
    }

    /// The address of a path behind the base URL.
    pub(crate) fn at(&self, path: &str) -> Result<Addressed, ModelError> {
        let Target { url, path } = self.endpoint.at(path)?;
        Ok(Addressed { url: url.into(), line: self.ready()?.0.line(&path) })
    }

    /// The address of a path that is the same for all calls: made once.
    pub(crate) fn at_fixed(&self, path: &'static str) -> Result<Addressed, ModelError> {
        if let Some((_, addressed)) = self.fixed.get().filter(|(known, _)| *known == path) {
            return Ok(addressed.clone());
        }
        let addressed = self.at(path)?;
        // Where another path was first, this one is made anew each time.
        self.fixed.set((path, addressed.clone())).ok();
        Ok(addressed)
    }

    /// Timeout for making a connection.
    pub(crate) fn connect_limit(&self) -> Duration {
        Duration::from_millis(self.timeouts.connect_ms)
    }
}

/// Adds the header with the key, unless there is one of its name.
pub(super) fn sign(headers: &mut HeaderMap, facts: &WireFacts, key: &Secret) -> Result<(), ModelError> {
    let bare = bare(key.expose());
    if bare != key.expose().trim() {
        // A server may repeat what it was sent.
        drop(Secret::from(bare));
    }
    let (name, value) = match facts.key {
        KeyHeader::Bearer => (AUTHORIZATION, Cow::Owned(format!("Bearer {bare}"))),
        KeyHeader::Named(name) => (HeaderName::from_static(name), Cow::Borrowed(bare)),
    };
    if !headers.contains_key(&name) {
        let value = secret(name.as_str(), &value)?;
        headers.insert(name, value);
    }
    Ok(())
}

fn bad(name: &str) -> ModelError {
    ModelError::BadHeader { name: name.to_owned() }
}

fn secret(name: &str, value: &str) -> Result<HeaderValue, ModelError> {
    let mut value = HeaderValue::from_str(value.trim()).map_err(|_| bad(name))?;
    value.set_sensitive(true);
    Ok(value)
}

fn headers(
    facts: &WireFacts,
    key: Option<&Secret>,
    more: &[(String, Secret)],
) -> Result<HeaderMap, ModelError> {
    let mut headers = HeaderMap::with_capacity(2 + facts.headers.len() + more.len());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for &(name, value) in facts.headers {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if let Some(key) = key {
        sign(&mut headers, facts, key)?;
    }
    for (name, value) in more {
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad(name))?;
        headers.insert(header, secret(name, value.expose())?);
    }
    Ok(headers)
}
