//! Admission: the one door to model calls.
//!
//! First calls, further tries, fallbacks, calls on another wire, forced finishes, closing calls, corrections, calls after a
//! hook and calls after a take-over all begin in [`Decision::begin`], at the price of the model that would be asked.

use crate::machine::decision::Decision;
use crate::policy::values::Turns;
use crate::protocol::fact::turns::{TurnFailed, TurnStarted};
use crate::state::ending::Closing;
use crate::state::ledger::Ledger;
use crate::state::model_calls::ModelCall;
use crate::vocabulary::amount::METERED;
use crate::vocabulary::budget::Need;
use crate::vocabulary::ids::{Millis, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::outcome::FailKind;
use crate::vocabulary::purpose::{Counts, Place};
use crate::vocabulary::reply::{FailureKind, ModelFailure, Usage};

/// Why a model call does not begin.
pub(crate) enum Refusal {
    /// A limit is used up, or too little of it is left.
    Limit {
        /// The limit.
        limit: LimitKind,
        /// Usage of that limit.
        reached: u64,
        /// Reservation of the call, if it exceeds what is left.
        needed: u64,
    },
    /// The price of this model is unknown, and cost is limited.
    Unpriced(Text),
}

impl Refusal {
    /// That limit is used up.
    fn used_up(limit: LimitKind, reached: u64) -> Self {
        Self::Limit { limit, reached, needed: 0 }
    }

    /// The limit that does not admit it.
    pub(crate) fn limit(&self) -> Option<LimitKind> {
        match self {
            Self::Limit { limit, .. } => Some(*limit),
            Self::Unpriced(_) => None,
        }
    }
}

/// A model call that is to begin.
struct Wanted<'c> {
    next: &'c TurnStarted,
    /// The run's ledger including the usage of the previous attempt.
    ledger: &'c Ledger,
    /// Upper bound of the call.
    need: Need,
}

/// When a failed call is tried again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retry {
    pub(crate) at: Millis,
    /// Whether that is when a quota opens.
    pub(crate) for_quota: bool,
}

impl Decision {
    /// Begins a model call if it is admitted; otherwise ends the run at the limit under the limit's policy.
    pub(crate) fn begin(&mut self, next: TurnStarted) {
        if self.is_held_back(&next) {
            return;
        }
        match self.admits(&self.state.ledger, &next) {
            Ok(()) => self.record(next),
            Err(_) if next.purpose.place() == Place::Background => self.refuse_background(&next),
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// Whether a model call may begin now.
    pub(crate) fn is_admitted(&self, next: &TurnStarted) -> bool {
        self.admits(&self.state.ledger, next).is_ok()
    }

    /// A call beside the loop that is open may not go on: the loop goes on without it.
    fn refuse_background(&mut self, next: &TurnStarted) {
        let Some(model_call) = self.state.model_calls.get(next.purpose, next.about.as_ref()).cloned() else {
            return;
        };
        let why = "the limits of the run leave too little for it";
        let model = self.state.model_name(next.model);
        let failure = ModelFailure::new(FailureKind::Cancelled, why, model);
        (model_call.purpose().rules().failed)(self, &model_call, failure);
    }

    /// Another attempt follows one that failed, after a wait, if it is admitted with what that one used.
    pub(crate) fn begin_after(
        &mut self,
        failed: &ModelCall,
        failure: ModelFailure,
        wait: u64,
        next: TurnStarted,
    ) {
        self.begin_at(failed, failure, Retry { at: self.at.saturating_add(wait), for_quota: false }, next);
    }

    /// The same at a time, which may be when a quota opens.
    pub(crate) fn begin_at(
        &mut self,
        failed: &ModelCall,
        failure: ModelFailure,
        retry: Retry,
        next: TurnStarted,
    ) {
        let Retry { at, for_quota } = retry;
        let asked = self.state.setup.models().get(failed.model() as usize);
        let mut ledger = self.state.ledger.clone();
        ledger.count(&failure.usage, asked.and_then(|model| model.prices.as_ref()), None);
        let admitted = self.admits(&ledger, &next);
        let rules = failed.purpose().rules();
        if admitted.is_err() && failed.purpose().place() == Place::Background {
            return (rules.failed)(self, failed, failure);
        }
        let retry_at = admitted.is_ok().then_some(at);
        let next_model = Some(next.model).filter(|model| admitted.is_ok() && *model != failed.model());
        let for_quota = for_quota && admitted.is_ok();
        self.record(TurnFailed { retry_at, next_model, for_quota, ..TurnFailed::last(failed, failure) });
        match admitted {
            Ok(()) if at == self.at => self.begin(next),
            Ok(()) => {}
            Err(refusal) => self.refuse(refusal),
        }
    }

    /// Whether a model call may begin after what a ledger holds.
    pub(crate) fn admits(&self, ledger: &Ledger, next: &TurnStarted) -> Result<(), Refusal> {
        let state = &self.state;
        let Some(model) = state.setup.models().get(next.model as usize) else { return Ok(()) };
        if model.prices.is_none() && state.setup.policy().bounds.limits.contains_key(&LimitKind::CostUsd) {
            return Err(Refusal::Unpriced(model.name.clone()));
        }
        let need = state.need_of_next(next, model);
        let call = Wanted { next, ledger, need };
        if let Some(closing) = state.ending.closing() {
            return self.admit_closing(closing, &call);
        }
        let mut limits = state.setup.policy().bounds.limits.iter();
        if next.purpose.place() == Place::Background {
            // It begins no turn: limits on the loop's steps do not stop it.
            return limits
                .filter(|(kind, _)| METERED.contains(kind) || **kind == LimitKind::Seconds)
                .try_for_each(|(kind, limit)| self.within(*kind, limit.max, &call));
        }
        if let Some(cut) = state.turn.cut() {
            let repeat = cut.limit() == LimitKind::Repetition;
            let reached = if repeat { u64::from(cut.repeat()) } else { self.reached(cut.limit()) };
            return Err(Refusal::used_up(cut.limit(), reached));
        }
        if state.setup.policy().bounds.turns == Turns::One && state.turn.accepted() > 0 {
            return Err(Refusal::used_up(LimitKind::ModelCalls, 1));
        }
        limits.try_for_each(|(kind, limit)| self.within(*kind, limit.max, &call))
    }

    /// The exception: one closing call goes beyond the limit that it closes (and beyond the counts of calls, rounds and
    /// seconds), with the calls that correct its output. All attempts at it together stay within what its first one
    /// reserves; of every other limit on tokens and cost it must fit into what is left, and always into what the run was lent.
    fn admit_closing(&self, closing: &Closing, call: &Wanted<'_>) -> Result<(), Refusal> {
        METERED.into_iter().try_for_each(|kind| {
            let Some(max) = self.state.setup.policy().limit(kind) else { return Ok(()) };
            if kind != closing.reached().limit {
                return self.metered(kind, max, call);
            }
            if let Some(lent) = self.state.budget().get(kind) {
                self.metered(kind, lent, call)?;
            }
            let begun = closing.beyond().filter(|_| call.next.turn == self.state.turn.number());
            if begun.is_none_or(|beyond| call.ledger.fits_beyond(kind, &beyond, &call.need.sure)) {
                return Ok(());
            }
            Err(Refusal::used_up(kind, call.ledger.committed().of(kind)))
        })
    }

    /// Whether a call fits into what is left of a limit on tokens or cost. A limit that is used up lets nothing begin,
    /// however small.
    fn metered(&self, kind: LimitKind, max: u64, call: &Wanted<'_>) -> Result<(), Refusal> {
        let committed = self.state.committed(kind, call.ledger, Some(call.next));
        let needed = call.need.needed(kind);
        if committed >= max {
            return Err(Refusal::used_up(kind, committed));
        }
        if committed.saturating_add(needed) > max {
            return Err(Refusal::Limit { limit: kind, reached: committed, needed });
        }
        Ok(())
    }

    /// Whether a limit lets one more model call begin.
    fn within(&self, kind: LimitKind, max: u64, call: &Wanted<'_>) -> Result<(), Refusal> {
        // What serves a step of the loop is not counted as one.
        let step = call.next.purpose.counts() == Counts::AsModelCall;
        let used_up = match kind {
            LimitKind::Tokens | LimitKind::InputTokens | LimitKind::OutputTokens | LimitKind::CostUsd => {
                return self.metered(kind, max, call);
            }
            // With 0 rounds or calls the model is still asked, without tools.
            LimitKind::ToolRounds => step && max > 0 && self.reached(kind) >= max,
            LimitKind::ModelCalls => step && self.reached(kind) >= max,
            // These are checked where the thing that they count is about to happen.
            LimitKind::Iterations
            | LimitKind::ToolCalls
            | LimitKind::PlanSteps
            | LimitKind::Retries
            | LimitKind::StallSeconds
            | LimitKind::Repetition => false,
            LimitKind::Seconds => self.reached(kind) >= max,
        };
        if used_up { Err(Refusal::used_up(kind, self.reached(kind))) } else { Ok(()) }
    }

    /// The run goes where a call leads that was not admitted.
    fn refuse(&mut self, refusal: Refusal) {
        let seconds = matches!(refusal, Refusal::Limit { limit: LimitKind::Seconds, .. });
        let late = seconds
            && self.state.ending.closing().is_none()
            && self.state.model_calls.in_progress().next().is_some();
        if late {
            // The deadline comes first on record, as where it passes while a process is there.
            self.deadline_passed();
        }
        // After a take-over: the attempt that was lost is not made again. What it may have cost is reserved.
        self.abandon_turn("the process died during the call, and no other one is admitted", Usage::default());
        if late {
            return self.after_stop();
        }
        if self.state.ending.closing().is_some() {
            return self.finish_closing(None);
        }
        if self.is_concluded() {
            return;
        }
        match refusal {
            Refusal::Limit { limit, reached, needed } => self.reach(limit, reached, needed),
            Refusal::Unpriced(model) => {
                let error = format!("the run has a limit on cost, but the price of model {model} is unknown");
                self.fail(FailKind::Model, error.into());
            }
        }
    }
}
