//! Owns what the words of an error say of a wait, and whether they say that only money ends it.

use super::values::{duration, instant};

/// Beginnings of the places where words name a time, in lower case: OpenAI and Groq "Please try again in 7m12s", Azure "Please
/// retry after 37 seconds", Gemini "Please retry in 34.07s", Moonshot "please try again after 1 seconds", Anthropic "You will regain
/// access on 2026-04-01 at 00:00 UTC", LiteLLM "Limit resets at: 2025-10-21 00:00:00 UTC", GitHub "Please wait 12 seconds".
const LEADS: [&str; 13] = [
    "try again in",
    "try again after",
    "try again at",
    "try again on",
    "retry in",
    "retry after",
    "retry at",
    "regain access",
    "available again",
    "wait",
    "resets",
    "reset",
    "resume",
];

/// Words between such a beginning and the time.
const FILLERS: [&str; 9] = ["in", "at", "on", "after", "for", "about", "approximately", "another", "until"];

/// The wait that words ask for, in milliseconds. Of several the longest: an earlier try would be refused once more.
pub(super) fn wait(words: &str, now_ms: u64) -> Option<u64> {
    let words = words.to_lowercase();
    let places =
        LEADS.iter().flat_map(|lead| words.match_indices(lead).map(|(at, lead)| (at + lead.len(), lead)));
    let waits = places.filter_map(|(end, _)| {
        let rest = unfilled(words.get(end..)?);
        let named = duration(rest).map(|(ms, _)| ms);
        named.or_else(|| instant(rest).map(|at| at.saturating_sub(now_ms)))
    });
    waits.max()
}

/// A text without the words before a time.
fn unfilled(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', ':', '\n', '\t', '"', '\'', '`', '(', '=']);
        let filler = FILLERS.iter().find_map(|filler| rest.strip_prefix(filler)?.strip_prefix([' ', ':']));
        match filler {
            Some(after) => rest = after,
            None => return rest,
        }
    }
}

/// Codes of a quota that no time refills: someone has to pay, or to raise a limit (OpenAI, "Error codes"; Moonshot, "Errors").
const PAID: [&str; 4] =
    ["insufficient_quota", "billing_hard_limit", "exceeded_current_quota", "billing_not_active"];

/// Whether a code means that waiting does not help.
pub(super) fn is_paid(code: &str) -> bool {
    let code = code.to_lowercase();
    PAID.iter().any(|part| code.contains(part))
}
