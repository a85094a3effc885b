//! Owns what response headers and the details of errors say of a provider's rate limits.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use serde_json::Value;

/// The longest wait that a `Retry-After` is believed, in milliseconds: a day.
const MAX_RETRY_AFTER_MS: u64 = 24 * 60 * 60 * 1000;

/// Delay that the provider asks for, in milliseconds: `retry-after-ms`, or `Retry-After` in seconds or as a date (RFC 9110,
/// 10.2.3). A past date means no delay.
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

/// Delay that an error's details ask for, in milliseconds: `google.rpc.RetryInfo`, whose `retryDelay` is in seconds, such as
/// `34.5s`.
pub(super) fn retry_info(error: &Value) -> Option<u64> {
    let details = error.get("details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay"))?.as_str()?;
    let seconds = delay.trim().strip_suffix('s')?.parse::<f64>().ok()?;
    (seconds >= 0.0).then(|| ((seconds * 1000.0) as u64).min(MAX_RETRY_AFTER_MS))
}

#[cfg(test)]
mod tests;
