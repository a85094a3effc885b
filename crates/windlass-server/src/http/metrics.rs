//! Metrics of the server, in the text form of OpenMetrics, which Prometheus reads.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use windlass_store::Spend;

/// Bounds of the times of requests, in seconds.
const REQUEST_S: [f64; 8] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0];
/// Bounds of the times of appends, in seconds.
const APPEND_S: [f64; 8] = [0.000_1, 0.000_5, 0.002, 0.01, 0.05, 0.25, 1.0, 5.0];

/// The limits that refuse requests: [`Metrics::limited`].
pub(crate) const REQUESTS_PER_MINUTE: &str = "requests_per_minute";
pub(crate) const USD_PER_DAY: &str = "usd_per_day";
pub(crate) const WAITING: &str = "waiting";
const LIMITS: [&str; 3] = [REQUESTS_PER_MINUTE, USD_PER_DAY, WAITING];

type Seconds = Gauge<f64, AtomicU64>;

/// Counts of a server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<OfRequest, Counter>,
    times: Family<OfRoute, Histogram, fn() -> Histogram>,
    refused: Family<OfLimit, Counter>,
    /// Connections that are open.
    pub(crate) connections: Gauge,
    /// Event streams that are open.
    pub(crate) streams: Gauge,
    runs: Family<OfState, Gauge>,
    oldest_due: Seconds,
    tokens: Family<OfUse, Counter>,
    cost: Family<OfAgent, Counter<f64, AtomicU64>>,
    appends: Histogram,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRequest {
    method: &'static str,
    path: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRoute {
    method: &'static str,
    path: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfLimit {
    limit: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfState {
    state: State,
}

/// The states of runs that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(crate) enum State {
    /// Driven by this server.
    Driven,
    /// Waits here for a place.
    Queued,
    /// Due, and not taken up yet.
    Due,
    /// Given up until a person takes it up.
    GivenUp,
    /// Running, here or elsewhere.
    Running,
    /// Waits for a person, a timer or a message.
    Suspended,
    /// Has ended.
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfUse {
    agent: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
enum Kind {
    Input,
    Output,
    /// Part of `Input`.
    Cached,
    /// Part of `Input`.
    CacheWrite,
    /// Part of `Output`.
    Reasoning,
    /// Part of `Input` and `Output`: the cost does not have it.
    Unpriced,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfAgent {
    agent: String,
}

/// The counts of what runs of an agent use: found once, and counted at each append.
#[derive(Clone, Debug)]
pub(crate) struct Uses {
    input: Counter,
    output: Counter,
    cached: Counter,
    cache_write: Counter,
    reasoning: Counter,
    unpriced: Counter,
    cost: Counter<f64, AtomicU64>,
}

impl Uses {
    /// Counts what a run has used.
    pub(crate) fn add(&self, used: &Spend) {
        let Spend { input, output, cached, cache_write, reasoning, cost, unpriced } = *used;
        self.input.inc_by(input);
        self.output.inc_by(output);
        self.cached.inc_by(cached);
        self.cache_write.inc_by(cache_write);
        self.reasoning.inc_by(reasoning);
        self.unpriced.inc_by(unpriced);
        self.cost.inc_by(cost as f64 / 1e12);
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("windlass");
        let metrics = Self {
            requests: Family::default(),
            times: Family::new_with_constructor(|| Histogram::new(REQUEST_S)),
            refused: Family::default(),
            connections: Gauge::default(),
            streams: Gauge::default(),
            runs: Family::default(),
            oldest_due: Seconds::default(),
            tokens: Family::default(),
            cost: Family::default(),
            appends: Histogram::new(APPEND_S),
            registry: Registry::default(),
        };
        registry.register("requests", "Requests by route and status", metrics.requests.clone());
        registry.register_with_unit(
            "request",
            "Time until the head of a reply",
            Unit::Seconds,
            metrics.times.clone(),
        );
        // A count that is absent until it has happened once looks like one that is not there.
        for limit in LIMITS {
            drop(metrics.refused.get_or_create(&OfLimit { limit }));
        }
        registry.register("refused", "Requests that a limit refused", metrics.refused.clone());
        registry.register("connections", "Connections that are open", metrics.connections.clone());
        registry.register("streams", "Event streams that are open", metrics.streams.clone());
        registry.register(
            "runs",
            "Runs by state: driven and queued ones of this server, the others of the log",
            metrics.runs.clone(),
        );
        registry.register_with_unit(
            "oldest_due_run",
            "Age of the oldest run that is due and not taken up; 0: there is none",
            Unit::Seconds,
            metrics.oldest_due.clone(),
        );
        registry.register("tokens", "Tokens that runs have used here: cached, cache_write and reasoning are parts of input and output", metrics.tokens.clone());
        registry.register("cost_usd", "US dollars that runs have cost here", metrics.cost.clone());
        registry.register_with_unit(
            "append",
            "Time of an append to the log",
            Unit::Seconds,
            metrics.appends.clone(),
        );
        Self { registry, ..metrics }
    }

    /// Counts a request.
    pub(crate) fn request(&self, method: &str, path: &'static str, status: u16, time: Duration) {
        let method = if method == "GET" { "GET" } else { "POST" };
        self.requests.get_or_create(&OfRequest { method, path, status }).inc();
        self.times.get_or_create(&OfRoute { method, path }).observe(time.as_secs_f64());
    }

    /// Counts a request that a limit refused.
    pub(crate) fn limited(&self, limit: &'static str) {
        self.refused.get_or_create(&OfLimit { limit }).inc();
    }

    /// Counts the time of an append.
    pub(crate) fn append(&self, time: Duration) {
        self.appends.observe(time.as_secs_f64());
    }

    /// Sets how many runs are in a state.
    pub(crate) fn runs(&self, state: State, count: u64) {
        self.runs.get_or_create(&OfState { state }).set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Sets the age of the oldest run that is due.
    pub(crate) fn oldest_due(&self, age: Duration) {
        self.oldest_due.set(age.as_secs_f64());
    }

    /// The counts of what runs of an agent use.
    pub(crate) fn uses(&self, agent: &str) -> Uses {
        let tokens = |kind| self.tokens.get_or_create_owned(&OfUse { agent: agent.to_owned(), kind });
        Uses {
            input: tokens(Kind::Input),
            output: tokens(Kind::Output),
            cached: tokens(Kind::Cached),
            cache_write: tokens(Kind::CacheWrite),
            reasoning: tokens(Kind::Reasoning),
            unpriced: tokens(Kind::Unpriced),
            cost: self.cost.get_or_create_owned(&OfAgent { agent: agent.to_owned() }),
        }
    }

    /// The metrics as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _infallible = encode(&mut text, &self.registry);
        text
    }
}
