//! Budgets: what a run may use of another run's limits, and how several runs draw on one limit.

use serde::{Deserialize, Serialize};

use crate::vocabulary::amount::{Amount, METERED};
use crate::vocabulary::ids::RunId;
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::model::{ModelChoice, Prices};

/// The most output tokens that a call reserves whose model names no `max_tokens`.
pub const OPEN_OUTPUT: u64 = 4_096;

/// A part of a run's limits on tokens and cost, for a run that does a task of it. `None`: that limit is not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Input and output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Input tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Output tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Cost, in pico-dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    /// The run on whose account each model call draws before it begins, because several runs share one limit
    /// ([`Share::Shared`](crate::policy::Share::Shared)). `None`: the amounts belong to the run alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<RunId>,
}

impl Budget {
    /// The amount for a limit, in its kept unit.
    pub fn get(&self, kind: LimitKind) -> Option<u64> {
        match kind {
            LimitKind::Tokens => self.tokens,
            LimitKind::InputTokens => self.input_tokens,
            LimitKind::OutputTokens => self.output_tokens,
            LimitKind::CostUsd => self.cost,
            LimitKind::ModelCalls
            | LimitKind::Iterations
            | LimitKind::ToolRounds
            | LimitKind::ToolCalls
            | LimitKind::PlanSteps
            | LimitKind::Retries
            | LimitKind::Seconds
            | LimitKind::StallSeconds
            | LimitKind::Repetition => None,
        }
    }

    /// The amounts that `of` gives for each limit on tokens and cost.
    pub fn of(account: Option<RunId>, of: impl Fn(LimitKind) -> Option<u64>) -> Self {
        Self {
            tokens: of(LimitKind::Tokens),
            input_tokens: of(LimitKind::InputTokens),
            output_tokens: of(LimitKind::OutputTokens),
            cost: of(LimitKind::CostUsd),
            account,
        }
    }

    /// Whether no limit is set.
    pub fn is_unlimited(&self) -> bool {
        METERED.into_iter().all(|kind| self.get(kind).is_none())
    }

    /// The rest of the budget after this use.
    #[must_use]
    pub fn less(&self, used: &Amount) -> Self {
        Self::of(self.account, |kind| Some(self.get(kind)?.saturating_sub(used.of(kind))))
    }
}

/// The needs of a model call: the most that it may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// Its estimated input and its model's `max_tokens`, at the list price: reserved whole.
    pub sure: Amount,
    /// The price of one output token in pico-dollars, where the model names no `max_tokens`: such a call begins if its input
    /// can be paid, and reserves at most [`OPEN_OUTPUT`] tokens of what is left.
    open: Option<u64>,
}

/// The reservation of a model call that is going on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reservation {
    /// Amount that stays reserved if the call is lost with its process: its usage is then unknown.
    pub sure: Amount,
    /// Possible further usage if the model has no `max_tokens`.
    open: Amount,
}

impl Reservation {
    /// The sure and the open part together.
    pub fn total(&self) -> Amount {
        self.sure.plus(self.open)
    }
}

/// Why a call does not begin: too little is left of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    /// Of which limit.
    pub limit: LimitKind,
    /// Amount that the call needs, in the limit's stored unit.
    pub needed: u64,
    /// Amount that is left.
    pub left: u64,
}

impl Need {
    /// Upper bound for a call of `model` with `input` tokens.
    pub fn of(input: u64, model: &ModelChoice) -> Self {
        let unknown = Prices::default();
        let prices = model.prices.as_ref().unwrap_or(&unknown);
        let sure = Amount::priced(input, model.max_tokens.unwrap_or(0), prices);
        let open = model.max_tokens.is_none().then_some(prices.output);
        Self { sure, open }
    }

    /// The same for a call of no model that is known.
    pub(crate) fn unknown() -> Self {
        Self::default()
    }

    /// Amount of a limit that must be left for the call to begin. The input size is estimated in tokens. A call without a bound
    /// on its reply begins as long as any tokens are left; an overshoot is reported.
    pub(crate) fn needed(&self, limit: LimitKind) -> u64 {
        if self.open.is_some() && limit != LimitKind::CostUsd { 0 } else { self.sure.of(limit) }
    }

    /// Reservation for the call, if it fits into what is left. No call begins once a limit is used up, however small the call
    /// is.
    ///
    /// # Errors
    /// The limit that has too little left.
    pub fn of_left(&self, left: &Budget) -> Result<Reservation, Short> {
        for limit in METERED {
            let Some(left) = left.get(limit) else { continue };
            let needed = self.needed(limit);
            if left == 0 || needed > left {
                return Err(Short { limit, needed, left });
            }
        }
        Ok(self.reserve(left))
    }

    /// Reservation for the call, whether or not it fits.
    pub(crate) fn reserve(&self, left: &Budget) -> Reservation {
        let Some(price) = self.open else { return Reservation { sure: self.sure, open: Amount::default() } };
        let left = left.less(&self.sure);
        let tokens = [left.tokens, left.output_tokens, left.cost.and_then(|cost| cost.checked_div(price))];
        let output = tokens.into_iter().flatten().min().unwrap_or(OPEN_OUTPUT).min(OPEN_OUTPUT);
        let cost = output.saturating_mul(price);
        Reservation { sure: self.sure, open: Amount { input: 0, output, cost } }
    }
}

/// An account: one limit that several runs draw on, first come first served.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// The limits.
    most: Budget,
    /// Usage, including calls lost with their process.
    used: Amount,
    /// Reservations of calls in progress.
    going: Amount,
}

/// Why a call does not draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undrawn {
    /// It may fit once calls that are going on have ended.
    NotYet(Short),
    /// It does not fit.
    Never(Short),
}

impl Account {
    /// An account with these limits of which that much was used.
    pub fn new(most: Budget, used: Amount) -> Self {
        Self { most, used, going: Amount::default() }
    }

    /// Sets the limits anew. Says whether they are others than before.
    pub fn limit(&mut self, most: Budget) -> bool {
        let changed = self.most != most;
        self.most = most;
        changed
    }

    /// The rest of the limits.
    pub fn left(&self) -> Budget {
        self.most.less(&self.used.plus(self.going))
    }

    /// Reserves what a call may use.
    ///
    /// # Errors
    /// Too little is left.
    pub fn draw(&mut self, need: &Need) -> Result<Reservation, Undrawn> {
        match need.of_left(&self.left()) {
            Ok(reserved) => {
                self.going = self.going.plus(reserved.total());
                Ok(reserved)
            }
            Err(short) => Err(match need.of_left(&self.most.less(&self.used)) {
                Ok(_) => Undrawn::NotYet(short),
                Err(_) => Undrawn::Never(short),
            }),
        }
    }

    /// A call has ended, and used that much.
    pub fn settle(&mut self, reserved: &Reservation, used: Amount) {
        self.going = self.going.minus(reserved.total());
        self.used = self.used.plus(used);
    }
}

#[cfg(test)]
mod tests;
