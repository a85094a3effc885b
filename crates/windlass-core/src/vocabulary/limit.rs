//! Quantities that limits count.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_macros::Named;

/// Quantity that a limit counts.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema, Named,
)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Accepted model calls that act; retries of the transport do not count.
    ModelCalls,
    /// Inner loops up to an answer.
    Iterations,
    /// Turns whose calls were run.
    ToolRounds,
    /// Calls that were let run; further tries of one call do not count.
    ToolCalls,
    /// Steps of all plan versions that were run.
    PlanSteps,
    /// Further tries of failed calls.
    Retries,
    /// Input and output tokens.
    Tokens,
    /// Input tokens.
    InputTokens,
    /// Output tokens.
    OutputTokens,
    /// Seconds since the start.
    Seconds,
    /// Seconds without content, results of tools or usage, while models are asked or tools run. Time in which the run waits
    /// for people, for a quota or for its agents does not count.
    StallSeconds,
    /// Cost in USD. Every model needs `prices`.
    CostUsd,
    /// Equal calls in a row: set by `repetition`, not by `limits`.
    #[schemars(skip)]
    Repetition,
}

impl LimitKind {
    /// All that `limits` may name, in the order of the documentation.
    pub const SETTABLE: [Self; 12] = [
        Self::ModelCalls,
        Self::Iterations,
        Self::ToolRounds,
        Self::ToolCalls,
        Self::PlanSteps,
        Self::Retries,
        Self::Tokens,
        Self::InputTokens,
        Self::OutputTokens,
        Self::Seconds,
        Self::StallSeconds,
        Self::CostUsd,
    ];

    /// The limit of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::SETTABLE.into_iter().find(|kind| kind.name() == name)
    }

    /// The unit in which values are kept: milliseconds for seconds, pico-dollars for cost.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Seconds | Self::StallSeconds => "ms",
            Self::CostUsd => "pico-dollars",
            Self::Tokens | Self::InputTokens | Self::OutputTokens => "tokens",
            Self::ModelCalls
            | Self::Iterations
            | Self::ToolRounds
            | Self::ToolCalls
            | Self::PlanSteps
            | Self::Retries
            | Self::Repetition => "",
        }
    }

    /// Number of stored units per written unit.
    pub fn scale(self) -> f64 {
        match self {
            Self::Seconds | Self::StallSeconds => 1e3,
            Self::CostUsd => 1e12,
            Self::ModelCalls
            | Self::Iterations
            | Self::ToolRounds
            | Self::ToolCalls
            | Self::PlanSteps
            | Self::Retries
            | Self::Tokens
            | Self::InputTokens
            | Self::OutputTokens
            | Self::Repetition => 1.0,
        }
    }

    /// Whether values are whole numbers: counts of calls, rounds or tokens.
    pub fn is_count(self) -> bool {
        (self.scale() - 1.0).abs() < f64::EPSILON
    }

    /// A kept value in the unit that people write: `0.5` for half a dollar or half a second.
    pub fn show(self, kept: u64) -> String {
        (kept as f64 / self.scale()).to_string()
    }

    /// The noun for a kept value, which agrees with its number: `model call` of 1, `model calls` of 2.
    pub fn noun(self, kept: u64) -> &'static str {
        let one = self.show(kept) == "1";
        match self {
            Self::ModelCalls if one => "model call",
            Self::ModelCalls => "model calls",
            Self::Iterations if one => "iteration",
            Self::Iterations => "iterations",
            Self::ToolRounds if one => "tool round",
            Self::ToolRounds => "tool rounds",
            Self::ToolCalls if one => "tool call",
            Self::ToolCalls => "tool calls",
            Self::PlanSteps if one => "plan step",
            Self::PlanSteps => "plan steps",
            Self::Retries if one => "retry",
            Self::Retries => "retries",
            Self::Tokens if one => "token",
            Self::Tokens => "tokens",
            Self::InputTokens if one => "input token",
            Self::InputTokens => "input tokens",
            Self::OutputTokens if one => "output token",
            Self::OutputTokens => "output tokens",
            Self::Seconds if one => "second",
            Self::Seconds => "seconds",
            Self::StallSeconds if one => "second without progress",
            Self::StallSeconds => "seconds without progress",
            Self::CostUsd => "USD",
            Self::Repetition if one => "equal call in a row",
            Self::Repetition => "equal calls in a row",
        }
    }

    /// A kept value in words: `1 model call`, `0.25 seconds`, `0.5 USD`.
    pub fn amount(self, kept: u64) -> String {
        format!("{} {}", self.show(kept), self.noun(kept))
    }

    /// A value as people write it, in the kept unit. `None` if it is negative, no number, or a fraction of a count.
    pub fn keep(self, written: f64) -> Option<u64> {
        let kept = (written * self.scale()).round();
        let whole = !self.is_count() || (written - kept).abs() < f64::EPSILON;
        (written.is_finite() && written >= 0.0 && whole && kept <= 9.0e18).then_some(kept as u64)
    }
}

impl fmt::Display for LimitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
