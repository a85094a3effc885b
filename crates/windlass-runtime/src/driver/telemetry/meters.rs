//! The instruments: counts and milliseconds under names that are a promise (`docs/telemetry.md`), and those of the conventions
//! for generative AI. Runs of the `text` preset count under the names that KAOS' dashboards read, all others under ours.

use std::sync::OnceLock;

use opentelemetry::metrics::{Counter, Histogram, Meter};
use opentelemetry::{KeyValue, global};

/// A count of something with how long it took.
pub(super) struct Timed {
    count: Counter<u64>,
    duration: Histogram<f64>,
}

impl Timed {
    fn new(meter: &Meter, counted: String, duration: String) -> Self {
        Self {
            count: meter.u64_counter(counted).with_unit("1").build(),
            duration: meter.f64_histogram(duration).with_unit("ms").build(),
        }
    }

    pub(super) fn took(&self, ms: u64, labels: &[KeyValue]) {
        self.count.add(1, labels);
        self.duration.record(ms as f64, labels);
    }
}

pub(super) struct Meters {
    pub(super) requests: Timed,
    pub(super) models: Timed,
    pub(super) tools: Timed,
    pub(super) delegations: Timed,
}

impl Meters {
    fn new(prefix: &str) -> Self {
        let meter = global::meter(super::SCOPE);
        let timed = |counted: &str, duration: &str| {
            Timed::new(&meter, format!("{prefix}.{counted}"), format!("{prefix}.{duration}"))
        };
        Self {
            requests: timed("requests", "request.duration"),
            models: timed("model.calls", "model.duration"),
            tools: timed("tool.calls", "tool.duration"),
            delegations: timed("delegations", "delegation.duration"),
        }
    }
}

/// The instruments of the conventions for generative AI.
pub(super) struct Conventional {
    /// In seconds.
    pub(super) operations: Histogram<f64>,
    pub(super) tokens: Histogram<u64>,
}

/// The instruments under the names that runs of this preset count under. Made at their first use: by then the process has
/// installed its providers.
pub(super) fn meters(preset: &str) -> &'static Meters {
    static OWN: OnceLock<Meters> = OnceLock::new();
    static KAOS: OnceLock<Meters> = OnceLock::new();
    match preset {
        "text" => KAOS.get_or_init(|| Meters::new("kaos")),
        _ => OWN.get_or_init(|| Meters::new("windlass")),
    }
}

pub(super) fn conventional() -> &'static Conventional {
    static METERS: OnceLock<Conventional> = OnceLock::new();
    METERS.get_or_init(|| {
        let meter = global::meter(super::SCOPE);
        Conventional {
            operations: meter.f64_histogram("gen_ai.client.operation.duration").with_unit("s").build(),
            tokens: meter.u64_histogram("gen_ai.client.token.usage").with_unit("{token}").build(),
        }
    })
}
