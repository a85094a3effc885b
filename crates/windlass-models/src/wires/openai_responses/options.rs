//! Owns the places of options in requests of this API, and the keys that a request has anyway.

use windlass_core::model::ModelOption;

use crate::wires::Options;
use crate::wires::options::Setting;

/// API reference, "Create a model response".
pub(super) const OPTIONS: Options = Options {
    places: &[
        (ModelOption::ServiceTier, "service_tier"),
        (ModelOption::Verbosity, "text.verbosity"),
        (ModelOption::User, "user"),
        (ModelOption::CacheKey, "prompt_cache_key"),
        (ModelOption::CacheLifetime, "prompt_cache_retention"),
        (ModelOption::Logprobs, "top_logprobs"),
    ],
    formed: &[
        (ModelOption::Conversation, "conversation"),
        (ModelOption::ReasoningSummary, "reasoning.summary"),
        (ModelOption::ShowReasoning, "reasoning.summary"),
    ],
    lacks: &[Setting::Stop, Setting::PresencePenalty],
    written: &[
        "model",
        "input",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "previous_response_id",
        "text.format",
        "temperature",
        "max_output_tokens",
        "top_p",
        "reasoning.effort",
        "metadata",
        "store",
        "include",
        "stream",
    ],
};
