//! The ledger: what a run's model calls have used, what calls that were lost may have used, and whether one more fits.
//!
//! Every model call is admitted before it begins, whatever its purpose, by `decide/admission.rs`. A *reservation* ([`Need`]) is
//! the upper bound of an attempt at the list price of its model. It counts while the call is in progress, and for good if its
//! process died. A *loan* to a child run counts until that run has ended (`budget.rs`). Reservations and loans count against
//! limits but are no usage.

use crate::policy::Policy;
use crate::protocol::fact::calls::DelegationFinished;
use crate::protocol::fact::run::ResumedBy;
use crate::protocol::fact::turns::TurnStarted;
use crate::state::State;
use crate::state::model_calls::ModelCall;
use crate::state::proof::Proof;
use crate::vocabulary::amount::{Amount, BYTES_A_TOKEN, Counters, METERED, Spend};
use crate::vocabulary::annotations::Annotations;
use crate::vocabulary::budget::{Budget, Need, Reservation};
use crate::vocabulary::ids::{ActionId, CallId, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::model::{Carried, ModelChoice, Prices, Wire};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::purpose::{Counts, Place, Purpose};
use crate::vocabulary::reply::Usage;

/// Maximum number of consecutive attempts at one model call that may be lost with their process. After that only a person can
/// resume the run.
pub const LOST_ATTEMPTS: u32 = 5;

/// The purpose of a model call, and the tool call that it is about.
pub(crate) type Subject<'c> = (Purpose, Option<&'c CallId>);

/// Usage and reservations of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ledger {
    /// Usage as counts.
    counters: Counters,
    /// Tokens that this run has used.
    usage: Usage,
    /// Cost of that usage, as far as prices are known.
    cost: u64,
    /// Tokens that were used and whose price is unknown.
    unpriced: u64,
    /// Usage of other runs that counts here. Most runs have none.
    others: Option<Box<Others>>,
    /// Reservations for attempts lost with their process: in this run, in the runs that it continues, and in its child runs.
    reserved: Amount,
    /// Budget lent by the parent run; it caps this run's limits.
    budget: Budget,
    /// Consecutive lost attempts at the current model call since a person last resumed the run.
    lost: u32,
    /// Required tools that have succeeded.
    proof: Proof,
}

/// Usage of other runs that counts for the limits of this one.
#[derive(Clone, Debug, Default, PartialEq)]
struct Others {
    /// The part of the run's usage that its child runs used.
    delegated: Spend,
    /// Usage carried over from the runs that this one continues. It is no part of the run's usage.
    carried: Usage,
    carried_cost: u64,
}

/// Allowance of a closing call beyond the limit that it closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Beyond {
    /// Usage when the closing call began.
    before: Amount,
    /// Reservation of its first attempt; all its attempts together stay within it.
    most: Amount,
}

impl Ledger {
    /// Usage as counts.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Tokens that this run has used.
    pub(crate) fn usage(&self) -> &Usage {
        &self.usage
    }

    /// Required tools that have succeeded.
    pub(crate) fn proof(&self) -> &Proof {
        &self.proof
    }

    /// Adds what a model call used, at the prices of the model that was asked.
    pub(crate) fn count(&mut self, usage: &Usage, prices: Option<&Prices>, ran: Option<&Annotations>) {
        self.add(usage, Prices::cost_of(prices, usage, ran));
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
        let spend = Spend::of(&finished.usage, finished.cost);
        if !spend.is_zero() {
            let others = self.others.get_or_insert_default();
            others.delegated = others.delegated.plus(spend);
        }
        self.reserved = self.reserved.plus(finished.reserved);
    }

    /// Records an attempt that was lost with its process. Its usage is unknown, so its reservation stays.
    fn lose(&mut self, reservation: Amount) {
        self.reserved = self.reserved.plus(reservation);
        self.lost = self.lost.saturating_add(1);
    }

    /// An amount counts against the limits and is no usage: of an attempt beside the one that was lost with its process.
    pub(crate) fn hold(&mut self, reservation: Amount) {
        self.reserved = self.reserved.plus(reservation);
    }

    /// A tool call was let run, or put to a person.
    pub(crate) fn tool_called(&mut self) {
        self.counters.tool_calls += 1;
    }

    /// So many calls were put to a person elsewhere: they are put, and counted, anew.
    pub(crate) fn calls_taken_back(&mut self, asked: u64) {
        self.counters.tool_calls = self.counters.tool_calls.saturating_sub(asked);
    }

    /// The first call of a turn runs.
    pub(crate) fn round_began(&mut self) {
        self.counters.tool_rounds += 1;
    }

    /// A call was tried again.
    pub(crate) fn retried(&mut self) {
        self.counters.retries += 1;
    }

    /// A model call has ended.
    pub(crate) fn model_called(&mut self, purpose: Purpose) {
        self.counters.model_calls += u64::from(purpose.counts() == Counts::AsModelCall);
    }

    /// An iteration begins.
    pub(crate) fn iteration_began(&mut self) {
        self.counters.iterations += 1;
    }

    /// A step of a plan is over; those with `code` count.
    pub(crate) fn plan_step_ended(&mut self, code: bool) {
        self.counters.plan_steps += u64::from(code);
    }

    /// The parent run lends that.
    pub(crate) fn borrow(&mut self, budget: Budget) {
        self.budget = budget;
    }

    /// A person has resumed the run: lost attempts count from here on.
    pub(crate) fn resumed_by_person(&mut self) {
        self.lost = 0;
    }

    /// The outcome of a call may prove that a required tool has succeeded.
    pub(crate) fn prove(&mut self, policy: &Policy, tool: &Text, outcome: &CallOutcome) {
        self.proof.note(policy, tool, outcome);
    }

    /// An answer was sent back for want of proof.
    pub(crate) fn answer_sent_back(&mut self) {
        self.proof.answer_sent_back();
    }

    /// Proofs of the run that this one continues count here.
    pub(crate) fn inherit_proof(&mut self, base: &Self) {
        self.proof = base.proof.clone();
    }

    /// Adds the usage carried over from the run that this one continues.
    pub(crate) fn carry(&mut self, carried: &Carried) {
        self.counters = carried.counters;
        if carried.usage != Usage::default() || carried.cost > 0 {
            let others = self.others.get_or_insert_default();
            (others.carried, others.carried_cost) = (carried.usage, carried.cost);
        }
        self.reserved = carried.reserved;
    }

    /// Usage of this run and of the runs that it continues.
    pub(crate) fn spent(&self) -> Amount {
        let own = Amount { input: self.usage.input, output: self.usage.output, cost: self.cost };
        let Some(others) = &self.others else { return own };
        let Usage { input, output, .. } = others.carried;
        own.plus(Amount { input, output, cost: others.carried_cost })
    }

    /// Usage plus reservations for lost attempts: the amount that limits count.
    pub(crate) fn committed(&self) -> Amount {
        self.spent().plus(self.reserved)
    }

    /// Reservations for lost attempts.
    pub(crate) fn reserved(&self) -> Amount {
        self.reserved
    }

    /// Cost of this run; `None` if a price is unknown.
    pub(crate) fn cost(&self) -> Option<u64> {
        (self.unpriced == 0).then_some(self.cost)
    }

    /// The usage of this run's own model calls: that of child runs is theirs.
    fn own(&self) -> Spend {
        let all = Spend { cost: self.cost, unpriced: self.unpriced, ..Spend::of(&self.usage, Some(0)) };
        self.others.as_ref().map_or(all, |others| all.minus(others.delegated))
    }

    /// Whether an attempt at a closing call that has begun stays within what that one may use beyond its limit. One that
    /// was lost with its process is made again, as any call is.
    pub(crate) fn fits_beyond(&self, kind: LimitKind, beyond: &Beyond, needed: &Amount) -> bool {
        let since = self.spent().of(kind).saturating_sub(beyond.before.of(kind));
        since.saturating_add(needed.of(kind)) <= beyond.most.of(kind)
    }

    /// Usage, cost and reservations that a continuing run carries over.
    pub(crate) fn carried_on(&self) -> (Usage, u64, Amount) {
        let mut usage = self.usage;
        if let Some(others) = &self.others {
            usage.add(&others.carried);
        }
        (usage, self.spent().cost, self.reserved)
    }
}

impl State {
    /// Tokens of what a call would send, by rule of thumb.
    pub(crate) fn estimated_input(&self, subject: Subject<'_>, wire: Wire) -> u64 {
        let (purpose, about) = subject;
        self.view_bytes(purpose, about, wire) / BYTES_A_TOKEN
    }

    /// Upper bound for a call of `model`.
    pub(crate) fn need(&self, subject: Subject<'_>, model: &ModelChoice) -> Need {
        Need::of(self.estimated_input(subject, self.setup.policy().wire_of(model)), model)
    }

    /// Upper bound for a call of `model` that is to begin, with all that enters the conversation as it begins.
    pub(crate) fn need_of_next(&self, next: &TurnStarted, model: &ModelChoice) -> Need {
        let subject = (next.purpose, next.about.as_ref());
        if !self.is_entered(next) {
            return self.leaving_out(&next.without).need(subject, model);
        }
        // A view may word it in its own way, so that only the fold knows its size.
        let mut begun = self.clone();
        begun.step_started(next);
        begun.need(subject, model)
    }

    /// Whether anything enters the conversation as this call begins.
    fn is_entered(&self, next: &TurnStarted) -> bool {
        let waits = || {
            let closing = self.ending.closing().is_some_and(|closing| closing.reached().note.is_some());
            closing || (next.purpose.hears() && !self.conversation.steering().is_empty())
        };
        let fresh = next.turn != self.turn.number();
        next.purpose.place() == Place::Turn && (next.note.is_some() || (fresh && waits()))
    }

    /// Amount of a limit that is used, reserved or lent, given `ledger`. A call that begins does not count itself.
    pub(crate) fn committed(&self, kind: LimitKind, ledger: &Ledger, next: Option<&TurnStarted>) -> u64 {
        let own = |model_call: &&ModelCall| {
            next.is_none_or(|next| {
                model_call.purpose() != next.purpose || model_call.about() != next.about.as_ref()
            })
        };
        let going = self
            .model_calls
            .in_progress()
            .filter(own)
            .map(|model_call| model_call.reserved().total().of(kind));
        let lent = self.loans().filter_map(|loan| loan.get(kind));
        going.chain(lent).fold(ledger.committed().of(kind), u64::saturating_add)
    }

    /// The needs of a model call that is going on, for an account that it draws on before it begins.
    pub fn need_of(&self, action: ActionId) -> Option<Need> {
        let model_call = self.model_call(action)?;
        Some(self.need_of_ask(model_call, self.setup.models().get(model_call.model() as usize)?))
    }

    /// Upper bound for a call of `model` that has begun: of its own request, in which items may be left out.
    fn need_of_ask(&self, model_call: &ModelCall, model: &ModelChoice) -> Need {
        self.as_asked(model_call).need((model_call.purpose(), model_call.about()), model)
    }

    /// The reservation of a model call that is going on.
    pub fn reservation(&self, action: ActionId) -> Option<Reservation> {
        self.model_call(action).map(ModelCall::reserved)
    }

    /// Remaining part of the run's limits on tokens and cost.
    pub(crate) fn left(&self, next: Option<&TurnStarted>) -> Budget {
        Budget::of(None, |kind| {
            let max = self.setup.policy().limit(kind)?;
            Some(max.saturating_sub(self.committed(kind, &self.ledger, next)))
        })
    }

    /// Reservation of a model call that begins now with the current conversation.
    pub(crate) fn reserve(&self, turn: &TurnStarted) -> Reservation {
        let model_call = self.model_calls.get(turn.purpose, turn.about.as_ref());
        let known = model_call.zip(self.setup.models().get(turn.model as usize));
        let need =
            known.map_or_else(Need::unknown, |(model_call, model)| self.need_of_ask(model_call, model));
        need.reserve(&self.left(Some(turn)))
    }

    /// The process that drove the run is gone. A model call that was going on may have been paid.
    pub(crate) fn taken_over(&mut self, by: ResumedBy) {
        if !self.stopping() {
            self.second_attempts_lost();
        }
        for model_call in self.model_calls.iter_mut().filter(|model_call| model_call.retry_at().is_none()) {
            self.ledger.lose(model_call.lost().sure);
        }
        if by == ResumedBy::Person {
            self.ledger.resumed_by_person();
        }
    }

    /// Allowance of a closing call that begins now with the current conversation.
    pub(crate) fn beyond(&self, model: u32) -> Beyond {
        let asked = self.setup.models().get(model as usize);
        let need = asked.map_or_else(Need::unknown, |model| {
            self.need((self.setup.policy().request.purpose, None), model)
        });
        Beyond { before: self.ledger.spent(), most: need.sure }
    }

    /// The usage of the run's own model calls, without those of its child runs. A sum over all runs of a log counts each call once.
    pub fn spend(&self) -> Spend {
        self.ledger.own()
    }

    /// The run's limits on tokens and cost.
    pub fn metered_limits(&self) -> Budget {
        Budget::of(None, |kind| self.setup.policy().limit(kind))
    }

    /// The budget that the run was lent by the run whose task it does.
    pub fn budget(&self) -> &Budget {
        &self.ledger.budget
    }

    /// The rest of the budget that the run was lent: for a further run of the same task.
    pub fn unused_budget(&self) -> Budget {
        self.ledger.budget.less(&self.used_or_lost())
    }

    /// Usage and reservations for lost calls, those of the continued runs included, without the call in progress.
    pub fn used_before(&self) -> Amount {
        self.ledger.committed()
    }

    /// Usage and reservations for lost calls, those of the continued runs included, plus the reservation that the call in
    /// progress would leave if its process died now.
    pub fn used_or_lost(&self) -> Amount {
        self.ledger.spent().plus(self.reserved_if_lost())
    }

    /// The amount that stays reserved if the process that drives the run dies now.
    pub fn reserved_if_lost(&self) -> Amount {
        self.model_calls
            .in_progress()
            .fold(self.ledger.reserved, |sum, model_call| sum.plus(model_call.reserved().sure))
    }

    /// The limits on tokens and cost that were exceeded: the limit, its value, and the usage in its stored unit. Calls of
    /// models without `max_tokens`, and the one closing call, may exceed them.
    pub fn overshoots(&self) -> impl Iterator<Item = (LimitKind, u64, u64)> + '_ {
        METERED.into_iter().filter_map(|kind| {
            let (max, used) = (self.setup.policy().limit(kind)?, self.ledger.spent().of(kind));
            (used > max).then_some((kind, max, used))
        })
    }

    /// The limits that more was used of than there was.
    pub fn overshot_limits(&self) -> Vec<LimitKind> {
        self.overshoots().map(|(kind, ..)| kind).collect()
    }

    /// The run's limits are no higher than what it was lent.
    pub(crate) fn stay_within_budget(&mut self) {
        self.setup.stay_within(&self.ledger.budget);
    }

    /// Reservations for attempts at model calls that were lost with their process. They count against limits and are no usage.
    pub fn reserved(&self) -> Amount {
        self.ledger.reserved()
    }

    /// Consecutive attempts at one model call that were lost if the process that drives the run is gone now, the one in
    /// progress included.
    pub fn lost_attempts(&self) -> u32 {
        if self.model_calls.in_progress().next().is_some() { self.ledger.lost.saturating_add(1) } else { 0 }
    }

    /// Whether so many consecutive attempts at one model call were lost that only a person should resume the run. Meant for
    /// runs without a driver.
    pub fn is_given_up(&self) -> bool {
        self.lost_attempts() >= LOST_ATTEMPTS
    }
}
