//! Owns the words for what goes wrong between the request and the reply.

use std::pin::pin;
use std::time::SystemTime;

use http::HeaderMap;
use http::header::{LOCATION, RETRY_AFTER};
use windlass_core::model::FailureKind;
use windlass_error::in_full;
use windlass_http::{Answer, HttpError};

use super::failure::{Report, is_passing, report};
use super::hints::{page_words, web_page};
use super::rate_limits::{reset, retry_after};
use super::received::READ_BYTES;
use super::timeouts::Watch;

/// The most bytes of an error body in which its words are looked for.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The wait that a `Retry-After` asks for which names no time, in milliseconds.
const UNREADABLE_WAIT_MS: u64 = 1_000;

/// A reply that is an error.
pub(super) struct Refused {
    pub(super) status: u16,
    headers: HeaderMap,
    pub(super) report: Report,
    /// The body, as far as it was read.
    pub(super) data: Vec<u8>,
}

/// Reads what an error response says.
pub(super) async fn read_refusal(answer: Answer, watch: &mut Watch) -> Refused {
    let Answer { status, headers, mut body } = answer;
    let mut data = Vec::new();
    while data.len() < READ_BYTES {
        // What can be read of it is enough: the status is known.
        let Ok(Some(Ok(bytes))) = watch.guard(pin!(body.next())).await else { break };
        let room = READ_BYTES - data.len();
        data.extend_from_slice(bytes.get(..room).unwrap_or(&bytes));
    }
    let read = data.get(..MAX_ERROR_BYTES).unwrap_or(&data);
    let mut report = report(read);
    if let Some(page) = web_page(read) {
        // A gateway that has no answer of the API says so with a page of its own.
        report.message = if status.is_server_error() { page } else { page_words(&page) };
    }
    if report.message.is_empty() {
        status.canonical_reason().unwrap_or("no words").clone_into(&mut report.message);
    }
    if let Some(location) = headers.get(LOCATION).and_then(|to| to.to_str().ok()) {
        report.message = format!("the server redirects to {location}: use that as base_url");
    }
    report.message = format!("{} ({})", report.message, status.as_u16());
    Refused { status: status.as_u16(), headers, report, data }
}

impl Refused {
    /// The part of the body that may say something.
    pub(super) fn read(&self) -> &[u8] {
        self.data.get(..MAX_ERROR_BYTES).unwrap_or(&self.data)
    }

    /// The wait that it asks for, in milliseconds. Its headers may ask for one outright. A failure that passes lasts until then and
    /// as its words say, or else until the limit is reset that it is about; a wait does not end one that is final.
    pub(super) fn retry_after_ms(&self, kind: FailureKind) -> Option<u64> {
        let (now, report) = (SystemTime::now(), &self.report);
        if !is_passing(kind) {
            return retry_after(&self.headers, now);
        }
        if report.is_final {
            return None;
        }
        let asked = retry_after(&self.headers, now).max(report.wait(kind));
        let stated = asked.or_else(|| reset(&self.headers, &report.message, now));
        // A time that cannot be read or does not exist still asks for a wait.
        stated.or_else(|| self.headers.contains_key(RETRY_AFTER).then_some(UNREADABLE_WAIT_MS))
    }
}

/// The cause of a failed exchange. The limit for a connection is named by its key.
pub(super) fn unanswered(error: &HttpError) -> String {
    let is_late = matches!(error, HttpError::ConnectTimeout { .. });
    in_full(error) + if is_late { " (`timeouts.connect_ms`)" } else { "" }
}
