//! Which names and origins a server answers to. Loopback is no border: a page of another origin reaches it through the browser of
//! whoever runs the server, by its address or by a name that is bound to it anew (DNS rebinding).

use std::net::IpAddr;

use http::HeaderName;
use http::header::{HOST, ORIGIN};
use http::request::Parts;
use url::{Host, Url};

use crate::error::Error;
use crate::settings::Settings;

/// Refuses a request that names another host, or that a page of another origin has made.
pub(crate) fn check(settings: &Settings, request: &Parts, is_socket: bool) -> Result<(), Error> {
    let hosts: Vec<&str> = values(request, &HOST).collect();
    if hosts.len() > 1 {
        // RFC 9112, 3.2: who comes between could look at another one.
        return Err(Error::Head { fault: "it names more than one host".to_owned() });
    }
    // A request in the absolute form names its host there (RFC 9112, 3.2.2).
    let absolute = request.uri.authority().map(http::uri::Authority::as_str);
    let named: Vec<&str> = absolute.into_iter().chain(hosts).collect();
    let strange =
        if named.is_empty() { Some("") } else { named.into_iter().find(|host| !is_ours(settings, host)) };
    if let Some(host) = strange.filter(|_| !is_socket) {
        return Err(Error::Host { host: host.to_owned() });
    }
    match values(request, &ORIGIN).find(|origin| !is_allowed(settings, origin)) {
        Some(origin) => Err(Error::Origin { origin: origin.to_owned() }),
        None => Ok(()),
    }
}

/// The values of a header. One that is no text is one that nobody is known by.
fn values<'r>(request: &'r Parts, name: &HeaderName) -> impl Iterator<Item = &'r str> {
    request.headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

/// Whether the server is known by that name: an address of loopback, `localhost`, or one of the settings. Any port will do, since a proxy
/// may have another one.
fn is_ours(settings: &Settings, host: &str) -> bool {
    let Some(host) = host_of(host) else { return false };
    let is_loopback = match &host {
        Host::Domain(name) => name == "localhost",
        Host::Ipv4(address) => IpAddr::from(*address).is_loopback(),
        Host::Ipv6(address) => IpAddr::from(*address).is_loopback(),
    };
    is_loopback || settings.hosts.iter().any(|known| host_of(known).as_ref() == Some(&host))
}

/// The host of `HOST` or `HOST:PORT`.
fn host_of(text: &str) -> Option<Host<String>> {
    let url = Url::parse(&format!("http://{text}/")).ok()?;
    if url.username() != "" || url.password().is_some() || url.path() != "/" || url.query().is_some() {
        return None;
    }
    url.host().map(|host| host.to_owned())
}

fn is_allowed(settings: &Settings, origin: &str) -> bool {
    settings.origins.iter().any(|known| known == origin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_the_settings_may_have_a_port() {
        let settings = |host: &str| Settings { hosts: vec![host.to_owned()], ..Settings::default() };
        let known = [
            ("agents.example.com", "agents.example.com"),
            ("agents.example.com", "Agents.Example.com:8443"),
            ("10.77.0.1:7400", "10.77.0.1:7400"),
            ("10.77.0.1:7400", "10.77.0.1"),
            ("[fd00::1]", "[fd00::1]:7400"),
            ("[fd00::1]:7400", "[fd00::1]"),
        ];
        for (host, asked) in known {
            assert!(is_ours(&settings(host), asked), "{host} is not {asked}");
        }
        for (host, asked) in
            [("10.77.0.1:7400", "10.77.0.2:7400"), ("a.example:80", "b.example"), ("fd00::1", "fd00::2")]
        {
            assert!(!is_ours(&settings(host), asked), "{host} is {asked}");
        }
    }
}
