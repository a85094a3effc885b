//! Owns the rate limiters of requests: how many go out with one key, and when, whatever run of the process they are of.
//!
//! Requests with the same key to the same host and model share one limiter. Most limiters know no limit, and a request passes one with a
//! look at an atomic. A limiter is looked at where the settings limit it ([`Rate`]), where the provider refused a request and asked for a
//! wait, and where a good reply says that nothing remains. Then the requests wait for their permits, first come, first served. A request
//! whose permit would come too late fails at once, as one that the provider refused, so that the core decides what becomes of the run.

pub(super) mod limiter;
pub(super) mod rate;
mod table;
mod window;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use http::HeaderMap;
use windlass_core::Text;

use self::limiter::{Limiter, Why};
use self::rate::{Rate, RateScope};
use self::table::Table;
use super::binding::is_credential;

/// Tokens of a reply where the request sets no bound: most replies are shorter.
const REPLY_TOKENS: u64 = 1024;

/// Bytes of a token, by rule of thumb.
const BYTES_A_TOKEN: u64 = 4;

/// The limiters of one adapter's requests.
pub(crate) struct Limiters {
    pub(super) rate: Option<Rate>,
    /// The hash of host and key.
    account: u64,
    /// The limiter of the model that was asked for first: most adapters are asked for one.
    first: OnceLock<(Text, Arc<Limiter>)>,
}

impl fmt::Debug for Limiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limiters").field("rate", &self.rate).finish_non_exhaustive()
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

impl Limiters {
    pub(super) fn new(rate: Option<Rate>, account: &Account<'_>) -> Self {
        let account = Table::of_process().hash(account);
        Self { rate: rate.filter(Rate::limits), account, first: OnceLock::new() }
    }

    /// The limiter of a model, if it is the one that was asked for first.
    fn limiter(&self, model: &Text) -> Option<&Arc<Limiter>> {
        let (known, limiter) = self.first.get_or_init(|| (model.clone(), self.found(model)));
        (Arc::ptr_eq(known, model) || known == model).then_some(limiter)
    }

    fn found(&self, model: &Text) -> Arc<Limiter> {
        let table = Table::of_process();
        let of_all_models = self.rate.is_some_and(|rate| rate.per == RateScope::Key);
        table.limiter(table.hash((self.account, (!of_all_models).then_some(&**model))))
    }

    pub(super) fn with_limiter<T>(&self, model: &Text, work: impl FnOnce(&Arc<Limiter>) -> T) -> T {
        match self.limiter(model) {
            Some(limiter) => work(limiter),
            None => work(&self.found(model)),
        }
    }
}

/// An estimate of a request's tokens: its content, and the most of its reply.
pub(super) fn tokens(content_bytes: usize, max_tokens: Option<u64>) -> u64 {
    (content_bytes as u64).div_ceil(BYTES_A_TOKEN).saturating_add(max_tokens.unwrap_or(REPLY_TOKENS))
}

impl Why {
    /// The reason in words.
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
