//! Owns the places of options in requests of this API, and the keys that a request has anyway.

use windlass_core::model::ModelOption;

use crate::wires::Options;

/// API reference, `GenerationConfig`.
pub(super) const OPTIONS: Options = Options {
    places: &[
        (ModelOption::Seed, "generationConfig.seed"),
        (ModelOption::TopK, "generationConfig.topK"),
        (ModelOption::FrequencyPenalty, "generationConfig.frequencyPenalty"),
    ],
    written: &[
        "systemInstruction",
        "contents",
        "tools",
        "toolConfig.functionCallingConfig",
        "generationConfig.temperature",
        "generationConfig.topP",
        "generationConfig.presencePenalty",
        "generationConfig.maxOutputTokens",
        "generationConfig.stopSequences",
        "generationConfig.responseMimeType",
        "generationConfig.responseJsonSchema",
        "generationConfig.thinkingConfig",
    ],
};
