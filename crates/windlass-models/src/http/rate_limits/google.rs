//! Owns the details of Google's errors (google.rpc, "error_details.proto"): `RetryInfo` and `QuotaFailure`.

use serde_json::Value;

use super::RetryAdvice;
use super::values::{duration, number, until_pacific_midnight};

/// The wait that an error's details state. A quota of a day is reset at midnight in Pacific time (Gemini API, "Rate limits"), whatever
/// `RetryInfo` says beside it, and a quota of nothing never.
pub(super) fn retry_advice(error: &Value, now_ms: u64) -> Option<RetryAdvice> {
    let details = error.get("details")?.as_array()?;
    let broken = details.iter().filter_map(|detail| detail.get("violations")?.as_array()).flatten();
    let (mut day, mut all_none, mut any) = (false, true, false);
    for quota in broken {
        let text = |key: &str| quota.get(key).and_then(Value::as_str).unwrap_or_default();
        any = true;
        all_none &= number(text("quotaValue")) == Some(0.0);
        day |= ["quotaId", "quotaMetric", "subject"].into_iter().any(|key| is_daily(text(key)));
    }
    if any && (all_none || limits_are_zero(error)) {
        return Some(RetryAdvice::Never);
    }
    if day {
        return Some(RetryAdvice::Wait(until_pacific_midnight(now_ms)));
    }
    let delay = details.iter().find_map(|detail| detail.get("retryDelay"))?.as_str()?;
    duration(delay).map(|(ms, _)| RetryAdvice::Wait(ms))
}

fn is_daily(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    id.contains("perday") || id.contains("per_day")
}

/// Whether the words name limits, and all of them are 0: the model is not offered in this tier.
fn limits_are_zero(error: &Value) -> bool {
    let words = error.get("message").and_then(Value::as_str).unwrap_or_default();
    let mut limits = words.split("limit: ").skip(1).peekable();
    limits.peek().is_some()
        && limits.all(|rest| {
            rest.strip_prefix('0').is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        })
}
