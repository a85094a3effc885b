//! Owns the mark of a cached prefix, which Anthropic's API and the gateways before it read in the same form.

use std::borrow::Cow;

use windlass_core::model::{ModelChoice, ModelOption, OptionValue};

use super::json::json_string;

/// The lifetimes that a mark can name ("Prompt caching", "1-hour cache duration"; OpenRouter, "Prompt Caching").
pub(crate) const LIFETIMES: [&str; 2] = ["5m", "1h"];

/// The lifetimes of OpenAI's cache (API reference, `prompt_cache_retention`).
const RETENTIONS: [&str; 2] = ["in_memory", "24h"];

/// Why a server cannot be asked for the lifetime of a model; `None`: it can. One that reads `marks` knows those of marks as well.
pub(crate) fn retention_refusal(settings: &ModelChoice, marks: bool) -> Option<String> {
    let in_marks = |lifetime: &&str| marks && LIFETIMES.contains(lifetime);
    let lifetime =
        lifetime(settings).filter(|lifetime| !RETENTIONS.contains(lifetime) && !in_marks(lifetime))?;
    let known = if marks { "`5m`, `1h`, `in_memory` and `24h`" } else { "`in_memory` and `24h`" };
    Some(format!("`cache_lifetime` is `{lifetime}`: its API knows {known}"))
}

/// The lifetime that a model names, in its provider's words.
pub(crate) fn lifetime(settings: &ModelChoice) -> Option<&str> {
    match settings.option(ModelOption::CacheLifetime) {
        Some(OptionValue::Text(lifetime)) => Some(lifetime),
        _ => None,
    }
}

/// The mark behind the last part of a prefix, with a comma in front.
pub(crate) fn marker(settings: &ModelChoice) -> Cow<'static, [u8]> {
    match lifetime(settings).filter(|lifetime| LIFETIMES.contains(lifetime)) {
        Some(lifetime) => {
            let mut marker = b",\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":".to_vec();
            json_string(&mut marker, lifetime);
            marker.push(b'}');
            Cow::Owned(marker)
        }
        None => Cow::Borrowed(b",\"cache_control\":{\"type\":\"ephemeral\"}"),
    }
}
