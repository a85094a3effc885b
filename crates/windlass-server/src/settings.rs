//! Settings of a server as data.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::error::Error;

/// The shortest time between two signs of life in a stream, in milliseconds.
const SHORTEST_SILENCE_MS: u64 = 100;
/// The longest silence of a stream, in milliseconds (E64).
pub const LONGEST_SILENCE_MS: u64 = 10_000;

/// Settings of a server. All have defaults.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Addresses to listen on. Default: `127.0.0.1:7400`.
    #[schemars(with = "Vec<String>")]
    pub listen: Vec<SocketAddr>,
    /// A Unix socket to listen on as well. Whoever has the user id of the server needs no token there. Default: none.
    #[schemars(with = "Option<String>")]
    pub socket: Option<PathBuf>,
    /// Names by which the server is known in addition to `localhost` and the addresses of loopback.
    pub hosts: Vec<String>,
    /// Origins whose pages may use the server, such as `https://app.example`.
    pub origins: Vec<String>,
    /// Addresses of proxies, whose `X-Forwarded-For` is believed.
    #[schemars(with = "Vec<String>")]
    pub proxies: Vec<IpAddr>,
    /// The time between two signs of life in a stream, in milliseconds: 100 to 10,000. Default: 8,000.
    pub heartbeat_ms: u64,
    /// The longest time of a stream, after which its reader comes back, in seconds. Default: 3,600.
    pub stream_seconds: u64,
    /// How long runs have to come to a durable point once the server is to end, in milliseconds. Default: 10,000.
    pub grace_ms: u64,
    /// Bounds of single requests and connections.
    pub requests: Requests,
    /// Limits on runs.
    pub limits: Limits,
}

/// Bounds of single requests and connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Requests {
    /// The most bytes of a body. Default: 32 MiB.
    pub body_bytes: usize,
    /// How long a connection waits for the head of its next request, in milliseconds. Default: 30,000.
    pub head_ms: u64,
    /// How long the body of a request may take, in milliseconds. Default: 60,000.
    pub body_ms: u64,
    /// How long a reader may take nothing of what is sent to it, in milliseconds. Default: 30,000.
    pub send_ms: u64,
    /// Connections at once. Default: 8,192.
    pub connections: usize,
}

/// Limits on runs. `null`: none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Runs that are driven at once. Default: 64.
    pub at_once: usize,
    /// Runs that may wait for a place. Default: 10,000.
    pub waiting: usize,
    /// Limits of each owner.
    pub owner: Quota,
    /// Limits of each agent.
    pub agent: Quota,
}

/// Limits of one owner or agent. `null`: none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Quota {
    /// Runs that are driven at once.
    pub at_once: Option<usize>,
    /// Requests a minute that begin or continue a run.
    pub requests_per_minute: Option<u32>,
    /// US dollars a day (UTC), in hundredths: once the runs that began on a day have cost so much, no more begin. Those that have begun go
    /// on. Known cost counts: what a model without a price has used counts as nothing.
    pub usd_cents_per_day: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 7_400))],
            socket: None,
            hosts: Vec::new(),
            origins: Vec::new(),
            proxies: Vec::new(),
            heartbeat_ms: 8_000,
            stream_seconds: 3_600,
            grace_ms: 10_000,
            requests: Requests::default(),
            limits: Limits::default(),
        }
    }
}

impl Default for Requests {
    fn default() -> Self {
        Self { body_bytes: 32 << 20, head_ms: 30_000, body_ms: 60_000, send_ms: 30_000, connections: 8_192 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { at_once: 64, waiting: 10_000, owner: Quota::default(), agent: Quota::default() }
    }
}

impl Limits {
    /// Whether requests that begin runs are counted at all.
    pub(crate) fn bound_requests(&self) -> bool {
        [&self.owner, &self.agent]
            .iter()
            .any(|quota| quota.requests_per_minute.is_some() || quota.usd_cents_per_day.is_some())
    }
}

impl Settings {
    /// Refuses settings with which the server would not do what it promises, or nothing at all.
    ///
    /// # Errors
    /// The first one that is out of its bounds.
    pub fn check(&self) -> Result<(), Error> {
        let Requests { body_bytes, head_ms, body_ms, send_ms, connections } = self.requests;
        let Limits { at_once, owner, agent, .. } = &self.limits;
        let heartbeat = SHORTEST_SILENCE_MS..=LONGEST_SILENCE_MS;
        if !heartbeat.contains(&self.heartbeat_ms) {
            let expected = format!("{} to {}", heartbeat.start(), heartbeat.end());
            return Err(Error::Setting { setting: "heartbeat_ms", found: self.heartbeat_ms, expected });
        }
        let is_zero = [
            ("stream_seconds", self.stream_seconds == 0),
            ("requests.body_bytes", body_bytes == 0),
            ("requests.head_ms", head_ms == 0),
            ("requests.body_ms", body_ms == 0),
            ("requests.send_ms", send_ms == 0),
            ("requests.connections", connections == 0),
            ("limits.at_once", *at_once == 0),
            ("limits.owner.at_once", owner.at_once == Some(0)),
            ("limits.agent.at_once", agent.at_once == Some(0)),
        ];
        match is_zero.into_iter().find(|(_, is_zero)| *is_zero) {
            Some((setting, _)) => Err(Error::Setting { setting, found: 0, expected: "1 or more".to_owned() }),
            None => Ok(()),
        }
    }

    /// The time between two signs of life in a stream.
    pub(crate) fn heartbeat(&self) -> std::time::Duration {
        std::time::Duration::from_millis(self.heartbeat_ms)
    }
}
