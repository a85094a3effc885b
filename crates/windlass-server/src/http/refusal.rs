//! Errors as replies: the one table from kind and code to status, and the one body.

use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde_json::{Value, json};
use windlass_api::{ErrorBody, Fault};
use windlass_error::{Diagnostic, Kind, in_full};
use windlass_runtime::host::HostError;
use windlass_runtime::{Error as RunError, host};
use windlass_store::StoreError;
use windlass_text::secret::mask;

use super::reply::json_reply;
use crate::error::Error;

/// How long a client waits that was refused without a time, in seconds.
const RETRY_AFTER_S: u64 = 1;

/// The status of an error, by its code where the protocol has a better one than its kind's.
pub(crate) fn status(error: &dyn Diagnostic) -> StatusCode {
    match error.code() {
        "token.missing" | "token.unknown" | "token.expired" => StatusCode::UNAUTHORIZED,
        "token.file" => StatusCode::SERVICE_UNAVAILABLE,
        "request.host" => StatusCode::MISDIRECTED_REQUEST,
        "request.method" => StatusCode::METHOD_NOT_ALLOWED,
        "request.media_type" => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "request.too_large" => StatusCode::PAYLOAD_TOO_LARGE,
        "request.head_too_large" => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        "request.path_too_long" => StatusCode::URI_TOO_LONG,
        "request.version" => StatusCode::HTTP_VERSION_NOT_SUPPORTED,
        "request.slow" => StatusCode::REQUEST_TIMEOUT,
        "run.no_such_event" => StatusCode::GONE,
        // The disk is full, or a run has lost too many attempts: waiting for a while helps no client.
        "store.full" => StatusCode::INSUFFICIENT_STORAGE,
        "run.lost_attempts" => StatusCode::CONFLICT,
        _ => match error.kind() {
            Kind::Invalid => StatusCode::BAD_REQUEST,
            Kind::NotFound => StatusCode::NOT_FOUND,
            Kind::Conflict => StatusCode::CONFLICT,
            Kind::Forbidden => StatusCode::FORBIDDEN,
            Kind::Exhausted => StatusCode::TOO_MANY_REQUESTS,
            Kind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Kind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        },
    }
}

/// An error as clients are told it: secrets are masked.
pub(crate) fn fault(error: &Error) -> Fault {
    Fault {
        kind: error.kind().name().to_owned(),
        code: error.code().to_owned(),
        message: mask(&in_full(error)).into_owned(),
        help: error.help().map(|help| mask(&help).into_owned()),
        details: details(error),
    }
}

/// The values of an error that a program needs.
fn details(error: &Error) -> Option<Value> {
    match error {
        Error::Limit { limit, used, max, retry_after, .. } => {
            Some(json!({ "limit": limit, "used": used, "max": max, "retry_after_s": retry_after }))
        }
        Error::Run(RunError::Host(HostError::Full { waiting })) => {
            Some(json!({ "limit": "waiting runs", "used": waiting }))
        }
        Error::Run(RunError::Host(HostError::MovedOn { seen, version, changes, .. })) => {
            Some(json!({ "seen": seen, "version": version, "changes": changes }))
        }
        Error::Run(RunError::Host(HostError::QuestionChanged { question, text, .. })) => {
            Some(json!({ "question": question, "text": text }))
        }
        Error::Run(RunError::NoSuchEvent { version, .. }) => {
            let latest = host::Position::after(*version).to_string();
            Some(json!({ "earliest": host::Position::default().to_string(), "latest": latest }))
        }
        Error::Run(
            RunError::KeyReused { run, .. }
            | RunError::Repeated { run }
            | RunError::Log(StoreError::KeyReused { run, .. }),
        ) => Some(json!({ "run": run })),
        Error::Run(RunError::MessageQueued { behind, run, .. }) => {
            Some(json!({ "run": run, "behind": behind }))
        }
        _ => None,
    }
}

/// The time after which a refused request may be tried again, in seconds; `None`: trying again does not help.
fn retry_after(error: &Error, status: StatusCode) -> Option<u64> {
    match error {
        Error::Limit { retry_after, .. } => Some(*retry_after),
        _ if status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::SERVICE_UNAVAILABLE => {
            Some(RETRY_AFTER_S)
        }
        _ => None,
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = status(&self);
        if status.is_server_error() {
            tracing::warn!(code = self.code(), "a request failed: {}", mask(&in_full(&self)));
        }
        let mut reply = json_reply(status, &ErrorBody { error: fault(&self) });
        let headers = reply.headers_mut();
        if let Some(seconds) = retry_after(&self, status) {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        match &self {
            Self::NoToken | Self::UnknownToken | Self::ExpiredToken { .. } => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            // The rest of the body is not read.
            Self::TooLarge { .. }
            | Self::Slow { .. }
            | Self::Cut { .. }
            | Self::Head { .. }
            | Self::HeadTooLarge
            | Self::PathTooLong
            | Self::Version
            | Self::Connections { .. }
            | Self::Closing => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        reply
    }
}

/// The reply to a method that a path does not take, with those that it takes (RFC 9110, 15.5.6).
pub(crate) fn not_allowed(path: &str, method: &str, allowed: &str) -> Response {
    let mut reply = Error::Method { path: path.to_owned(), method: method.to_owned() }.into_response();
    if let Ok(allowed) = HeaderValue::from_str(allowed) {
        reply.headers_mut().insert(ALLOW, allowed);
    }
    reply
}
