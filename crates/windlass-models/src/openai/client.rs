//! Owns the HTTP clients of the process: made at their first use, shared by all adapters.
//!
//! Plain HTTP has a client of its own, because building one with TLS reads the system's certificates: tens of
//! milliseconds that a local server need not cost.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reqwest::Url;

use super::endpoint::Endpoint;
use crate::ModelError;

/// How many clients are kept: one for each pair of settings below that occurs.
const MAX_CLIENTS: usize = 16;

/// How long an idle connection is kept, in seconds: below the 60 s after which many servers close it.
const POOL_IDLE_SECONDS: u64 = 50;

/// How many idle connections to one host are kept.
const POOL_PER_HOST: usize = 256;

/// What a client is built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientKey {
    pub(crate) tls: bool,
    pub(crate) connect_ms: u64,
    pub(crate) proxy: bool,
}

impl ClientKey {
    /// What an address needs.
    pub(crate) fn of(url: &Url, connect_ms: u64, proxy: bool) -> Self {
        let tls_proxy = || {
            let variable = std::env::var("HTTP_PROXY").or_else(|_| std::env::var("http_proxy"));
            variable.is_ok_and(|proxy| proxy.starts_with("https:"))
        };
        Self { tls: url.scheme() == "https" || (proxy && tls_proxy()), connect_ms, proxy }
    }
}

static CLIENTS: Mutex<Vec<(ClientKey, reqwest::Client)>> = Mutex::new(Vec::new());

/// The client for this key; `host` is for the error.
pub(crate) fn client(key: ClientKey, host: &str) -> Result<reqwest::Client, ModelError> {
    let mut clients = CLIENTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, client)) = clients.iter().find(|(have, _)| *have == key) {
        return Ok(client.clone());
    }
    let client = build(key).map_err(|source| ModelError::Client { host: host.to_owned(), source })?;
    if clients.len() < MAX_CLIENTS {
        clients.push((key, client.clone()));
    }
    Ok(client)
}

/// The process' HTTP client for an address, for whoever sends something else than a request to a model there. It follows
/// no redirect and repeats nothing; TLS is set up at the first https address only.
///
/// # Errors
/// The address is no URL, or the client cannot be built.
pub fn http_client(url: &str, connect: Duration) -> Result<reqwest::Client, ModelError> {
    let Endpoint { chat, host, .. } = Endpoint::parse(url)?;
    let connect_ms = u64::try_from(connect.as_millis()).unwrap_or(u64::MAX);
    client(ClientKey::of(&chat, connect_ms, true), &host)
}

fn build(key: ClientKey) -> reqwest::Result<reqwest::Client> {
    // An error says that the program has installed a provider itself, which is as good.
    rustls::crypto::ring::default_provider().install_default().ok();
    let mut builder = reqwest::Client::builder()
        .tcp_nodelay(true)
        .connect_timeout(Duration::from_millis(key.connect_ms))
        .pool_idle_timeout(Duration::from_secs(POOL_IDLE_SECONDS))
        .pool_max_idle_per_host(POOL_PER_HOST)
        // A redirect would carry keys in custom headers to another host (E43).
        .redirect(reqwest::redirect::Policy::none())
        // Retries are the core's.
        .retry(reqwest::retry::never())
        .user_agent(concat!("windlass/", env!("CARGO_PKG_VERSION")));
    if !key.tls {
        builder = builder.tls_certs_only([]);
    }
    if !key.proxy {
        builder = builder.no_proxy();
    }
    builder.build()
}
