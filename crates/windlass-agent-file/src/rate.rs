//! The most requests and tokens a minute with a model's key.

use std::num::NonZeroU64;

use schemars::JsonSchema;
use serde::Deserialize;
use windlass_core::settings::Whole;
use windlass_models::{Rate, RateScope};

use crate::yaml::{At, YamlError};

/// The most requests and tokens a minute with the key.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(super) struct RateKeys {
    /// Requests a minute. Default: any number.
    requests_per_minute: Option<Whole<1>>,
    /// Tokens a minute, of requests and replies. Default: any number.
    tokens_per_minute: Option<Whole<1>>,
    /// The longest that a request waits for its turn, in milliseconds. Default: 600000, and 30000 where the provider asked for the wait.
    max_wait_ms: Option<Whole>,
    /// The requests that share the limits: those to this model with the key, or all with the key. Default: model.
    per: Option<Scope>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum Scope {
    Model,
    Key,
}

/// The limits of an entry.
pub(super) fn rate(keys: &At<RateKeys>) -> Result<Rate, YamlError> {
    let RateKeys { requests_per_minute, tokens_per_minute, max_wait_ms, per } = keys.value;
    let count = |number: Option<Whole<1>>| number.and_then(|number| NonZeroU64::new(number.get()));
    let rate = Rate {
        requests_per_minute: count(requests_per_minute),
        tokens_per_minute: count(tokens_per_minute),
        max_wait_ms: max_wait_ms.map(Whole::get),
        per: match per {
            Some(Scope::Key) => RateScope::Key,
            Some(Scope::Model) | None => RateScope::Model,
        },
    };
    if rate.limits() {
        return Ok(rate);
    }
    Err(keys.error("agent.rate", "`rate` sets neither requests_per_minute nor tokens_per_minute"))
}
