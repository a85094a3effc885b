//! Owns the headers about rate limits.
//!
//! | provider | headers | times |
//! |---|---|---|
//! | OpenAI ("Rate limits"), Groq ("Rate limits"), Fireworks | `x-ratelimit-{limit,remaining,reset}-{requests,tokens}` | `6m0s`, `17ms`, `2m59.56s` |
//! | Azure OpenAI | the same, and `retry-after-ms` | whole seconds; -1: no such limit |
//! | Anthropic ("Rate limits") | `anthropic-ratelimit-{requests,tokens,input-tokens,output-tokens}-{limit,remaining,reset}` | RFC 3339 |
//! | Cerebras ("Rate limits") | `x-ratelimit-{limit,remaining,reset}-{requests-day,tokens-minute}` | seconds |
//! | Mistral | `x-ratelimit-{limit,remaining}-{req,tokens}-minute`, `ratelimitbysize-{limit,remaining,reset}` | seconds |
//! | OpenRouter ("Limits"; also in `error.metadata.headers`) | `x-ratelimit-{limit,remaining,reset}` | milliseconds since 1970 |
//! | Together ("Rate limits") | `x-ratelimit-{limit,remaining,reset}`, `x-tokenlimit-{limit,remaining}` | seconds |
//! | LiteLLM, gateways | those of the provider behind, or `ratelimit-{limit,remaining,reset}` | seconds, or seconds since 1970 |
//!
//! DeepSeek, xAI, Moonshot, Qwen, Bedrock and the servers on one's own machine send `retry-after` or nothing.

use super::values::{number, until};

/// A limit as a reply's headers tell it.
#[derive(Debug)]
struct Limit {
    /// The header's name without `reset` or `remaining`.
    name: String,
    /// Milliseconds until it is reset.
    reset: Option<u64>,
    remaining: Option<f64>,
}

/// The kind of a header about a limit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Reset,
    Remaining,
}

/// The kind of a header by its name, in lower case; `None`: it is of no interest.
fn field(name: &str) -> Option<Field> {
    if !(name.contains("ratelimit") || name.contains("rate-limit") || name.contains("tokenlimit")) {
        return None;
    }
    name.split('-').find_map(|part| match part {
        "reset" => Some(Field::Reset),
        "remaining" => Some(Field::Remaining),
        _ => None,
    })
}

/// Delay that the provider asks for outright, in milliseconds: `retry-after-ms` (Azure, OpenAI), or `Retry-After` in seconds or as a
/// date (RFC 9110, 10.2.3). A past date means no delay.
pub(super) fn after<'h>(headers: impl Iterator<Item = (&'h str, &'h str)>, now_ms: u64) -> Option<u64> {
    let (mut ms, mut after) = (None, None);
    for (name, value) in headers {
        if name.eq_ignore_ascii_case("retry-after-ms") {
            ms = number(value).map(|ms| ms.ceil() as u64);
        } else if name.eq_ignore_ascii_case("retry-after") {
            after = until(value, now_ms);
        }
    }
    ms.or(after)
}

/// Whether a reply says that nothing remains of a limit. Names are in lower case. Most replies say so of none: nothing is made for
/// them.
pub(super) fn has_spent<'h>(mut headers: impl Iterator<Item = (&'h str, &'h [u8])>) -> bool {
    headers.any(|(name, value)| value == b"0" && field(name) == Some(Field::Remaining))
}

/// Milliseconds until the limits are reset that nothing remains of: the longest, for all of them must have room. `None`: something
/// remains of each.
pub(super) fn spent<'h>(headers: impl Iterator<Item = (&'h str, &'h str)>, now_ms: u64) -> Option<u64> {
    longest(&limits(headers, now_ms), |limit| limit.remaining == Some(0.0))
}

/// Milliseconds until the limit that a request broke is reset, as the reply's headers let one know it. In order:
///
/// 1. the longest of those that nothing remains of: all must have room;
/// 2. the longest of those that the words name;
/// 3. the shortest of those whose remainder is unknown;
/// 4. the shortest of those of tokens: something remains of each, and only tokens are needed many at a time.
///
/// A guess is a short one: a try that is too early costs one refused request, which tells more.
pub(super) fn broken<'h>(
    headers: impl Iterator<Item = (&'h str, &'h str)>,
    words: &str,
    now_ms: u64,
) -> Option<u64> {
    let limits = limits(headers, now_ms);
    let words = words.to_lowercase();
    let shortest =
        |wanted: fn(&Limit) -> bool| limits.iter().filter(|l| wanted(l)).filter_map(|l| l.reset).min();
    longest(&limits, |limit| limit.remaining == Some(0.0))
        .or_else(|| longest(&limits, |limit| is_named(&limit.name, &words)))
        .or_else(|| shortest(|limit| limit.remaining.is_none()))
        .or_else(|| shortest(|limit| limit.name.contains("token")))
}

fn longest(limits: &[Limit], wanted: impl Fn(&Limit) -> bool) -> Option<u64> {
    limits.iter().filter(|limit| wanted(limit)).filter_map(|limit| limit.reset).max()
}

/// Whether words name a limit: what it counts, and the day where it is one of a day.
fn is_named(name: &str, words: &str) -> bool {
    let says = |any: &[&str]| any.iter().any(|part| words.contains(part));
    let counted = if name.contains("token") {
        says(&["token", "tpm", "tpd"])
    } else {
        name.contains("req") && says(&["request", "rpm", "rpd"])
    };
    counted && name.contains("day") == says(&["day", "daily", "rpd", "tpd"])
}

/// The limits that headers tell of. A reset that is now, or a remainder below zero, is none (Azure writes -1 and 0 for no limit).
fn limits<'h>(headers: impl Iterator<Item = (&'h str, &'h str)>, now_ms: u64) -> Vec<Limit> {
    let mut limits: Vec<Limit> = Vec::new();
    let mut unlimited: Vec<String> = Vec::new();
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        let Some(field) = field(&lower) else { continue };
        let parts = lower.split('-').filter(|part| !matches!(*part, "reset" | "remaining"));
        let name = parts.collect::<Vec<_>>().join("-");
        let at = limits.iter().position(|limit| limit.name == name).unwrap_or_else(|| {
            limits.push(Limit { name: name.clone(), reset: None, remaining: None });
            limits.len() - 1
        });
        let Some(limit) = limits.get_mut(at) else { continue };
        match field {
            Field::Reset => limit.reset = until(value, now_ms).filter(|ms| *ms > 0),
            Field::Remaining => match number(value) {
                Some(count) => limit.remaining = Some(count),
                None => unlimited.push(name),
            },
        }
    }
    limits.retain(|limit| limit.reset.is_some() && !unlimited.contains(&limit.name));
    limits
}
