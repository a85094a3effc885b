//! Traces: a run that a request begins belongs to the trace of its client (W3C Trace Context, E60).

use std::collections::HashMap;

use http::HeaderMap;
use opentelemetry::{Context, global};

/// The span of the client. Without one, or where the process keeps no traces: none.
pub(crate) fn parent(headers: &HeaderMap) -> Context {
    let text = |name: &str| Some((name.to_owned(), headers.get(name)?.to_str().ok()?.to_owned()));
    let carrier: HashMap<String, String> =
        ["traceparent", "tracestate"].into_iter().filter_map(text).collect();
    if carrier.is_empty() {
        return Context::current();
    }
    global::get_text_map_propagator(|propagator| propagator.extract(&carrier))
}
