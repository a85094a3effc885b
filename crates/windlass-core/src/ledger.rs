//! The ledger: what a run's model calls have used, what calls that were lost may have used, and whether one more fits.
//!
//! Every model call passes [`Ledger::fits`] before it begins, whatever it is for (`decide/admission.rs` is the one door).
//! A *reservation* is what an attempt may use: its estimated input and the model's explicit `max_tokens`, at the list
//! price of the model that is asked. While a call is going on nothing else is asked, so its reservation is only looked
//! at; one whose process died keeps it for good. Reservations are no usage: they count for limits and nothing else.

use serde::{Deserialize, Serialize};

use crate::asks::Ask;
use crate::choice::{Carried, ModelChoice, Prices};
use crate::event::{Purpose, ResumedBy};
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
    fn priced(input: u64, output: u64, prices: Prices) -> Self {
        let cost = prices.cost(&Usage { input, output, ..Usage::default() });
        Self { input, output, cost }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cost: self.cost.saturating_add(other.cost),
        }
    }

    /// What of it a limit counts, in the limit's kept unit.
    pub(crate) fn of(&self, kind: LimitKind) -> u64 {
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

/// What limits count.
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
    /// Whether tokens were used whose price is unknown.
    unpriced: bool,
    /// What the runs used that this one goes on from.
    carried: Usage,
    carried_cost: u64,
    /// Reserved for attempts that were lost with their process, here and in the runs that this one goes on from.
    reserved: Amount,
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

    /// Adds what a task used that another agent did.
    pub(crate) fn add(&mut self, usage: &Usage, cost: Option<u64>) {
        self.usage.add(usage);
        self.cost = self.cost.saturating_add(cost.unwrap_or(0));
        self.unpriced |= cost.is_none() && usage.total() > 0;
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
        (!self.unpriced).then_some(self.cost)
    }

    /// Whether a call that may use that fits into a limit. A limit that is used up lets nothing begin, however small.
    /// Limits on tokens let a call begin until they are reached, limits on cost only one that they can pay.
    pub(crate) fn fits(&self, kind: LimitKind, max: u64, needed: &Amount) -> bool {
        let committed = self.committed().of(kind);
        let needed = if kind == LimitKind::CostUsd { needed.cost } else { 0 };
        committed < max && committed.saturating_add(needed) <= max
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

    /// What a call of a model may use: its estimated input, and its output as far as that is bounded.
    pub(crate) fn reservation(&self, purpose: Purpose, model: &ModelChoice, more: u64) -> Amount {
        let input = self.estimated_input(purpose, self.setup.policy.wire_of(model), more);
        let output = model.max_tokens.unwrap_or(0);
        Amount::priced(input, output, model.prices.unwrap_or_default())
    }

    /// What the model call that is going on may use: its request is the conversation as it stands.
    fn call_reservation(&self, ask: &Ask) -> Amount {
        let model = self.setup.models.get(ask.model as usize);
        model.map_or_else(Amount::default, |model| self.reservation(ask.purpose, model, 0))
    }

    /// The process that drove the run is gone. A model call that was going on may have been paid.
    pub(crate) fn taken_over(&mut self, by: ResumedBy) {
        let lost: Vec<Amount> = self.asks.asked().map(|ask| self.call_reservation(ask)).collect();
        for reservation in lost {
            self.ledger.lose(reservation);
        }
        if by == ResumedBy::Person {
            self.ledger.lost = 0;
        }
    }

    /// What a closing call may use that begins now, its request being the conversation as it stands.
    pub(crate) fn beyond(&self, model: u32) -> Beyond {
        let asked = self.setup.models.get(model as usize);
        let most = asked.map_or_else(Amount::default, |model| {
            self.reservation(self.setup.policy.request.purpose, model, 0)
        });
        Beyond { before: self.ledger.spent(), most }
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
