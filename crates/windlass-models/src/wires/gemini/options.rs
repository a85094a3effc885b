//! Owns the places of options in requests of this API, and the keys that a request has anyway.

use windlass_core::model::ModelOption;

use crate::wires::Options;
use crate::wires::options::Setting;

/// API reference, `GenerationConfig`.
pub(super) const OPTIONS: Options = Options {
    places: &[
        (ModelOption::CachedContent, "cachedContent"),
        (ModelOption::Seed, "generationConfig.seed"),
        (ModelOption::TopK, "generationConfig.topK"),
        (ModelOption::FrequencyPenalty, "generationConfig.frequencyPenalty"),
        (ModelOption::Logprobs, "generationConfig.logprobs"),
    ],
    formed: &[
        (ModelOption::Safety, "safetySettings"),
        (ModelOption::ReasoningBudget, "generationConfig.thinkingConfig.thinkingBudget"),
        (ModelOption::ShowReasoning, "generationConfig.thinkingConfig.includeThoughts"),
    ],
    lacks: &[Setting::Parallel, Setting::Metadata],
    written: &[
        "systemInstruction",
        "contents",
        "tools",
        "toolConfig.functionCallingConfig",
        "toolConfig.includeServerSideToolInvocations",
        "generationConfig.temperature",
        "generationConfig.topP",
        "generationConfig.presencePenalty",
        "generationConfig.maxOutputTokens",
        "generationConfig.stopSequences",
        "generationConfig.responseLogprobs",
        "generationConfig.responseMimeType",
        "generationConfig.responseJsonSchema",
        "generationConfig.thinkingConfig",
    ],
};
