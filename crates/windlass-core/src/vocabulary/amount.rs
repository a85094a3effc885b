//! Amounts of tokens and money, and the counters that limits look at.

use serde::{Deserialize, Serialize};

use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::model::Prices;
use crate::vocabulary::reply::Usage;

/// Estimated bytes of a token: a rule of thumb that needs no tokenizer.
pub(crate) const BYTES_A_TOKEN: u64 = 4;

/// Tokens of a text by the rule of thumb that requests are estimated by: four bytes a token.
pub fn estimated_tokens(text: &str) -> u64 {
    text.len() as u64 / BYTES_A_TOKEN
}

/// The limits that the ledger counts.
pub(crate) const METERED: [LimitKind; 4] =
    [LimitKind::Tokens, LimitKind::InputTokens, LimitKind::OutputTokens, LimitKind::CostUsd];

/// Tokens, and what they cost at list price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Tokens of requests.
    pub input: u64,
    /// Tokens of replies.
    pub output: u64,
    /// Their cost, in pico-dollars.
    pub cost: u64,
}

impl Amount {
    /// These tokens at these prices.
    pub(crate) fn priced(input: u64, output: u64, prices: &Prices) -> Self {
        let dearest = Prices { input: prices.most_input(), ..prices.clone() };
        let cost = dearest.cost(&Usage { input, output, ..Usage::default() });
        Self { input, output, cost }
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cost: self.cost.saturating_add(other.cost),
        }
    }

    /// The rest of it without the other.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cost: self.cost.saturating_sub(other.cost),
        }
    }

    /// Amount that a limit counts, in the limit's stored unit.
    pub fn of(&self, kind: LimitKind) -> u64 {
        match kind {
            LimitKind::Tokens => self.input.saturating_add(self.output),
            LimitKind::InputTokens => self.input,
            LimitKind::OutputTokens => self.output,
            LimitKind::CostUsd => self.cost,
            LimitKind::ModelCalls
            | LimitKind::Iterations
            | LimitKind::ToolRounds
            | LimitKind::ToolCalls
            | LimitKind::PlanSteps
            | LimitKind::Retries
            | LimitKind::Seconds
            | LimitKind::StallSeconds
            | LimitKind::Repetition => 0,
        }
    }

    /// Whether there is nothing of it.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// Tokens of model calls, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spend {
    /// Tokens of requests, cached ones included.
    pub input: u64,
    /// Tokens of replies, reasoning included.
    pub output: u64,
    /// Tokens of requests that came from a provider's cache (part of `input`).
    pub cached: u64,
    /// Tokens of requests that were written to a provider's cache (part of `input`).
    pub cache_write: u64,
    /// Tokens of replies that were reasoning (part of `output`).
    pub reasoning: u64,
    /// Their cost in pico-dollars, without `unpriced` ones.
    pub cost: u64,
    /// Tokens whose price is unknown.
    pub unpriced: u64,
}

impl Spend {
    /// This usage, at this cost; `None`: its price is unknown.
    pub fn of(usage: &Usage, cost: Option<u64>) -> Self {
        let Usage { input, output, cached, cache_write, reasoning, .. } = *usage;
        let unpriced = if cost.is_none() { usage.total() } else { 0 };
        Self { input, output, cached, cache_write, reasoning, cost: cost.unwrap_or(0), unpriced }
    }

    /// Whether there is nothing of it.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// The rest of it without the other.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.with(other, u64::saturating_sub)
    }

    fn with(self, other: Self, each: fn(u64, u64) -> u64) -> Self {
        Self {
            input: each(self.input, other.input),
            output: each(self.output, other.output),
            cached: each(self.cached, other.cached),
            cache_write: each(self.cache_write, other.cache_write),
            reasoning: each(self.reasoning, other.reasoning),
            cost: each(self.cost, other.cost),
            unpriced: each(self.unpriced, other.unpriced),
        }
    }
}

/// The counters that limits look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Accepted model calls that act.
    pub model_calls: u64,
    /// Inner loops up to an answer that began.
    #[serde(default)]
    pub iterations: u64,
    /// Turns whose calls were run.
    pub tool_rounds: u64,
    /// Calls that were let run.
    pub tool_calls: u64,
    /// Steps of all plan versions that were run.
    #[serde(default)]
    pub plan_steps: u64,
    /// Further tries of failed calls.
    pub retries: u64,
}
