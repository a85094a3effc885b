//! Addresses of servers.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use http::Uri;
use http::uri::PathAndQuery;
use windlass_http::{HttpError, Reach, Route};

use crate::error::ClientError;

/// The beginning of the address of a Unix socket.
const UNIX: &str = "unix:";

/// The address of a server: `http://HOST:PORT`, `https://HOST`, or `unix:/PATH` for a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address on the network.
    Http(Uri),
    /// A Unix socket. The server trusts whoever has its user id, so that no token is needed.
    Socket(PathBuf),
}

impl Address {
    /// Whether the server is on this machine, reached by its loopback address or a socket.
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::Socket(_) => true,
            Self::Http(uri) => {
                let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            }
        }
    }

    pub(crate) fn route(&self) -> Result<Route, HttpError> {
        match self {
            Self::Http(uri) => Route::to(uri, Reach::Proxied),
            Self::Socket(path) => Ok(Route::to_socket(path)),
        }
    }

    /// The path that stands before those of the API: of a server behind a proxy.
    pub(crate) fn prefix(&self) -> &str {
        match self {
            Self::Http(uri) => uri.path().trim_end_matches('/'),
            Self::Socket(_) => "",
        }
    }
}

impl FromStr for Address {
    type Err = ClientError;

    fn from_str(text: &str) -> Result<Self, ClientError> {
        let text = text.trim();
        let bad =
            |fault: &str| ClientError::Address { address: without_login(text), fault: fault.to_owned() };
        if let Some(path) = text.strip_prefix(UNIX) {
            let path = PathBuf::from(path);
            return if path.is_absolute() {
                Ok(Self::Socket(path))
            } else {
                Err(bad("the socket needs an absolute path"))
            };
        }
        let uri: Uri = text.parse().map_err(|_| bad("it is not a URL"))?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(bad("it must begin with http://, https:// or unix:/"));
        }
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(bad("it contains a login: the token goes into a header"));
        }
        if uri.path_and_query().and_then(PathAndQuery::query).is_some() {
            return Err(bad("it has a query"));
        }
        Ok(Self::Http(uri))
    }
}

/// A text without what stands before its host: it may be a password.
fn without_login(text: &str) -> String {
    text.rsplit_once('@').map_or(text, |(_, rest)| rest).to_owned()
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(uri) => f.write_str(uri.to_string().trim_end_matches('/')),
            Self::Socket(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use windlass_error::Diagnostic as _;

    use super::*;

    #[test]
    fn an_address_is_a_url_or_a_socket() {
        for (text, loopback) in [
            ("http://127.0.0.1:7400", true),
            ("http://[::1]:7400", true),
            ("http://localhost:7400/", true),
            ("https://agents.example/windlass", false),
            ("unix:/run/windlass.sock", true),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.is_loopback(), loopback, "{text}");
            assert_eq!(address.to_string(), text.trim_end_matches('/'));
        }
        assert_eq!("https://a.example/w/".parse::<Address>().unwrap().prefix(), "/w");
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_login() {
        for text in [
            "127.0.0.1:7400",
            "ftp://a.example",
            "unix:run.sock",
            "http://me:secret@a.example",
            "http://a/?b=1",
            "",
        ] {
            let error = text.parse::<Address>().unwrap_err();
            assert_eq!(error.code(), "client.address", "{text}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
