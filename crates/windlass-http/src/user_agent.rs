//! The `User-Agent` of every request, and of the request to a proxy for a tunnel.

use http::HeaderValue;

pub(crate) fn user_agent() -> HeaderValue {
    HeaderValue::from_static(concat!("windlass/", env!("CARGO_PKG_VERSION")))
}
