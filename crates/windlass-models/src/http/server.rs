//! Owns the server of an adapter: its address, its headers and what its calls share.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use windlass_core::secret::Secret;
use windlass_http::{Reach, Route};

use super::config::HttpModelConfig;
use super::endpoint::{Endpoint, Target};
use super::hints::bare;
use super::keys::KeyCommand;
use super::limiters::{Account, Limiters};
use super::timeouts::Timeouts;
use crate::error::ModelError;
use crate::providers;
use crate::wires::{Dialect, KeyHeader, Quirks, Wire, WireFacts};

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
    pub(super) limiters: Limiters,
    headers: HeaderMap,
    reach: Reach,
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

impl Server {
    /// The server of a configuration.
    ///
    /// # Errors
    /// The base URL or a header cannot be used.
    pub(super) fn new(config: HttpModelConfig) -> Result<Self, ModelError> {
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
        Ok(Self {
            wire: config.wire,
            limiters: Limiters::new(config.rate, &account),
            headers,
            key_source: config.key_source,
            key_command,
            endpoint,
            timeouts: config.timeouts,
            dialect: Dialect { label: config.name, quirks },
            reach: if config.allow_proxy { Reach::Proxied } else { Reach::Direct },
            ready: OnceLock::new(),
            fixed: OnceLock::new(),
        })
    }

    /// The headers of every request that come from the settings.
    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The way to the server, and the headers of every request to it.
    pub(crate) fn ready(&self) -> Result<(&Route, &HeaderMap), ModelError> {
        let ready = if let Some(ready) = self.ready.get() {
            ready
        } else {
            let route = Route::to(&self.endpoint.origin()?, self.reach)?;
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
