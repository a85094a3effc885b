//! Owns which way leads to a server: straight, or through the proxy that the environment names.

use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, OnceLock};

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
    /// Over a Unix socket.
    Socket(Arc<Path>),
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
    /// The way to an address by HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, which are read once a process. Hosts of this
    /// machine and of its link are asked directly.
    pub(crate) fn by_environment(to: &Uri) -> Self {
        static EXCEPTIONS: OnceLock<String> = OnceLock::new();
        static VARIABLES: OnceLock<Matcher> = OnceLock::new();
        let host = to.host().unwrap_or_default();
        let port = to.port_u16().unwrap_or(if is_tls(to) { 443 } else { 80 });
        let listed =
            || ["NO_PROXY", "no_proxy"].map(|name| std::env::var(name).unwrap_or_default()).join(",");
        if is_near(host) || is_excepted(EXCEPTIONS.get_or_init(listed), host, port) {
            return Self::Direct;
        }
        let Some(found) = VARIABLES.get_or_init(Matcher::from_env).intercept(to) else { return Self::Direct };
        let proxy = Proxy { uri: found.uri().clone(), login: found.basic_auth().cloned() };
        if is_tls(to) { Self::Tunnel(proxy) } else { Self::Forward(proxy) }
    }

    /// The proxy's host and port, if there is one: what its URL holds beside them is secret.
    pub(crate) fn proxy(&self) -> Option<&str> {
        match self {
            Self::Direct | Self::Socket(_) => None,
            Self::Forward(proxy) | Self::Tunnel(proxy) => {
                proxy.uri.authority().map(|whole| whole.as_str().rsplit('@').next().unwrap_or_default())
            }
        }
    }
}

/// Whether an address wants TLS.
pub(crate) fn is_tls(uri: &Uri) -> bool {
    uri.scheme_str() == Some("https")
}

/// Whether requests go straight to a host whatever the environment says: what they carry must not leave this machine or link.
fn is_near(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']).trim_end_matches('.');
    let host = host.split_once('%').map_or(host, |(address, _)| address);
    match host.parse::<IpAddr>().map(|address| address.to_canonical()) {
        Ok(IpAddr::V4(address)) => {
            address.is_loopback() || address.is_link_local() || address.is_unspecified()
        }
        Ok(IpAddr::V6(address)) => {
            address.is_loopback() || address.is_unicast_link_local() || address.is_unspecified()
        }
        Err(_) => {
            let host = host.to_ascii_lowercase();
            host == "localhost" || host.ends_with(".localhost")
        }
    }
}

/// Whether a value of `NO_PROXY` names a host: its name, a domain that it is in (`example.com`, `.example.com`, `*.example.com`),
/// its address, each maybe with a port, or `*`. Entries are parted by commas or blanks. Ranges of addresses are the matcher's.
fn is_excepted(list: &str, host: &str, port: u16) -> bool {
    let bare = |host: &str| host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase();
    let host = bare(host);
    list.split([',', ' ', '\t', ';']).filter(|entry| !entry.is_empty()).any(|entry| {
        let with_port = entry.rsplit_once(':').filter(|(name, _)| !name.contains(':') || name.ends_with(']'));
        let with_port = with_port.and_then(|(name, port)| Some((name, port.parse::<u16>().ok()?)));
        let (name, only) = with_port.map_or((entry, None), |(name, port)| (name, Some(port)));
        if only.is_some_and(|only| only != port) {
            return false;
        }
        let name = bare(name);
        let domain = name.trim_start_matches('*').trim_start_matches('.');
        let within =
            || host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'));
        name == "*" || (!domain.is_empty() && within()) || same_address(domain, &host)
    })
}

fn same_address(one: &str, other: &str) -> bool {
    matches!((one.parse::<IpAddr>(), other.parse::<IpAddr>()), (Ok(one), Ok(other)) if one.to_canonical() == other.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::{is_excepted, is_near};

    #[test]
    fn what_is_near_is_asked_directly() {
        for host in [
            "127.0.0.1",
            "127.8.9.1",
            "[::1]",
            "localhost",
            "LOCALHOST.",
            "x.localhost",
            "0.0.0.0",
            "169.254.1.2",
        ] {
            assert!(is_near(host), "{host}");
        }
        for host in ["[fe80::1]", "[fe80::1%25eth0]", "[::ffff:127.0.0.1]", "[::]"] {
            assert!(is_near(host), "{host}");
        }
        for host in [
            "10.0.0.1",
            "128.0.0.1",
            "localhost.example.com",
            "notlocalhost",
            "[2001:db8::1]",
            "api.openai.com",
        ] {
            assert!(!is_near(host), "{host}");
        }
    }

    #[test]
    fn exceptions_in_all_forms() {
        for (list, host, port) in [
            ("*", "a.com", 80),
            ("b.com, a.com", "a.com", 80),
            ("b.com a.com", "x.a.com", 443),
            (".a.com", "a.com", 80),
            ("*.a.com", "x.A.com", 80),
            ("a.com:8080", "a.com", 8080),
            ("10.0.0.1", "10.0.0.1", 80),
            ("[2001:db8::1]:443", "[2001:db8:0::1]", 443),
            ("2001:db8::1", "[2001:db8::1]", 80),
        ] {
            assert!(is_excepted(list, host, port), "{list} {host}");
        }
        for (list, host, port) in [
            ("", "a.com", 80),
            ("a.com", "ba.com", 80),
            ("a.com:8080", "a.com", 80),
            ("x.a.com", "a.com", 80),
            (",", "a.com", 80),
            ("2001:db8::2", "[2001:db8::1]", 80),
        ] {
            assert!(!is_excepted(list, host, port), "{list} {host}");
        }
    }
}
