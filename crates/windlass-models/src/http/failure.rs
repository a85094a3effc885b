//! Owns what a provider's error means: its status and words become a [`FailureKind`] and a [`Refusal`].

use serde_json::Value;
use windlass_core::model::{FailureKind, Refusal};

use super::rate_limits::retry_info;

/// The most characters of an error body that a message keeps.
const MAX_MESSAGE_CHARS: usize = 2000;

/// Content of an error body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Its words.
    pub message: String,
    /// Its code or type, such as `context_length_exceeded`.
    pub code: String,
    /// The status that it names itself.
    pub status: Option<u16>,
    /// The wait that its details ask for, in milliseconds.
    pub retry_after_ms: Option<u64>,
}

/// Google's words for a key that is no good, which come with the status 400.
const BAD_KEY: [&str; 2] = ["api key not valid", "api key expired"];

/// The words by which the servers of one wire tell what their statuses do not. All are in lower case, and are looked for
/// anywhere in an error's message or code.
#[derive(Clone, Copy, Debug)]
pub struct ErrorWords {
    /// The conversation is longer than the model's window.
    pub context_length: &'static [&'static str],
    /// Names of tools as such.
    pub tools: &'static [&'static str],
    /// Names of a forced choice of a tool.
    pub tool_choice: &'static [&'static str],
    /// Names of the field for calls. Together with a word of `unsupported` they mean tools; alone they more often mean an
    /// invalid history.
    pub calls: &'static [&'static str],
    /// Something is not supported. Beside a name of tools, the failure is [`FailureKind::Unsupported`].
    pub unsupported: &'static [&'static str],
    /// Too many requests.
    pub rate_limited: &'static [&'static str],
    /// Too much work at the provider.
    pub overloaded: &'static [&'static str],
}

impl ErrorWords {
    /// The kind of a failure with a status (RFC 9110, 15; 529 is Anthropic's "overloaded").
    pub fn kind(&self, status: u16, report: &Report) -> FailureKind {
        match status {
            429 => FailureKind::RateLimited,
            503 | 529 => FailureKind::Overloaded,
            401 | 403 => FailureKind::Auth,
            404 => FailureKind::NotFound,
            408 => FailureKind::Timeout,
            // llama-server says 500 where a template or grammar cannot do tools, and some gateways for a full context.
            500..=599 => self.kind_by_words(report).unwrap_or(FailureKind::Server),
            400..=499 => self.kind_by_words(report).unwrap_or(FailureKind::BadRequest),
            _ => FailureKind::Protocol,
        }
    }

    /// The kind that the provider's code or words tell beyond the status.
    pub fn kind_by_words(&self, report: &Report) -> Option<FailureKind> {
        let words = report.message.to_lowercase();
        let code = report.code.to_lowercase();
        let says = |any: &[&str]| any.iter().any(|part| words.contains(part) || code.contains(part));
        if says(self.context_length) {
            return Some(FailureKind::ContextLength);
        }
        if says(&BAD_KEY) {
            return Some(FailureKind::Auth);
        }
        let names_tools = says(self.tools) || says(self.tool_choice) || says(self.calls);
        if names_tools && says(self.unsupported) {
            return Some(FailureKind::Unsupported);
        }
        if says(self.rate_limited) {
            return Some(FailureKind::RateLimited);
        }
        says(self.overloaded).then_some(FailureKind::Overloaded)
    }

    /// The part of the request that the server refuses: something unsupported, or a request at fault (400, 422) whose
    /// words name tools.
    pub fn refusal(&self, kind: FailureKind, status: Option<u16>, message: &str) -> Option<Refusal> {
        let unsupported = kind == FailureKind::Unsupported;
        let at_fault = kind == FailureKind::BadRequest && matches!(status, Some(400 | 422));
        if !unsupported && !at_fault {
            return None;
        }
        let words = message.to_lowercase();
        let says = |any: &[&str]| any.iter().any(|part| words.contains(part));
        if says(self.tool_choice) {
            return Some(Refusal::ToolChoice);
        }
        (unsupported || says(self.tools)).then_some(Refusal::Tools)
    }
}

/// Reads an error body: `{"error":{"message":…}}`, `{"error":"…"}`, `{"message":…}`, `{"detail":…}`, or plain text.
pub(crate) fn report(body: &[u8]) -> Report {
    match serde_json::from_slice::<Value>(body) {
        // Google answers a streaming call with a list that holds the error.
        Ok(value) => {
            let value = value.get(0).unwrap_or(&value);
            report_of(value.get("error").filter(|error| !error.is_null()).unwrap_or(value))
        }
        Err(_) => Report { message: cut(String::from_utf8_lossy(body).trim()), ..Report::default() },
    }
}

/// Reads the value of an `error` field.
pub(crate) fn report_of(error: &Value) -> Report {
    let text = |key: &str| error.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let message =
        error.as_str().or_else(|| text("message")).or_else(|| text("detail")).or_else(|| text("error"));
    // Google's code is a number, and its status the word for it.
    let code = text("code").or_else(|| text("type")).or_else(|| text("status")).unwrap_or_default();
    let number = error.get("code").or_else(|| error.get("status")).and_then(Value::as_u64);
    Report {
        message: message.map_or_else(|| cut(&error.to_string()), cut),
        code: code.to_owned(),
        status: number
            .and_then(|status| u16::try_from(status).ok())
            .filter(|status| (400..600).contains(status)),
        retry_after_ms: retry_info(error),
    }
}

/// The first characters of a foreign text, for an error.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE_CHARS) {
        Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
