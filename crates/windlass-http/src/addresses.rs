//! Owns which addresses a name may lead to.

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::Name;
use tower_service::Service;
use windlass_error::Diagnostic;

/// Maximum number of addresses tried per name.
const MAX_ADDRESSES: usize = 16;

/// How servers are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Through the proxies that the environment names.
    Proxied,
    /// Straight.
    Direct,
    /// Straight, and only at addresses of the public internet.
    Public,
}

impl Reach {
    /// Whether a connection to an address may be made.
    pub fn admits(self, address: IpAddr) -> bool {
        match self {
            Self::Proxied | Self::Direct => true,
            Self::Public => is_public(address),
        }
    }
}

/// An address that may not be asked.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("the host `{host}` has the address {address}, which is not of the public internet")]
#[diagnostic(kind = Forbidden, code = "http.not_public")]
pub struct Refused {
    /// The host, by name or address.
    pub host: String,
    /// Its address.
    pub address: IpAddr,
}

/// Looks names up, once a connection, and gives the addresses that may be asked: the connection has no others to go to.
#[derive(Clone, Debug)]
pub(crate) struct Resolver(pub(crate) Reach);

type Found = Result<std::vec::IntoIter<SocketAddr>, Box<dyn Error + Send + Sync>>;

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Box<dyn Error + Send + Sync>;
    type Future = Pin<Box<dyn Future<Output = Found> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let reach = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?.take(MAX_ADDRESSES).collect();
            Ok(vet(reach, name.as_str().trim_end_matches('.'), found)?.into_iter())
        })
    }
}

/// The addresses of a host that may be asked.
fn vet(reach: Reach, host: &str, found: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Refused> {
    let (admitted, other): (Vec<_>, Vec<_>) =
        found.into_iter().partition(|address| reach.admits(address.ip()));
    match other.first() {
        Some(refused) if admitted.is_empty() => Err(Refused { host: host.to_owned(), address: refused.ip() }),
        _ => Ok(admitted),
    }
}

/// Whether an address belongs to a machine of the public internet (IANA IPv4 and IPv6 special-purpose registries).
fn is_public(address: IpAddr) -> bool {
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
