//! Owns the words for what goes wrong between the request and the reply.

use std::time::SystemTime;

use futures_util::StreamExt;
use reqwest::Response;
use reqwest::header::LOCATION;

use super::Server;
use super::classify::{Report, report, retry_after};
use super::watch::Watch;

/// The most bytes of an error body that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// What an error response says: its status, the wait it asks for, and its words.
pub(super) async fn read_refusal(response: Response, watch: &mut Watch) -> (u16, Option<u64>, Report) {
    let status = response.status();
    let wait = retry_after(response.headers(), SystemTime::now());
    let location = response.headers().get(LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
    let mut data = Vec::new();
    let mut body = Box::pin(response.bytes_stream());
    while data.len() < MAX_ERROR_BYTES {
        // What can be read of it is enough: the status is known.
        let Ok(Some(Ok(bytes))) = watch.guard(body.next()).await else { break };
        let room = MAX_ERROR_BYTES - data.len();
        data.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
    }
    let mut report = report(&data);
    if report.message.is_empty() {
        status.canonical_reason().unwrap_or("no words").clone_into(&mut report.message);
    }
    if let Some(location) = location {
        report.message = format!("the server sends to {location}: use that as base_url");
    }
    report.message = format!("{} ({})", report.message, status.as_u16());
    (status.as_u16(), wait, report)
}

/// The words for a request without a reply: they name the host (E45).
pub(super) fn unsent(server: &Server, error: &reqwest::Error) -> String {
    let host = &server.endpoint.host;
    let why = causes(error);
    if error.is_connect() && error.is_timeout() {
        return format!("no connection to {host} within {} ms", server.timeouts.connect_ms);
    }
    if error.is_connect() && is_tls(error) {
        return format!("no TLS connection to {host}: {why}");
    }
    if error.is_connect() {
        return format!("no connection to {host}: {why}");
    }
    format!("no reply from {host}: {why}")
}

/// Whether TLS is what failed.
fn is_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    if error.is::<rustls::Error>() {
        return true;
    }
    // An I/O error's `source` skips the error that it wraps.
    let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    wrapped.is_some_and(|wrapped| is_tls(wrapped)) || error.source().is_some_and(is_tls)
}

/// The causes of a client's error, from the outside in, without the address that its own text repeats and without
/// the layer that only says that the client failed.
pub(super) fn causes(error: &reqwest::Error) -> String {
    let Some(mut source) = std::error::Error::source(error) else { return error.to_string() };
    while let Some(inner) = source.source().filter(|_| source.to_string().starts_with("client error")) {
        source = inner;
    }
    chain(source)
}

/// An error and its causes; a cause that its wrapper has already told is left out.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !words.contains(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        next = cause.source();
    }
    words
}
