//! Owns the turns of requests: how many go out with one key, and when, whatever run of the process they are of.
//!
//! Requests with the same key to the same host and model are one lane. Most lanes know no limit, and a request passes one with a look
//! at an atomic. A lane is looked at where the settings limit it ([`Rate`]), where the provider refused a request and asked for a wait,
//! and where a good reply says that nothing remains. Then the requests wait for their turns, first come, first served. A request whose
//! turn would come too late fails at once, as one that the provider refused, so that the core decides what becomes of the run.

mod lane;
mod rate;
mod table;
mod window;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

use http::HeaderMap;
use windlass_core::Text;
use windlass_core::model::{FailureKind, ModelFailure, Usage};

use self::lane::{Lane, TooLong, Why};
use self::table::Table;
use super::binding::is_credential;
use super::call::Call;
use super::failure::is_passing;
use super::rate_limits::{MAX_RETRY_AFTER_MS, spent};

pub(super) use self::lane::Turn;
pub use self::rate::{MAX_TURN_WAIT_MS, Rate, RateScope};

/// Tokens of a reply where the request sets no bound: the usual reply of a turn is shorter.
const REPLY_TOKENS: u64 = 1024;

/// Bytes of a token, by rule of thumb.
const BYTES_A_TOKEN: u64 = 4;

/// A wait from here on is told to people, in milliseconds.
const TOLD_MS: u64 = 1_000;

/// The turns of one adapter's requests.
pub(crate) struct Turns {
    rate: Option<Rate>,
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

    fn with_lane<T>(&self, model: &Text, work: impl FnOnce(&Arc<Lane>) -> T) -> T {
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

impl Call {
    /// Waits until the request may be sent. Without limits it may at once, and nothing is made.
    pub(super) async fn wait_for_turn(&mut self) -> Result<(), ModelFailure> {
        let turns = &self.server.turns;
        let lane = turns
            .with_lane(&self.model, |lane| (turns.rate.is_some() || lane.is_busy()).then(|| lane.clone()));
        let Some(lane) = lane else { return Ok(()) };
        let tell = |wait_ms: u64, why: Why| {
            let (model, host) = (&*self.model, &*self.server.endpoint.host);
            let why = why.words();
            if wait_ms >= TOLD_MS {
                tracing::info!(model, host, wait_ms, "a request waits for its turn: {why}");
            } else {
                tracing::debug!(model, host, wait_ms, "a request waits for its turn: {why}");
            }
        };
        // Boxed: a call must not hold the room for what is rare.
        let turn = Box::pin(lane.turn(turns.rate, self.tokens, tell)).await;
        self.turn = turn.map_err(|too_long| self.no_turn(too_long))?;
        Ok(())
    }

    /// The failure of a request whose turn would come too late.
    fn no_turn(&self, TooLong { wait_ms, most_ms, why }: TooLong) -> ModelFailure {
        let host = &self.server.endpoint.host;
        let words = match why {
            Why::Crowd => format!("too many requests wait for their turn at {host}"),
            Why::Limits(_) | Why::Asked => {
                format!("no turn at {host} within {most_ms} ms, but in {wait_ms} ms: {}", why.words())
            }
        };
        let retry_after_ms = Some(wait_ms.min(MAX_RETRY_AFTER_MS));
        ModelFailure { retry_after_ms, ..self.failure(FailureKind::RateLimited, words) }
    }

    /// The provider refused the request. If it asks for a wait, the others wait, too.
    pub(super) fn refused_for(&self, kind: FailureKind, retry_after_ms: Option<u64>) {
        if !is_passing(kind) {
            return;
        }
        self.took(&Usage::default());
        let Some(wait_ms) = retry_after_ms else { return };
        tracing::debug!(model = &*self.model, wait_ms, "the provider asks for a wait");
        self.server.turns.with_lane(&self.model, |lane| lane.refused(wait_ms));
    }

    /// A reply begins. Its headers may say that nothing remains for the next ones.
    pub(super) fn learn(&self, headers: &HeaderMap) {
        if let Some(wait_ms) = spent(headers) {
            self.server.turns.with_lane(&self.model, |lane| lane.spent(wait_ms));
        }
    }

    /// Counts the tokens that the request took, in place of the estimate.
    pub(super) fn took(&self, usage: &Usage) {
        if let Some(turn) = &self.turn {
            turn.took(usage.total());
        }
    }
}

impl Why {
    fn words(self) -> String {
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
