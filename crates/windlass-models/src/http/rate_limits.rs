//! Owns what a provider says of its rate limits: in headers, in the details of errors, in their words.

mod google;
mod headers;
mod values;
mod words;

use std::time::SystemTime;

use http::HeaderMap;
use serde_json::Value;

pub(super) use self::values::instant;
use self::values::{epoch_ms, until};

/// The longest wait that is believed, in milliseconds: 35 days, because limits on spending are those of a month.
pub(super) const MAX_RETRY_AFTER_MS: u64 = 35 * 24 * 60 * 60 * 1000;

/// The end of a limit, as an error states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RetryAdvice {
    /// It is over in so many milliseconds.
    Wait(u64),
    /// Time does not end it: the quota is spent, or none was granted.
    Never,
}

/// Fields of errors that hold a wait: a count of seconds, or a time (Codex: `resets_in_seconds`, `resets_at`; gateways: `retry_after`).
const FIELDS: [&str; 6] =
    ["resets_in_seconds", "retry_after_seconds", "retry_after", "retryAfter", "resets_at", "reset_at"];

/// The end of the limit that an error states by its details, fields, code and words. Google's details come first, because they
/// name the limit; of the others the longest wait applies.
pub(super) fn retry_advice(error: &Value, code: &str, message: &str, now: SystemTime) -> Option<RetryAdvice> {
    let now_ms = epoch_ms(now);
    let detail = google::retry_advice(error, now_ms);
    if let Some(advice) = detail {
        return Some(advice.bounded());
    }
    if words::is_paid(code) {
        return Some(RetryAdvice::Never);
    }
    let metadata = error.get("metadata");
    let objects = [Some(error), metadata];
    let field = |object: &Value, name: &str| match object.get(name)? {
        Value::String(text) => until(text, now_ms),
        Value::Number(number) => until(&number.to_string(), now_ms),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let fields = objects.into_iter().flatten().flat_map(|object| FIELDS.map(|name| field(object, name)));
    // OpenRouter repeats the headers of the limit ("Errors and debugging").
    let headers = metadata.and_then(|metadata| metadata.get("headers")?.as_object());
    let repeated = headers.and_then(|headers| {
        let pairs = headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
        headers::after(pairs.clone(), now_ms).or_else(|| headers::broken(pairs, message, now_ms))
    });
    let waits = fields.chain([repeated, words::wait(message, now_ms)]).flatten();
    waits.max().map(|ms| RetryAdvice::Wait(ms).bounded())
}

/// The wait that a refusal's headers ask for outright, in milliseconds.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<u64> {
    headers::after(texts(headers), epoch_ms(now)).map(|ms| ms.min(MAX_RETRY_AFTER_MS))
}

/// Milliseconds until the limit is reset that a request broke, by the headers of the refusal and its words.
pub(super) fn reset(headers: &HeaderMap, words: &str, now: SystemTime) -> Option<u64> {
    headers::broken(texts(headers), words, epoch_ms(now)).map(|ms| ms.min(MAX_RETRY_AFTER_MS))
}

/// Milliseconds until the limits are reset that a good reply says are used up.
pub(super) fn spent(headers: &HeaderMap) -> Option<u64> {
    if !headers::has_spent(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))) {
        return None;
    }
    headers::spent(texts(headers), epoch_ms(SystemTime::now())).map(|ms| ms.min(MAX_RETRY_AFTER_MS))
}

fn texts(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
}

impl RetryAdvice {
    fn bounded(self) -> Self {
        match self {
            Self::Wait(ms) => Self::Wait(ms.min(MAX_RETRY_AFTER_MS)),
            Self::Never => Self::Never,
        }
    }
}

#[cfg(test)]
mod tests;
