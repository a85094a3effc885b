//! Owns the places of options in requests of this API, and the keys that a request has anyway.

use windlass_core::model::ModelOption;

use crate::wires::Options;
use crate::wires::options::Setting;

/// API reference, "Create a Message".
pub(super) const OPTIONS: Options = Options {
    places: &[
        (ModelOption::TopK, "top_k"),
        (ModelOption::ServiceTier, "service_tier"),
        (ModelOption::User, "metadata.user_id"),
    ],
    formed: &[
        (ModelOption::CacheLifetime, "cache_control.ttl"),
        (ModelOption::CacheTools, "tools.cache_control"),
        (ModelOption::CacheAutomatic, "cache_control"),
        (ModelOption::ReasoningBudget, "thinking.budget_tokens"),
        (ModelOption::ShowReasoning, "thinking.display"),
    ],
    lacks: &[Setting::PresencePenalty],
    written: &[
        "model",
        "system",
        "messages",
        "tools",
        "tool_choice",
        "max_tokens",
        "thinking",
        "output_config.effort",
        "output_config.format",
        "temperature",
        "top_p",
        "stop_sequences",
        "stream",
    ],
};
