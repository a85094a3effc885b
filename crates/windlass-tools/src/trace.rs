//! Which span a call belongs to, for whoever is called (W3C Trace Context).

use std::collections::HashMap;

use opentelemetry::trace::TraceContextExt;
use opentelemetry::{Context, global};

/// The fields of the current span's context, such as `traceparent`. Empty: there is none.
pub(crate) fn fields() -> HashMap<String, String> {
    let mut fields = HashMap::new();
    if Context::map_current(TraceContextExt::has_active_span) {
        global::get_text_map_propagator(|propagator| propagator.inject(&mut fields));
    }
    fields
}
