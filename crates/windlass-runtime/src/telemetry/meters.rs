//! The instruments: counts and milliseconds under names that are a promise (`docs/telemetry.md`), the same for every preset, and
//! those of the conventions for generative AI.

use std::sync::OnceLock;

use opentelemetry::metrics::{Counter, Histogram, Meter};
use opentelemetry::{KeyValue, global};

/// A count of something with how long it took.
pub(super) struct Timed {
    count: Counter<u64>,
    duration: Histogram<f64>,
}

impl Timed {
    fn new(meter: &Meter, count: &'static str, duration: &'static str) -> Self {
        Self {
            count: meter.u64_counter(count).with_unit("1").build(),
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
    /// In seconds.
    pub(super) operations: Histogram<f64>,
    pub(super) tokens: Histogram<u64>,
}

/// Made at their first use: by then the process has installed its providers.
pub(super) fn meters() -> &'static Meters {
    static METERS: OnceLock<Meters> = OnceLock::new();
    METERS.get_or_init(|| {
        let meter = global::meter(super::SCOPE);
        Meters {
            requests: Timed::new(&meter, "kaos.requests", "kaos.request.duration"),
            models: Timed::new(&meter, "kaos.model.calls", "kaos.model.duration"),
            tools: Timed::new(&meter, "kaos.tool.calls", "kaos.tool.duration"),
            delegations: Timed::new(&meter, "kaos.delegations", "kaos.delegation.duration"),
            operations: meter.f64_histogram("gen_ai.client.operation.duration").with_unit("s").build(),
            tokens: meter.u64_histogram("gen_ai.client.token.usage").with_unit("{token}").build(),
        }
    })
}
