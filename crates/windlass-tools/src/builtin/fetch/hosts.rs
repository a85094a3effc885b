//! Hosts and addresses that may be requested.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::tool::ToolError;

/// Maximum number of addresses tried per name.
const MAX_ADDRESSES: usize = 16;

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

    /// Whether a URL may be asked, and at which addresses; a name's addresses are checked when it is resolved.
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
        let reach = if self.names(&host, port) { Reach::Listed } else { Reach::Public };
        match literal(&host) {
            Some(address) if reach == Reach::Public && !is_public(address) => {
                Err(Refused { host, address }.error())
            }
            _ => Ok(reach),
        }
    }

    /// Whether an entry names this host and port without a wildcard. An entry without a port names all ports.
    fn names(&self, host: &str, port: Option<u16>) -> bool {
        let named = |entry: &Entry| matches!(&entry.host, Pattern::Exactly(name) if name == host);
        self.0.iter().any(|entry| named(entry) && entry.is_open(port))
    }
}

/// Addresses that a host may resolve to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Public internet addresses; the most that a wildcard allows.
    Public,
    /// Any, because an entry names the host and the port.
    Listed,
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

/// The address that a host is, if it is one.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

/// Resolves names once, to addresses that may be asked: the connection has no others to go to. A resolver is not told
/// the port, so each reach has a client of its own.
pub(super) struct Vetted(pub(super) Reach);

impl Resolve for Vetted {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0;
        Box::pin(async move {
            let host = plain(name.as_str());
            let found: Vec<SocketAddr> =
                tokio::net::lookup_host((name.as_str(), 0)).await?.take(MAX_ADDRESSES).collect();
            let vetted = vet(reach, &host, found)?;
            Ok(Box::new(vetted.into_iter()) as Addrs)
        })
    }
}

/// The addresses of a host that may be asked.
fn vet(reach: Reach, host: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Refused> {
    if reach == Reach::Listed {
        return Ok(found);
    }
    let (public, other): (Vec<_>, Vec<_>) = found.into_iter().partition(|address| is_public(address.ip()));
    match other.first() {
        Some(refused) if public.is_empty() => Err(Refused { host: host.to_owned(), address: refused.ip() }),
        _ => Ok(public),
    }
}

/// An address that may not be asked.
#[derive(Debug, thiserror::Error)]
#[error("the host `{host}` has the address {address}, which is not of the public internet")]
pub(super) struct Refused {
    host: String,
    address: IpAddr,
}

impl Refused {
    pub(super) fn error(&self) -> ToolError {
        ToolError::of_kind("AddressRefused", self.to_string())
    }
}

/// Whether an address belongs to a machine of the public internet (IANA IPv4 and IPv6 special-purpose registries).
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = match a {
        // This network, private, loopback; multicast, reserved, broadcast.
        0 | 10 | 127 | 224.. => true,
        // Shared address space (RFC 6598).
        100 => (64..=127).contains(&b),
        // Link-local, and the metadata services of clouds.
        169 => b == 254,
        // Private.
        172 => (16..=31).contains(&b),
        // Protocol assignments, documentation, relays of 6to4, private.
        192 => matches!((b, c), (0, 0 | 2) | (88, 99) | (168, _)),
        // Benchmarks, documentation.
        198 => matches!((b, c), (18 | 19, _) | (51, 100)),
        // Documentation.
        203 => (b, c) == (0, 113),
        _ => false,
    };
    !special
}

/// Only global unicast addresses (2000::/3), and of those no ranges for special purposes; where an IPv4 address is
/// inside, it decides.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let inner = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // IPv4-mapped; IPv4-translated (NAT64, RFC 6052); 6to4, which leads to the IPv4 address in it.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => inner(high, low),
        // Protocol assignments (Teredo among them), documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => (0x2000..=0x3fff).contains(&first),
    }
}

#[cfg(test)]
mod tests;
