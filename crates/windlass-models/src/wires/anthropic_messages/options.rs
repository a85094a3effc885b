//! Owns the places of options in requests of this API, and the keys that a request has anyway.

use windlass_core::model::ModelOption;

use crate::wires::Options;

/// API reference, "Create a Message".
pub(super) const OPTIONS: Options = Options {
    places: &[
        (ModelOption::TopK, "top_k"),
        (ModelOption::ServiceTier, "service_tier"),
        (ModelOption::User, "metadata.user_id"),
    ],
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
