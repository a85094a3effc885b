//! Owns what the end of a response means: its status becomes a stop reason or a failure.
//!
//! Source: API reference, "The response object" (`status`, `incomplete_details`, `error`), and "Streaming events" (`error`).

use std::borrow::Cow;

use windlass_core::model::{FailureKind, StopReason};

use super::shapes::Fields;
use crate::http::{ErrorWords, Report, cut, report_of};
use crate::wires::{DecodeError, openai_chat, quoted};

/// The most bytes of a reported error that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// The code of an error that says that the provider does not have the response any more that a request goes on from.
const FORGOTTEN: &str = "previous_response_not_found";

/// Error wordings of the API's servers: those of Chat Completions, and the codes of an overloaded server.
pub(super) static ERRORS: ErrorWords = ErrorWords {
    calls: &["function_call", "tool_calls"],
    schemas: &[
        "text.format",
        "response_format",
        "json_schema",
        "json schema",
        "structured output",
        "grammar",
        "initialize samplers",
    ],
    overloaded: &["overloaded", "slow_down"],
    ..openai_chat::ERRORS
};

/// Why a response stopped. `status` stands in for its own where a server leaves that out.
///
/// # Errors
/// It failed, was cancelled or never made, or its status or reason is unknown.
pub(super) fn stop_reason(
    response: &Fields<'_>,
    status: &str,
    refused: bool,
) -> Result<StopReason, DecodeError> {
    if let Some(error) = reported(response) {
        return Err(error);
    }
    let done = if refused { StopReason::Refused } else { StopReason::Stop };
    match &*response.text("status").unwrap_or(Cow::Borrowed(status)) {
        "completed" => Ok(done),
        "incomplete" => incomplete(response),
        "failed" => Err(server("the provider says that the response failed, and not why")),
        "cancelled" => Err(DecodeError::protocol("the provider cancelled the response")),
        status @ ("queued" | "in_progress") => Err(DecodeError::protocol(format!(
            "the provider has not made the response yet (status `{status}`): a reply in the background was not asked for"
        ))),
        status => Err(DecodeError::protocol(format!(
            "the response ended with the unknown status `{}`",
            cut(status)
        ))),
    }
}

fn incomplete(response: &Fields<'_>) -> Result<StopReason, DecodeError> {
    let details = response.object("incomplete_details");
    match details.and_then(|details| details.text("reason")).as_deref() {
        Some("max_output_tokens" | "max_tokens") => Ok(StopReason::Length),
        Some("content_filter") => Ok(StopReason::Filtered),
        Some(reason) => Err(DecodeError::protocol(format!(
            "the response is incomplete for the unknown reason `{}`",
            cut(reason)
        ))),
        None => {
            Err(DecodeError::protocol("the response is incomplete for no reason that the provider names"))
        }
    }
}

fn server(message: &str) -> DecodeError {
    DecodeError { kind: FailureKind::Server, ..DecodeError::protocol(message) }
}

/// The error in an object's `error` field.
pub(super) fn reported(object: &Fields<'_>) -> Option<DecodeError> {
    Some(failure(&read(object.get("error")?.get())))
}

/// An event of the type `error`: its words stand in it, or in its `error` field.
pub(super) fn error_event(event: &Fields<'_>, data: &[u8]) -> DecodeError {
    if let Some(error) = reported(event) {
        return error;
    }
    let message = event.text("message").map_or_else(|| quoted(data), |words| cut(&words));
    let code = event.text("code").unwrap_or_default().into_owned();
    let status = event.number("status").or_else(|| event.number("code"));
    let status = status.and_then(|status| u16::try_from(status).ok());
    failure(&Report::of_words(&message, &code, status.filter(|status| (400..600).contains(status))))
}

/// The value of an `error` field, shortened if it is too long.
fn read(json: &str) -> Report {
    let head = json.get(..json.floor_char_boundary(MAX_ERROR_BYTES)).unwrap_or_default();
    let value = serde_json::from_str(if head.len() < json.len() { "" } else { json });
    report_of(&value.unwrap_or_else(|_| head.into()))
}

/// Sorts an error that came where the status was 200.
fn failure(report: &Report) -> DecodeError {
    let sorted = DecodeError::reported(report.clone(), &ERRORS);
    let unsorted = report.status.is_none() && sorted.kind == FailureKind::Server;
    let known = failure_kind(report).or_else(|| if unsorted { kind_by_code(&report.code) } else { None });
    DecodeError { kind: known.unwrap_or(sorted.kind), ..sorted }
}

/// The kind that a code tells where there is no status (API reference, "The response object", `error.code`; guide "Error
/// codes"). Codes of the request at fault are many; those of the server are `server_error` and timeouts.
fn kind_by_code(code: &str) -> Option<FailureKind> {
    const AUTH: [&str; 3] = ["api_key", "authentication", "permission"];
    const AT_FAULT: [&str; 7] =
        ["invalid", "image", "policy", "unsupported", "mismatch", "not_found", "bad_request"];
    let says = |parts: &[&str]| parts.iter().any(|part| code.contains(part));
    if says(&AUTH) {
        return Some(FailureKind::Auth);
    }
    says(&AT_FAULT).then_some(FailureKind::BadRequest)
}

/// The kind of an error that no other API has: a response that was stored and is gone. The next try sends the whole
/// conversation, so that it may succeed.
pub(super) fn failure_kind(report: &Report) -> Option<FailureKind> {
    let gone = report.code == FORGOTTEN
        || report.message.contains("previous_response_id")
        || (report.message.contains("Previous response") && report.message.contains("not found"));
    gone.then_some(FailureKind::Server)
}

#[cfg(test)]
mod tests;
