//! The span that a call belongs to, passed on to servers (W3C Trace Context).

use std::collections::HashMap;

/// The fields of the current span's context, such as `traceparent`. Empty: there is no span.
#[cfg(feature = "otel")]
pub(crate) fn fields() -> HashMap<String, String> {
    use opentelemetry::trace::TraceContextExt;
    use opentelemetry::{Context, global};

    let mut fields = HashMap::new();
    if Context::map_current(TraceContextExt::has_active_span) {
        global::get_text_map_propagator(|propagator| propagator.inject(&mut fields));
    }
    fields
}

/// Without OpenTelemetry there is no span.
#[cfg(not(feature = "otel"))]
pub(crate) fn fields() -> HashMap<String, String> {
    HashMap::new()
}
