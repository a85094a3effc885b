//! Owns the limits that settings set on requests with one key.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

/// The longest that a request waits for its permit by default, in milliseconds: ten minutes.
pub const MAX_PERMIT_WAIT_MS: u64 = 10 * 60 * 1000;

/// How many requests and tokens a minute may be sent with one key. Requests beyond that wait for a permit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Requests a minute; `None`: any number.
    #[serde(default)]
    pub requests_per_minute: Option<NonZeroU64>,
    /// Tokens a minute, of requests and replies; `None`: any number.
    #[serde(default)]
    pub tokens_per_minute: Option<NonZeroU64>,
    /// The longest that a request waits for its permit, in milliseconds: one that would wait longer fails at once. `None`:
    /// [`MAX_PERMIT_WAIT_MS`], and `HOLD_WAIT_MS` of this module where the provider asked for the wait.
    #[serde(default)]
    pub max_wait_ms: Option<u64>,
    /// The requests that share the limits.
    #[serde(default)]
    pub per: RateScope,
}

/// The requests that share a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RateScope {
    /// Those to one model with one key: most providers limit each model for itself.
    #[default]
    Model,
    /// All with one key.
    Key,
}

impl Rate {
    /// Whether it limits anything.
    pub fn limits(&self) -> bool {
        self.requests_per_minute.is_some() || self.tokens_per_minute.is_some()
    }

    /// The most requests and tokens of a window.
    pub(super) fn most(&self) -> Load {
        let most = |number: Option<NonZeroU64>| number.map_or(u64::MAX, NonZeroU64::get);
        Load { requests: most(self.requests_per_minute), tokens: most(self.tokens_per_minute) }
    }
}

/// Requests with their tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Load {
    pub(super) requests: u64,
    pub(super) tokens: u64,
}

impl Load {
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(other.requests),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }

    /// Whether it fits a window with this most.
    pub(super) fn fits(self, most: Self) -> bool {
        self.requests <= most.requests && self.tokens <= most.tokens
    }
}
