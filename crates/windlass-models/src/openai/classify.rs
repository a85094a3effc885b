//! Owns what a provider's error means: its status, words and `Retry-After` become a [`FailureKind`] and a wait.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde_json::Value;
use windlass_core::FailureKind;

/// The longest wait that a `Retry-After` is believed, in milliseconds: a day.
const MAX_RETRY_AFTER_MS: u64 = 24 * 60 * 60 * 1000;

/// The most characters of an error body that a message keeps.
const MAX_MESSAGE_CHARS: usize = 2000;

/// What an error body says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// Its words.
    pub(super) message: String,
    /// Its code or type, such as `context_length_exceeded`.
    pub(super) code: String,
    /// The status that it names itself.
    pub(super) status: Option<u16>,
}

/// Reads an error body: `{"error":{"message":…}}`, `{"error":"…"}`, `{"message":…}`, `{"detail":…}`, or plain text.
pub(super) fn report(body: &[u8]) -> Report {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => report_of(value.get("error").filter(|error| !error.is_null()).unwrap_or(&value)),
        Err(_) => Report { message: cut(String::from_utf8_lossy(body).trim()), ..Report::default() },
    }
}

/// Reads the value of an `error` field.
pub(super) fn report_of(error: &Value) -> Report {
    let text = |key: &str| error.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let message =
        error.as_str().or_else(|| text("message")).or_else(|| text("detail")).or_else(|| text("error"));
    let code = text("code").or_else(|| text("type")).unwrap_or_default();
    let number = error.get("code").or_else(|| error.get("status")).and_then(Value::as_u64);
    Report {
        message: message.map_or_else(|| cut(&error.to_string()), cut),
        code: code.to_owned(),
        status: number
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| (400..600).contains(status)),
    }
}

/// The first characters of a foreign text, for an error.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The kind of a failure with a status (RFC 9110, 15; 529 is Anthropic's "overloaded").
pub(super) fn kind_of(status: u16, report: &Report) -> FailureKind {
    match status {
        429 => FailureKind::RateLimited,
        503 | 529 => FailureKind::Overloaded,
        401 | 403 => FailureKind::Auth,
        404 => FailureKind::NotFound,
        408 => FailureKind::Timeout,
        // llama-server says 500 where a template or grammar cannot do tools, and some gateways for a full context.
        500..=599 => kind_by_words(report).unwrap_or(FailureKind::Server),
        400..=499 => kind_by_words(report).unwrap_or(FailureKind::BadRequest),
        _ => FailureKind::Protocol,
    }
}

/// What the provider's code or words say beyond the status.
pub(super) fn kind_by_words(report: &Report) -> Option<FailureKind> {
    let words = report.message.to_lowercase();
    let code = report.code.to_lowercase();
    let says = |any: &[&str]| any.iter().any(|part| words.contains(part) || code.contains(part));
    let context = [
        "context_length_exceeded",
        "maximum context length",
        "exceeds the available context size",
        "exceed_context_size",
        "context window",
        "context size",
        "prompt is too long",
        "input is too long",
        "too many tokens in prompt",
    ];
    if says(&context) {
        return Some(FailureKind::ContextLength);
    }
    let tools =
        ["tool_choice", "tool choice", "tools", "tool use", "tool calling", "tool_calls", "function calling"];
    let refuses = [
        "not support",
        "unsupported",
        "does not accept",
        "not available",
        "not allowed",
        "requires --jinja",
        "requires --enable-auto-tool-choice",
        "not implemented",
    ];
    if says(&tools) && says(&refuses) {
        return Some(FailureKind::Unsupported);
    }
    if says(&["rate_limit_exceeded", "rate limit"]) {
        return Some(FailureKind::RateLimited);
    }
    says(&["overloaded"]).then_some(FailureKind::Overloaded)
}

/// How long the provider asks us to wait, in milliseconds: `retry-after-ms`, or `Retry-After` in seconds or as a date
/// (RFC 9110, 10.2.3). A date that has passed is no wait.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let ms = text("retry-after-ms").and_then(|ms| ms.parse::<f64>().ok()).filter(|ms| *ms >= 0.0);
    let wait = match (ms, text("retry-after")) {
        (Some(ms), _) => ms as u64,
        (None, Some(after)) => match after.parse::<f64>() {
            Ok(seconds) if seconds >= 0.0 => (seconds * 1000.0) as u64,
            Ok(_) => return None,
            Err(_) => {
                let at = httpdate::parse_http_date(after).ok()?;
                at.duration_since(now).unwrap_or(Duration::ZERO).as_millis() as u64
            }
        },
        (None, None) => return None,
    };
    Some(wait.min(MAX_RETRY_AFTER_MS))
}

#[cfg(test)]
mod tests;
