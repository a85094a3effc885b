//! OpenTelemetry for the process: exporters over OTLP/HTTP, and the way to the log lines.
//!
//! It is on if `OTEL_SERVICE_NAME` and `OTEL_EXPORTER_OTLP_ENDPOINT` are set (KAOS) and `OTEL_SDK_DISABLED` is not `true`;
//! else nothing is made and nothing is installed. The other `OTEL_*` variables (headers, resource attributes, sampler,
//! intervals) are read by the SDK itself. A `TRACEPARENT` in the environment is the span that the command belongs to.

mod lines;
mod sending;

use std::collections::HashMap;
use std::time::Duration;

use opentelemetry::{Context, global};
use opentelemetry_otlp::{
    MetricExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::SdkTracerProvider;
use windlass_core::secret::mask_url_parts;

pub(crate) use lines::Correlated;
use sending::Sending;

/// Time to wait at a command's end for the last spans to be sent: five seconds.
const FLUSH: Duration = Duration::from_secs(5);

/// The exporters. Dropping it waits for the last exports.
pub(crate) struct Telemetry {
    spans: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

impl Telemetry {
    /// Installs the exporters, if the environment wants them.
    pub(crate) fn start() -> Option<Self> {
        let given = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let disabled = given("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if disabled || given("OTEL_SERVICE_NAME").is_none() || given("OTEL_EXPORTER_OTLP_ENDPOINT").is_none()
        {
            return None;
        }
        mask_credentials();
        match Self::install() {
            Ok(telemetry) => Some(telemetry),
            Err(error) => {
                crate::out::note(format_args!("no telemetry: {error}"));
                None
            }
        }
    }

    fn install() -> Result<Self, Box<dyn std::error::Error>> {
        let sending = Sending::start()?;
        let spans = SpanExporter::builder()
            .with_http()
            .with_http_client(sending.clone())
            .with_protocol(Protocol::HttpBinary)
            .build()?;
        let metrics = MetricExporter::builder()
            .with_http()
            .with_http_client(sending)
            .with_protocol(Protocol::HttpBinary)
            .build()?;
        let spans = SdkTracerProvider::builder().with_batch_exporter(spans).build();
        let metrics = SdkMeterProvider::builder().with_periodic_exporter(metrics).build();
        global::set_text_map_propagator(TraceContextPropagator::new());
        global::set_tracer_provider(spans.clone());
        global::set_meter_provider(metrics.clone());
        windlass_runtime::set_telemetry(true);
        Ok(Self { spans, metrics })
    }

    /// The parent span from `TRACEPARENT`, if set.
    pub(crate) fn parent_context() -> Context {
        let names = ["TRACEPARENT", "TRACESTATE"];
        let fields =
            names.into_iter().filter_map(|name| Some((name.to_lowercase(), std::env::var(name).ok()?)));
        let fields: HashMap<String, String> = fields.collect();
        global::get_text_map_propagator(|propagator| propagator.extract(&fields))
    }
}

/// The SDK reads headers and addresses by itself; what it sends there must not be logged or repeated.
fn mask_credentials() {
    for kind in ["", "TRACES_", "METRICS_", "LOGS_"] {
        let given =
            |what: &str| std::env::var(format!("OTEL_EXPORTER_OTLP_{kind}{what}")).unwrap_or_default();
        mask_url_parts(&given("ENDPOINT"));
        for (_, value) in given("HEADERS").split(',').filter_map(|header| header.split_once('=')) {
            mask_url_parts(&format!("?header={value}"));
        }
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        windlass_runtime::set_telemetry(false);
        let ends = [self.spans.shutdown_with_timeout(FLUSH), self.metrics.shutdown_with_timeout(FLUSH)];
        if let Some(error) = ends.into_iter().find_map(Result::err) {
            tracing::warn!("the last telemetry could not be exported: {error}");
        }
    }
}
