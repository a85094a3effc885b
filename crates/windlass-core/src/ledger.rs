//! The ledger: what a run's model calls have used, what calls that were lost may have used, and whether one more fits.
//!
//! Every model call is admitted before it begins, whatever it is for (`decide/admission.rs` is the one door). A *reservation*
//! ([`Need`]) is what an attempt may use, at the list price of the model that is asked. It counts while the call is going on;
//! one whose process died keeps it for good. What is *lent* to other runs counts until they have ended (`budget.rs`).
//! Reservations and loans are no usage: they count for limits and nothing else.

use serde::{Deserialize, Serialize};

use crate::asks::Ask;
use crate::budget::{Budget, Need, Reservation};
use crate::choice::{Carried, ModelChoice, Prices};
use crate::event::{DelegationFinished, Purpose, ResumedBy, TurnStarted};
use crate::ids::ActionId;
use crate::policy::{LimitKind, Wire};
use crate::reply::Usage;
use crate::state::State;

/// Estimated bytes of a token: a rule of thumb that needs no tokenizer.
pub(crate) const BYTES_A_TOKEN: u64 = 4;

/// How many attempts at one model call may be lost with their process, with nothing between, before the run is left alone
/// until a person lets it go on.
pub const LOST_ATTEMPTS: u32 = 5;

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
    pub(crate) fn priced(input: u64, output: u64, prices: Prices) -> Self {
        let cost = prices.cost(&Usage { input, output, ..Usage::default() });
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

    pub(crate) fn minus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cost: self.cost.saturating_sub(other.cost),
        }
    }

    /// What of it a limit counts, in the limit's kept unit.
    pub fn of(&self, kind: LimitKind) -> u64 {
        match kind {
            LimitKind::Tokens => self.input.saturating_add(self.output),
            LimitKind::InputTokens => self.input,
            LimitKind::OutputTokens => self.output,
            LimitKind::CostUsd => self.cost,
            LimitKind::ModelCalls
            | LimitKind::ToolRounds
            | LimitKind::ToolCalls
            | LimitKind::Retries
            | LimitKind::Seconds
            | LimitKind::Repetition => 0,
        }
    }

    /// Whether there is nothing of it.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }
}

/// The counters that limits look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Accepted model calls that act.
    pub model_calls: u64,
    /// Turns whose calls were run.
    pub tool_rounds: u64,
    /// Calls that were let run.
    pub tool_calls: u64,
    /// Further tries of failed calls.
    pub retries: u64,
}

/// What a run has used and reserved.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ledger {
    /// What is counted by number.
    pub(crate) counters: Counters,
    /// Tokens that this run has used.
    pub(crate) usage: Usage,
    /// What they cost, as far as prices are known.
    cost: u64,
    /// Tokens that were used and whose price is unknown.
    unpriced: u64,
    /// What the runs used that this one goes on from.
    carried: Usage,
    carried_cost: u64,
    /// Reserved for attempts that were lost with their process, here, in the runs that this one goes on from, and in those that
    /// did tasks of it.
    reserved: Amount,
    /// What the run was lent by the one that handed it its task: its limits are no higher.
    pub(crate) budget: Budget,
    /// How many attempts at the current model call were lost in a row, since a person last let the run go on.
    pub(crate) lost: u32,
}

/// What a closing call may use beyond the limit that it closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beyond {
    /// What was used when it began.
    pub(crate) before: Amount,
    /// What its first attempt reserves: all its attempts together stay within that.
    pub(crate) most: Amount,
}

impl Ledger {
    /// Adds what a model call used, at the prices of the model that was asked.
    pub(crate) fn count(&mut self, usage: &Usage, prices: Option<Prices>) {
        self.add(usage, prices.map(|prices| prices.cost(usage)));
        self.lost = 0;
    }

    fn add(&mut self, usage: &Usage, cost: Option<u64>) {
        self.usage.add(usage);
        self.cost = self.cost.saturating_add(cost.unwrap_or(0));
        if cost.is_none() {
            self.unpriced = self.unpriced.saturating_add(usage.total());
        }
    }

    /// Adds what another agent's task used, with what stays reserved for calls that were lost there.
    pub(crate) fn returned(&mut self, finished: &DelegationFinished) {
        self.add(&finished.usage, finished.cost);
        self.reserved = self.reserved.plus(finished.reserved);
    }

    /// An attempt was lost with its process: nobody can say what it used.
    fn lose(&mut self, reservation: Amount) {
        self.reserved = self.reserved.plus(reservation);
        self.lost = self.lost.saturating_add(1);
    }

    /// Takes over what the run used that this one goes on from.
    pub(crate) fn carry(&mut self, carried: &Carried) {
        self.counters = carried.counters;
        self.carried = carried.usage;
        self.carried_cost = carried.cost;
        self.reserved = carried.reserved;
    }

    /// What was used, by this run and those that it goes on from.
    pub(crate) fn spent(&self) -> Amount {
        let own = Amount { input: self.usage.input, output: self.usage.output, cost: self.cost };
        own.plus(Amount { input: self.carried.input, output: self.carried.output, cost: self.carried_cost })
    }

    /// What was used or may have been: what limits count.
    pub(crate) fn committed(&self) -> Amount {
        self.spent().plus(self.reserved)
    }

    /// What is reserved for attempts that were lost.
    pub(crate) fn reserved(&self) -> Amount {
        self.reserved
    }

    /// What this run cost; `None` where a price is unknown.
    pub(crate) fn cost(&self) -> Option<u64> {
        (self.unpriced == 0).then_some(self.cost)
    }

    /// Whether an attempt at a closing call that has begun stays within what that one may use beyond its limit. One that
    /// was lost with its process is made again, as any call is.
    pub(crate) fn fits_beyond(&self, kind: LimitKind, beyond: &Beyond, needed: &Amount) -> bool {
        let since = self.spent().of(kind).saturating_sub(beyond.before.of(kind));
        since.saturating_add(needed.of(kind)) <= beyond.most.of(kind)
    }

    /// What a run takes over that goes on from this one: usage, cost, reservations.
    pub(crate) fn carried_on(&self) -> (Usage, u64, Amount) {
        let mut usage = self.usage;
        usage.add(&self.carried);
        (usage, self.spent().cost, self.reserved)
    }
}

impl State {
    /// Tokens of what a call would send, by rule of thumb, `more` bytes of text included that enter with it.
    pub(crate) fn estimated_input(&self, purpose: Purpose, wire: Wire, more: u64) -> u64 {
        self.view_bytes(purpose, wire).saturating_add(more) / BYTES_A_TOKEN
    }

    /// What a call of a model may use; `more` bytes of text enter with it.
    pub(crate) fn need(&self, purpose: Purpose, model: &ModelChoice, more: u64) -> Need {
        Need::of(self.estimated_input(purpose, self.setup.policy.wire_of(model), more), model)
    }

    /// How much of a limit is used, reserved or lent, with what a ledger holds: what a call that begins does not count itself.
    pub(crate) fn committed(&self, kind: LimitKind, ledger: &Ledger, next: Option<&TurnStarted>) -> u64 {
        let own = |ask: &&Ask| next.is_none_or(|next| ask.purpose != next.purpose || ask.about != next.about);
        let going = self.asks.asked().filter(own).map(|ask| ask.reserved.total().of(kind));
        let lent = self.loans().filter_map(|loan| loan.get(kind));
        going.chain(lent).fold(ledger.committed().of(kind), u64::saturating_add)
    }

    /// The needs of a model call that is going on, for an account that it draws on before it begins.
    pub fn need_of(&self, action: ActionId) -> Option<Need> {
        let ask = self.asked(action)?;
        Some(self.need(ask.purpose, self.setup.models.get(ask.model as usize)?, 0))
    }

    /// The reservation of a model call that is going on.
    pub fn reservation(&self, action: ActionId) -> Option<Reservation> {
        self.asked(action).map(|ask| ask.reserved)
    }

    /// What is left of the run's limits on tokens and cost.
    pub(crate) fn left(&self, next: Option<&TurnStarted>) -> Budget {
        Budget::of(None, |kind| {
            let max = self.setup.policy.limit(kind)?;
            Some(max.saturating_sub(self.committed(kind, &self.ledger, next)))
        })
    }

    /// What a model call reserves that begins now, its request being the conversation as it stands.
    pub(crate) fn reserve(&self, turn: &TurnStarted) -> Reservation {
        let model = self.setup.models.get(turn.model as usize);
        let need = model.map_or_else(Need::unknown, |model| self.need(turn.purpose, model, 0));
        need.reserve(&self.left(Some(turn)))
    }

    /// The process that drove the run is gone. A model call that was going on may have been paid.
    pub(crate) fn taken_over(&mut self, by: ResumedBy) {
        for ask in self.asks.iter_mut().filter(|ask| ask.retry_at.is_none()) {
            self.ledger.lose(std::mem::take(&mut ask.reserved).sure);
        }
        if by == ResumedBy::Person {
            self.ledger.lost = 0;
        }
    }

    /// What a closing call may use beyond the limit that begins now, its request being the conversation as it stands.
    pub(crate) fn beyond(&self, model: u32) -> Beyond {
        let asked = self.setup.models.get(model as usize);
        let need =
            asked.map_or_else(Need::unknown, |model| self.need(self.setup.policy.request.purpose, model, 0));
        Beyond { before: self.ledger.spent(), most: need.sure }
    }

    /// The run's limits on tokens and cost.
    pub fn metered_limits(&self) -> Budget {
        Budget::of(None, |kind| self.setup.policy.limit(kind))
    }

    /// The budget that the run was lent by the run whose task it does.
    pub fn budget(&self) -> &Budget {
        &self.ledger.budget
    }

    /// The rest of the budget that the run was lent: for a further run of the same task.
    pub fn unused_budget(&self) -> Budget {
        self.ledger.budget.less(&self.used_or_lost())
    }

    /// What the run has used, or what may have been used by calls that were lost before, with what it goes on from.
    pub fn used_before(&self) -> Amount {
        self.ledger.committed()
    }

    /// What the run has used or may have used, with what it goes on from: its usage, what is reserved for lost calls, and what
    /// a call that is going on would keep reserved if its process died now.
    pub fn used_or_lost(&self) -> Amount {
        self.ledger.spent().plus(self.reserved_if_lost())
    }

    /// The amount that stays reserved if the process that drives the run dies now.
    pub fn reserved_if_lost(&self) -> Amount {
        self.asks.asked().fold(self.ledger.reserved, |sum, ask| sum.plus(ask.reserved.sure))
    }

    /// Where more was used than a limit on tokens or cost allows: the limit, and what was used, in its kept unit. Calls of models
    /// without `max_tokens`, and the one closing call, may go beyond.
    pub fn overshoots(&self) -> impl Iterator<Item = (LimitKind, u64, u64)> + '_ {
        METERED.into_iter().filter_map(|kind| {
            let (max, used) = (self.setup.policy.limit(kind)?, self.ledger.spent().of(kind));
            (used > max).then_some((kind, max, used))
        })
    }

    /// The run's limits are no higher than what it was lent.
    pub(crate) fn stay_within_budget(&mut self) {
        for kind in METERED {
            let Some(lent) = self.ledger.budget.get(kind) else { continue };
            if self.setup.policy.limit(kind).is_none_or(|own| own > lent) {
                std::sync::Arc::make_mut(&mut self.setup.policy).set_limit_value(kind, lent);
            }
        }
    }

    /// What is reserved for attempts at model calls that were lost with their process: it counts for limits, and is no
    /// part of the usage.
    pub fn reserved(&self) -> Amount {
        self.ledger.reserved()
    }

    /// How many attempts at one model call were lost in a row if the process that drives the run is gone now: the one that
    /// was going on is lost, too.
    pub fn lost_attempts(&self) -> u32 {
        if self.asks.asked().next().is_some() { self.ledger.lost.saturating_add(1) } else { 0 }
    }

    /// Whether so many attempts at one model call were lost in a row that only a person should let the run go on. It looks
    /// at runs that nobody drives.
    pub fn is_given_up(&self) -> bool {
        self.lost_attempts() >= LOST_ATTEMPTS
    }
}
