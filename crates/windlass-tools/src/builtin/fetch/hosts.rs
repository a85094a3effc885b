//! Hosts and addresses that may be requested.

use std::net::IpAddr;

use url::Url;
use windlass_http::{Reach, Refused};

use crate::tool::ToolError;

/// The hosts that may be asked; none listed: all public ones.
#[derive(Debug)]
pub(super) struct Hosts(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    host: Pattern,
    port: Option<u16>,
}

#[derive(Debug)]
enum Pattern {
    All,
    /// A suffix that begins with a dot.
    Suffix(String),
    Exactly(String),
}

impl Hosts {
    pub(super) fn new(entries: &[String]) -> Result<Self, String> {
        entries.iter().map(|entry| Entry::parse(entry)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a URL may be asked, and at which addresses: any, because an entry names host and port, or public ones, which is the
    /// most that a wildcard allows. A name's addresses are checked when it is resolved.
    pub(super) fn check(&self, url: &Url) -> Result<Reach, ToolError> {
        if !matches!(url.scheme(), "http" | "https") {
            let message = format!("`{url}`: only http and https URLs can be fetched, not {}", url.scheme());
            return Err(ToolError::of_kind("BadUrl", message));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ToolError::of_kind("BadUrl", "a URL with a user name or password is not allowed"));
        }
        let Some(host) = url.host_str().map(plain) else {
            return Err(ToolError::of_kind("BadUrl", format!("`{url}` has no host")));
        };
        let port = url.port_or_known_default();
        let listed = |entry: &Entry| entry.fits(&host) && entry.is_open(port);
        if !self.0.is_empty() && !self.0.iter().any(listed) {
            let message = format!("the host `{host}` (port {}) is not allowed", port.unwrap_or(0));
            return Err(ToolError::of_kind("HostRefused", message));
        }
        let reach = if self.names(&host, port) { Reach::Direct } else { Reach::Public };
        match literal(&host) {
            Some(address) if !reach.admits(address) => Err(refused(&Refused { host, address })),
            _ => Ok(reach),
        }
    }

    /// Whether an entry names this host and port without a wildcard. An entry without a port names all ports.
    fn names(&self, host: &str, port: Option<u16>) -> bool {
        let named = |entry: &Entry| matches!(&entry.host, Pattern::Exactly(name) if name == host);
        self.0.iter().any(|entry| named(entry) && entry.is_open(port))
    }
}

impl Entry {
    fn parse(entry: &str) -> Result<Self, String> {
        let bad =
            || format!("`{entry}` is not a host; write example.org, *.example.org, * or 127.0.0.1:8080");
        let (name, port) = match entry.rsplit_once(':') {
            Some((name, port)) if !port.contains(']') => (name, Some(port.parse().map_err(|_| bad())?)),
            _ => (entry, None),
        };
        if name == "*" {
            return Ok(Self { host: Pattern::All, port });
        }
        let (is_suffix, name) = name.strip_prefix("*.").map_or((false, name), |name| (true, name));
        // The URL parser writes names in their one form: lower case, punycode, addresses in digits.
        let url = Url::parse(&format!("http://{name}/")).map_err(|_| bad())?;
        let whole =
            url.path() == "/" && url.username().is_empty() && url.port().is_none() && url.query().is_none();
        let host = url.host_str().filter(|host| whole && !host.contains('*')).map(plain).ok_or_else(bad)?;
        Ok(Self {
            host: if is_suffix { Pattern::Suffix(format!(".{host}")) } else { Pattern::Exactly(host) },
            port,
        })
    }

    fn is_open(&self, port: Option<u16>) -> bool {
        self.port.is_none_or(|wanted| Some(wanted) == port)
    }

    fn fits(&self, host: &str) -> bool {
        match &self.host {
            Pattern::All => true,
            Pattern::Suffix(suffix) => host.ends_with(suffix.as_str()),
            Pattern::Exactly(name) => host == name,
        }
    }
}

/// A host without the dot that may end a name.
fn plain(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_owned()
}

/// The failure of a call at an address that may not be asked.
pub(super) fn refused(refused: &Refused) -> ToolError {
    ToolError::of_kind("AddressRefused", refused.to_string())
}

/// The address that a host is, if it is one.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

#[cfg(test)]
mod tests;
