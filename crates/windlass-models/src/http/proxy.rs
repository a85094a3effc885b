//! Owns which way leads to a server: straight, or through the proxy that the environment names.

use std::sync::OnceLock;

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;

/// The way to a server.
#[derive(Clone, Debug)]
pub(crate) enum Via {
    /// Straight to it.
    Direct,
    /// Through a proxy that reads the requests, for plain HTTP: it is sent whole URLs.
    Forward(Proxy),
    /// Through a tunnel that a proxy opens (`CONNECT`), for HTTPS.
    Tunnel(Proxy),
}

/// A proxy.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    /// Its address.
    pub(crate) uri: Uri,
    /// The value of `Proxy-Authorization`, if its URL has a login.
    pub(crate) login: Option<HeaderValue>,
}

impl Via {
    /// The way to an address by HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, which are read once a process.
    pub(crate) fn by_environment(to: &Uri) -> Self {
        static VARIABLES: OnceLock<Matcher> = OnceLock::new();
        let Some(found) = VARIABLES.get_or_init(Matcher::from_env).intercept(to) else { return Self::Direct };
        let proxy = Proxy { uri: found.uri().clone(), login: found.basic_auth().cloned() };
        if is_tls(to) { Self::Tunnel(proxy) } else { Self::Forward(proxy) }
    }
}

/// Whether an address wants TLS.
pub(crate) fn is_tls(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}
