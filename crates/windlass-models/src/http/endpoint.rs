//! Owns how a base URL becomes the addresses of an API.

use std::borrow::Cow;

use http::Uri;
use url::{Host, Url};
use windlass_core::secret::{mask, mask_url_parts};

use crate::ModelError;
use crate::wires::WireFacts;

/// Address of a server's API.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// The base URL, its path without a slash at the end.
    base: Url,
    /// `host:port`, for messages.
    pub(crate) host: String,
}

/// An address of an API: the URL for messages, and what a request line takes of it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The whole URL.
    pub(crate) url: String,
    /// Its path and query.
    pub(crate) path: Uri,
}

impl Endpoint {
    /// Reads a base URL: with or without a slash at the end, with or without the wire's usual path; any other path is kept.
    /// Its credentials are masked from then on.
    pub(crate) fn parse(base: &str, facts: &WireFacts) -> Result<Self, ModelError> {
        mask_url_parts(base);
        let mut url = Url::parse(base.trim()).map_err(|error| bad(base, &error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(base, "it must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad(base, "it contains a login: use `key` or `headers`"));
        }
        url.set_fragment(None);
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix(facts.call_path).unwrap_or(path).trim_end_matches('/').to_owned();
        url.set_path(if path.is_empty() { facts.base_path } else { &path });
        let host = url.host_str().unwrap_or_default();
        let host = match url.port_or_known_default() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        Ok(Self { base: url, host })
    }

    /// The query of the base URL; empty: it has none.
    pub(crate) fn query(&self) -> &str {
        self.base.query().unwrap_or_default()
    }

    /// The URL of a path behind the base URL. A query of the path stands before that of the base URL.
    pub(crate) fn url(&self, path: &str) -> Url {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let mut url = self.base.clone();
        url.set_path(&format!("{}/{path}", self.base.path().trim_end_matches('/')));
        let query = match (query, self.base.query()) {
            (Some(own), Some(base)) => Some(Cow::Owned(format!("{own}&{base}"))),
            (own, base) => own.or(base).map(Cow::Borrowed),
        };
        url.set_query(query.as_deref());
        url
    }

    /// The address of a path behind the base URL.
    pub(crate) fn at(&self, path: &str) -> Result<Target, ModelError> {
        let url = self.url(path);
        let line =
            url.query().map_or_else(|| url.path().to_owned(), |query| format!("{}?{query}", url.path()));
        let path =
            line.parse().map_err(|error: http::uri::InvalidUri| bad(url.as_str(), &error.to_string()))?;
        Ok(Target { url: url.into(), path })
    }

    /// Whether the server is on this machine: an address in 127.0.0.0/8, ::1, or a name of `localhost` (RFC 6761, 6.3).
    pub(crate) fn is_loopback(&self) -> bool {
        match self.base.host() {
            Some(Host::Domain(name)) => {
                let name = name.trim_end_matches('.');
                name == "localhost" || name.ends_with(".localhost")
            }
            Some(Host::Ipv4(address)) => address.is_loopback(),
            Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
            None => false,
        }
    }

    /// The base URL without its query, in which a key may stand.
    pub(crate) fn place(&self) -> String {
        format!("{}://{}{}", self.base.scheme(), self.host, self.base.path())
    }

    /// The host's name alone.
    pub(crate) fn name(&self) -> &str {
        self.base.host_str().unwrap_or_default()
    }

    /// The base URL as an address for connections.
    pub(crate) fn origin(&self) -> Result<Uri, ModelError> {
        let unread = |error: http::uri::InvalidUri| bad(self.base.as_str(), &error.to_string());
        self.base.as_str().parse().map_err(unread)
    }
}

fn bad(url: &str, reason: &str) -> ModelError {
    ModelError::BadBaseUrl { url: mask(without_login(url)).into_owned(), reason: reason.to_owned() }
}

/// A URL without what stands before an `@`.
fn without_login(url: &str) -> &str {
    url.rsplit_once('@').map_or(url, |(_, rest)| rest)
}

#[cfg(test)]
mod tests;
