//! Owns the places of options in requests of this API, and the keys that a request has anyway.

use windlass_core::model::ModelOption;

use crate::wires::Options;

/// API reference, "Create a model response".
pub(super) const OPTIONS: Options = Options {
    places: &[
        (ModelOption::ServiceTier, "service_tier"),
        (ModelOption::Verbosity, "text.verbosity"),
        (ModelOption::User, "user"),
        (ModelOption::CacheKey, "prompt_cache_key"),
    ],
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
        "reasoning.summary",
        "metadata",
        "store",
        "include",
        "stream",
    ],
};
