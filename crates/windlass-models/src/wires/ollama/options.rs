//! Owns the places of options in requests of this API, and the keys that a request has anyway.

use windlass_core::model::ModelOption;

use crate::wires::Options;
use crate::wires::options::Setting;

/// API reference, `options` ("Modelfile: valid parameters and values").
pub(super) const OPTIONS: Options = Options {
    places: &[
        (ModelOption::Seed, "options.seed"),
        (ModelOption::TopK, "options.top_k"),
        (ModelOption::FrequencyPenalty, "options.frequency_penalty"),
        (ModelOption::NumCtx, "options.num_ctx"),
        (ModelOption::KeepAlive, "keep_alive"),
        (ModelOption::Logprobs, "top_logprobs"),
    ],
    formed: &[],
    lacks: &[Setting::Parallel, Setting::Strict, Setting::Metadata],
    written: &[
        "model",
        "messages",
        "tools",
        "format",
        "think",
        "logprobs",
        "truncate",
        "shift",
        "stream",
        "options.temperature",
        "options.top_p",
        "options.presence_penalty",
        "options.num_predict",
        "options.stop",
    ],
};
