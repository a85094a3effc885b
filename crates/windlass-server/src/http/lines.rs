//! The lines of requests in the log: one each, with token, owner and run. A request that acts is an audit line.

use std::net::IpAddr;
use std::time::Duration;

use axum::response::Response;
use http::Method;
use http::header::LOCATION;
use http::request::Parts;
use windlass_core::{RunId, Text};

use super::caller::Caller;
use super::peer::Peer;
use super::route::Route;
use super::server::Server;

/// The filter for the log lines of a server, in the form of `tracing_subscriber::EnvFilter`: those of requests and of its own work, and
/// warnings of all parts. A run's events are in its log.
pub const LINES: &str = "warn,windlass::request=info,windlass::audit=info,windlass_server=info";

/// The header in which proxies name those who they speak for.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// The facts of a request that are known before it is served.
#[derive(Debug)]
pub(crate) struct Line {
    method: Method,
    path: String,
    from: String,
    run: Option<RunId>,
}

impl Line {
    pub(crate) fn of(server: &Server, route: &Route, parts: &Parts, peer: Peer) -> Self {
        let path = parts.uri.path().to_owned();
        let from = match peer {
            Peer::Address(address) => client(&server.settings().proxies, address, parts).to_string(),
            Peer::Socket { .. } => "socket".to_owned(),
        };
        let run = if route.path.contains("{run}") { run_in(&path) } else { None };
        Self { method: parts.method.clone(), path, from, run }
    }

    pub(crate) fn write(self, caller: Option<&Caller>, reply: &Response, time: Duration) {
        let Self { method, path, from, run } = self;
        let status = reply.status().as_u16();
        let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (token, owner): (Text, String) = caller.map_or_else(
            || ("-".into(), "-".to_owned()),
            |caller| (caller.name(), caller.owner().to_string()),
        );
        // A request that has begun a run names it in its reply.
        let begun = || run_in(reply.headers().get(LOCATION)?.to_str().ok()?);
        let run = run.or_else(begun).map_or_else(|| "-".to_owned(), |run| run.to_string());
        if method == Method::GET {
            tracing::info!(target: "windlass::request", %method, path, status, ms, %token, owner, run, from, "request");
        } else {
            tracing::info!(target: "windlass::audit", %method, path, status, ms, %token, owner, run, from, "act");
        }
    }
}

/// The run that a path names.
fn run_in(path: &str) -> Option<RunId> {
    path.strip_prefix("/v1/runs/")?.split('/').next()?.parse().ok()
}

/// The address of the client: that of the connection, or the last one that a proxy names which is no proxy itself. Nobody else is believed.
fn client(proxies: &[IpAddr], peer: IpAddr, parts: &Parts) -> IpAddr {
    if !proxies.contains(&peer) {
        return peer;
    }
    let named = parts.headers.get_all(FORWARDED_FOR).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<IpAddr> =
        named.flat_map(|value| value.split(',')).map_while(|name| name.trim().parse().ok()).collect();
    named.into_iter().rev().find(|address| !proxies.contains(address)).unwrap_or(peer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e66_only_a_named_proxy_says_for_whom_it_speaks() {
        let proxies: Vec<IpAddr> = vec!["127.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()];
        let from = |peer: &str, header: Option<&str>| {
            let mut request = http::Request::builder();
            if let Some(header) = header {
                request = request.header(FORWARDED_FOR, header);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            client(&proxies, peer.parse().unwrap(), &parts).to_string()
        };
        assert_eq!(from("9.9.9.9", Some("1.2.3.4")), "9.9.9.9", "a stranger is not believed");
        assert_eq!(from("127.0.0.1", Some("1.2.3.4")), "1.2.3.4");
        assert_eq!(
            from("127.0.0.1", Some("6.6.6.6, 1.2.3.4, 10.0.0.2")),
            "1.2.3.4",
            "what the client sent itself comes first"
        );
        assert_eq!(from("127.0.0.1", Some("nonsense")), "127.0.0.1");
        assert_eq!(from("127.0.0.1", None), "127.0.0.1");
    }
}
