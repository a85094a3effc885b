//! Log lines that say which span they belong to.

use std::fmt;

use opentelemetry::Context;
use opentelemetry::trace::TraceContextExt as _;
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{Format, FormatEvent, FormatFields, Full, Writer};
use tracing_subscriber::registry::LookupSpan;

/// The usual form, with `trace_id` and `span_id` before it where a span is told of.
#[derive(Debug, Default)]
pub(crate) struct Correlated(Format<Full>);

impl<S, N> FormatEvent<S, N> for Correlated
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let now = Context::current();
        let span = now.span();
        let ids = span.span_context();
        if ids.is_valid() {
            write!(writer, "trace_id={} span_id={} ", ids.trace_id(), ids.span_id())?;
        }
        self.0.format_event(context, writer, event)
    }
}
