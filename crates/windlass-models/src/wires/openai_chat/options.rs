//! Owns the places of options in requests of this API, and the keys that a request has anyway.

use windlass_core::model::ModelOption;

use crate::wires::Options;

/// API reference, "Create chat completion". Servers beside OpenAI's also take `top_k` (vLLM, llama-server, OpenRouter).
pub(super) const OPTIONS: Options = Options {
    places: &[
        (ModelOption::Seed, "seed"),
        (ModelOption::TopK, "top_k"),
        (ModelOption::FrequencyPenalty, "frequency_penalty"),
        (ModelOption::ServiceTier, "service_tier"),
        (ModelOption::Verbosity, "verbosity"),
        (ModelOption::User, "user"),
        (ModelOption::CacheKey, "prompt_cache_key"),
        (ModelOption::Logprobs, "top_logprobs"),
    ],
    // Servers that read marks take it there.
    formed: &[(ModelOption::CacheLifetime, "prompt_cache_retention")],
    lacks: &[],
    written: &[
        "model",
        "messages",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "response_format",
        "temperature",
        "max_tokens",
        "max_completion_tokens",
        "top_p",
        "presence_penalty",
        "reasoning_effort",
        "metadata",
        "logprobs",
        "stop",
        "stream",
        "stream_options",
    ],
};
