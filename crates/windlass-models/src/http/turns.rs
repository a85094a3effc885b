//! Owns the turns of requests: how many go out with one key, and when, whatever run of the process they are of.
//!
//! Requests with the same key to the same host and model are one lane. Most lanes know no limit, and a request passes one with a look
//! at an atomic. A lane is looked at where the settings limit it ([`Rate`]), where the provider refused a request and asked for a wait,
//! and where a good reply says that nothing remains. Then the requests wait for their turns, first come, first served. A request whose
//! turn would come too late fails at once, as one that the provider refused, so that the core decides what becomes of the run.

pub(super) mod lane;
pub(super) mod rate;
mod table;
mod window;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use http::HeaderMap;
use windlass_core::Text;

use self::lane::{Lane, Why};
use self::rate::{Rate, RateScope};
use self::table::Table;
use super::binding::is_credential;

/// Tokens of a reply where the request sets no bound: the usual reply of a turn is shorter.
const REPLY_TOKENS: u64 = 1024;

/// Bytes of a token, by rule of thumb.
const BYTES_A_TOKEN: u64 = 4;

/// The turns of one adapter's requests.
pub(crate) struct Turns {
    pub(super) rate: Option<Rate>,
    /// The hash of host and key.
    account: u64,
    /// The lane of the model that was asked for first: most adapters are asked for one.
    first: OnceLock<(Text, Arc<Lane>)>,
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turns").field("rate", &self.rate).finish_non_exhaustive()
    }
}

/// The host and the credentials of requests, or the command that prints the key: its words stay the same when the key changes.
pub(super) struct Account<'a> {
    pub(super) host: &'a str,
    pub(super) query: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) command: &'a [String],
}

impl Hash for Account<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.host, self.query, self.command).hash(state);
        let keys = self.headers.iter().filter(|(name, _)| is_credential(name.as_str()));
        keys.for_each(|(name, value)| (name.as_str(), value.as_bytes()).hash(state));
    }
}

impl Turns {
    pub(super) fn new(rate: Option<Rate>, account: &Account<'_>) -> Self {
        let account = Table::of_process().hash(account);
        Self { rate: rate.filter(Rate::limits), account, first: OnceLock::new() }
    }

    /// The lane of a model.
    fn lane(&self, model: &Text) -> Option<&Arc<Lane>> {
        let (known, lane) = self.first.get_or_init(|| (model.clone(), self.found(model)));
        (Arc::ptr_eq(known, model) || known == model).then_some(lane)
    }

    fn found(&self, model: &Text) -> Arc<Lane> {
        let table = Table::of_process();
        let whole_key = self.rate.is_some_and(|rate| rate.per == RateScope::Key);
        table.lane(table.hash((self.account, (!whole_key).then_some(&**model))))
    }

    pub(super) fn with_lane<T>(&self, model: &Text, work: impl FnOnce(&Arc<Lane>) -> T) -> T {
        match self.lane(model) {
            Some(lane) => work(lane),
            None => work(&self.found(model)),
        }
    }
}

/// An estimate of a request's tokens: its content, and the most of its reply.
pub(super) fn tokens(content_bytes: usize, max_tokens: Option<u64>) -> u64 {
    (content_bytes as u64).div_ceil(BYTES_A_TOKEN).saturating_add(max_tokens.unwrap_or(REPLY_TOKENS))
}

impl Why {
    pub(super) fn words(self) -> String {
        match self {
            Self::Asked => "the provider asked for the wait".to_owned(),
            Self::Crowd => "too many wait".to_owned(),
            Self::Limits(rate) => {
                let of =
                    |number: Option<std::num::NonZeroU64>, what: &str| number.map(|n| format!("{n} {what}"));
                let both = [of(rate.requests_per_minute, "requests"), of(rate.tokens_per_minute, "tokens")];
                let limits = both.into_iter().flatten().collect::<Vec<_>>().join(" and ");
                format!("`rate` allows {limits} a minute")
            }
        }
    }
}

#[cfg(test)]
mod tests;
