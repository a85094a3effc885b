//! Owns what a provider's error means: its status and words become a [`FailureKind`] and a [`Refusal`].

use std::time::SystemTime;

use serde_json::Value;
use windlass_core::model::{FailureKind, Refusal};

use super::rate_limits::{RetryAdvice, retry_advice};

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
    /// The wait that its details or words ask for, in milliseconds. It counts where the failure is one that a wait ends.
    pub retry_after_ms: Option<u64>,
    /// It is about a quota that no wait refills.
    pub is_final: bool,
}

/// Google's and xAI's words for a key that is no good, which come with the status 400.
const BAD_KEY: [&str; 3] = ["api key not valid", "api key expired", "incorrect api key"];

/// OpenAI's code for an unknown model, which its Responses API sends with the status 400. Another model may be known.
const NO_MODEL: &str = "model_not_found";

/// Words and codes of a quota that is used up, in lower case, also where the status says otherwise: Anthropic's limit on spending
/// comes with 400 ("Rate limits", "Spend limits"), OpenAI's within a stream ("Error codes"), those of Bedrock and Qwen by their codes
/// ("ThrottlingException"; DashScope, "Error messages").
const QUOTA: [&str; 9] = [
    "specified api usage limits",
    "regain access",
    "exceeded your current quota",
    "insufficient_quota",
    "usage limit has been reached",
    "usage_limit_reached",
    "billing_hard_limit",
    "throttling",
    "limit_requests",
];

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
    /// Names of schemas of replies, and of the grammars that servers make of them.
    pub schemas: &'static [&'static str],
    /// Something is not supported. Beside a name of tools or schemas, the failure is [`FailureKind::Unsupported`].
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
            // 498 is Groq's "flex tier capacity exceeded".
            498 | 503 | 529 => FailureKind::Overloaded,
            // 402: the account has no money left. Another model may have.
            401..=403 => FailureKind::Auth,
            404 => FailureKind::NotFound,
            408 => FailureKind::Timeout,
            // llama-server says 500 where a template or grammar cannot do tools, and some gateways for a full context.
            500..=599 => self.kind_by_words(report).unwrap_or(FailureKind::Server),
            400..=499 => self.kind_by_words(report).unwrap_or(FailureKind::BadRequest),
            _ => FailureKind::Protocol,
        }
    }

    /// The kind of an error that stands in a reply whose own status is 200: by the status that it names, else by its words and
    /// code, else a fault of the server.
    pub fn reported_kind(&self, report: &Report) -> FailureKind {
        match report.status {
            Some(status) => self.kind(status, report),
            None => self
                .kind_by_words(report)
                .or_else(|| kind_by_code(&report.code))
                .unwrap_or(FailureKind::Server),
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
        if code == NO_MODEL {
            return Some(FailureKind::NotFound);
        }
        let names = [self.tools, self.tool_choice, self.calls, self.schemas];
        if names.into_iter().any(says) && says(self.unsupported) {
            return Some(FailureKind::Unsupported);
        }
        if says(self.rate_limited) || says(&QUOTA) {
            return Some(FailureKind::RateLimited);
        }
        says(self.overloaded).then_some(FailureKind::Overloaded)
    }

    /// The part of the request that the server refuses: something unsupported, or a request at fault (400, 422) whose
    /// words name tools or schemas.
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
        if says(self.schemas) && !says(self.tools) && !says(self.calls) {
            return Some(Refusal::Schema);
        }
        (unsupported || says(self.tools)).then_some(Refusal::Tools)
    }
}

/// Parts of codes of errors that no second try makes good, with their kind (OpenAI, "Error codes"; Azure, "Content filtering";
/// Google, "Error model").
const CODES: [(&str, FailureKind); 14] = [
    ("content_filter", FailureKind::BadRequest),
    ("content_policy", FailureKind::BadRequest),
    ("contentfilter", FailureKind::BadRequest),
    ("invalid_request", FailureKind::BadRequest),
    ("invalid_argument", FailureKind::BadRequest),
    ("bad_request", FailureKind::BadRequest),
    ("badrequest", FailureKind::BadRequest),
    ("authentication", FailureKind::Auth),
    ("unauthorized", FailureKind::Auth),
    ("invalid_api_key", FailureKind::Auth),
    ("permission", FailureKind::Auth),
    ("forbidden", FailureKind::Auth),
    ("insufficient_quota", FailureKind::RateLimited),
    ("not_found", FailureKind::NotFound),
];

fn kind_by_code(code: &str) -> Option<FailureKind> {
    let code = code.to_lowercase();
    CODES.iter().find(|(part, _)| code.contains(part)).map(|(_, kind)| *kind)
}

/// Reads an error body: `{"error":{"message":…}}`, the same in a list, `{"error":"…"}`, `{"message":…}`, `{"detail":…}`, or plain
/// text.
pub(crate) fn report(body: &[u8]) -> Report {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => report_of(&error_in(value)),
        Err(_) => Report::of_words(&String::from_utf8_lossy(body), "", None),
    }
}

/// The error in a body: the value of its `error` field, or all of it.
pub(crate) fn error_in(body: Value) -> Value {
    let mut body = body;
    // Gemini's compatible API puts its error into a list.
    if let Some([only]) = body.as_array_mut().map(Vec::as_mut_slice) {
        body = only.take();
    }
    match body.get_mut("error").map(Value::take) {
        Some(error) if !error.is_null() => error,
        _ => body,
    }
}

/// Reads the value of an `error` field.
pub(crate) fn report_of(error: &Value) -> Report {
    let text = |key: &str| error.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let message =
        error.as_str().or_else(|| text("message")).or_else(|| text("detail")).or_else(|| text("error"));
    let code = text("code").or_else(|| text("type")).or_else(|| text("status")).unwrap_or_default();
    // Azure names a word as the code and the status beside it; Groq says `status_code`.
    let numbers = ["code", "status", "status_code"].into_iter();
    let mut numbers = numbers.filter_map(|key| error.get(key).and_then(Value::as_u64));
    let status = numbers.find_map(|number| u16::try_from(number).ok().filter(|s| (400..600).contains(s)));
    let message = message.map_or_else(|| cut(&error.to_string()), cut);
    // OpenAI may name the refused tool here alone.
    let place = text("param").filter(|place| place.starts_with("tools") && !message.contains(place));
    let message = place.map_or_else(|| message.clone(), |place| format!("{message} ({})", cut(place)));
    Report::new(with_source(message, error), code, status, error)
}

impl Report {
    /// An error of words alone, with the code and the status that it names.
    pub(crate) fn of_words(words: &str, code: &str, status: Option<u16>) -> Self {
        Self::new(cut(words.trim()), code, status, &Value::Null)
    }

    fn new(message: String, code: &str, status: Option<u16>, error: &Value) -> Self {
        let advice = retry_advice(error, code, &message, SystemTime::now());
        let retry_after_ms = match advice {
            Some(RetryAdvice::Wait(ms)) => Some(ms),
            Some(RetryAdvice::Never) | None => None,
        };
        Self {
            message,
            code: code.to_owned(),
            status,
            retry_after_ms,
            is_final: advice == Some(RetryAdvice::Never),
        }
    }

    /// The wait that it asks for, in milliseconds, if a wait ends failures of this kind.
    pub(crate) fn wait(&self, kind: FailureKind) -> Option<u64> {
        self.retry_after_ms.filter(|_| is_passing(kind))
    }
}

/// Whether a failure of this kind ends with a window of time.
pub(super) fn is_passing(kind: FailureKind) -> bool {
    matches!(kind, FailureKind::RateLimited | FailureKind::Overloaded)
}

/// The words with those of the provider behind a gateway: OpenRouter has them under `metadata.raw` ("Errors and debugging").
fn with_source(message: String, error: &Value) -> String {
    let Some(raw) = error.pointer("/metadata/raw").filter(|raw| !raw.is_null()) else { return message };
    let within = match raw.as_str() {
        Some(text) => report(text.as_bytes()).message,
        None => report_of(&error_in(raw.clone())).message,
    };
    if within.is_empty() || message.contains(&within) {
        return message;
    }
    match error.pointer("/metadata/provider_name").and_then(Value::as_str) {
        Some(provider) => format!("{message} ({provider}: {within})"),
        None => format!("{message}: {within}"),
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
