//! The fold of a fork's start: the base's state, without what only the base may do.

use crate::policy::Policy;
use crate::policy::values::{Hooks, Stop};
use crate::protocol::fact::fork::Fork;
use crate::protocol::fact::interrupts::Steered;
use crate::state::context::ContextTracker;
use crate::state::open_call::{Origin, Stage};
use crate::state::{Phase, State};
use crate::vocabulary::ids::{Millis, RunId};
use crate::vocabulary::limit::LimitKind;

/// The run that began the work in progress.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Began {
    /// The same agent.
    Here,
    /// Another agent: its word on what may run does not count here.
    Elsewhere,
}

/// The event with which everything that was going on begins anew.
#[derive(Clone, Copy)]
struct NewBeginning {
    /// Its time.
    at: Millis,
    /// Its number.
    seq: u64,
    /// The run that began the work in progress.
    began: Began,
}

impl State {
    /// Copies the base's state except its questions, decisions, rules and cancellation.
    pub(crate) fn forked(&mut self, base: &Self, fork: &Fork, at: Millis, seq: u64) {
        let carried = base.carried();
        self.ledger.carry(&carried);
        self.ledger.inherit_proof(&base.ledger);
        self.clock.forked(carried.elapsed_ms);
        self.questions.count_on_from(&base.questions);
        self.turn = base.turn.clone();
        self.conversation = base.conversation.clone();
        self.progress.clone_from(&base.progress);
        self.ending = base.ending.carried_on();
        if let Some(message) = fork.message.clone() {
            self.conversation.steer(Steered::from(message));
        }
        self.phase = base.phase.clone();
        self.model_calls = base.model_calls.clone();
        let began = if self.setup.agent() == base.setup.agent() { Began::Here } else { Began::Elsewhere };
        let begun = NewBeginning { at, seq, began };
        self.go_on_anew(base.setup.policy(), fork, base.run, begun);
    }

    /// Another agent goes on with the run: what people and the old policy have decided counts no more, and every open
    /// call passes the gate of the new one.
    pub(crate) fn adopted(&mut self, policy: &Policy, at: Millis, seq: u64) {
        self.questions.void();
        // Another agent's models may take what those before refused.
        self.toolbox.forget_refusals();
        // A run is adopted only by a person.
        self.ledger.resumed_by_person();
        self.go_on_anew(
            policy,
            &Fork::default(),
            self.run,
            NewBeginning { at, seq, began: Began::Elsewhere },
        );
    }

    /// Makes everything that was going on wait for its new beginning.
    fn go_on_anew(&mut self, old: &Policy, fork: &Fork, base: RunId, begun: NewBeginning) {
        let NewBeginning { at, seq, began } = begun;
        self.plan_anew();
        let policy = self.setup.policy().clone();
        // What stalled begins anew.
        let holds = |kind| kind != LimitKind::StallSeconds && not_raised(kind, old, &policy);
        self.turn.begin_anew(holds);
        self.ending.begin_anew(at, seq, holds);
        let stopping = self.stopping();
        let again = began == Began::Elsewhere && !stopping;
        // A step of another loop is none of this one, which decides itself what it asks for.
        let other_loop = (old.replies.stop == Stop::Judge) != self.plans() && self.ending.closing().is_none();
        if stopping || other_loop {
            self.model_calls.clear();
        }
        // One model is asked anew, and another one alongside only when it takes too long again.
        self.model_calls.take_second_attempts();
        // Whether summaries and verdicts are needed is decided anew.
        self.model_calls.drop_background();
        self.conversation.track(ContextTracker::may_compact_again);
        self.model_calls.iter_mut().for_each(|model_call| model_call.begin_anew(at, seq));
        self.phase = match std::mem::replace(&mut self.phase, Phase::Between) {
            Phase::Asking if self.turns_model_call().is_some() => {
                // The call begins anew, so that it hears what was said.
                if self.turns_model_call().is_some_and(|model_call| model_call.purpose().hears()) {
                    self.hear();
                    self.distil();
                }
                Phase::Asking
            }
            // What a hook over there has asked for, the hook here is asked again.
            Phase::Acting(calls) if again && calls.iter().any(|open| *open.origin() == Origin::Hook) => {
                self.turn.drop_branches();
                if policy.calls.hooks == Hooks::AfterSteps { Phase::Stepping { seq } } else { Phase::Between }
            }
            Phase::Acting(calls) => {
                // Questions are asked anew, and counted then.
                let asked = calls.iter().filter(|open| matches!(open.stage(), Stage::Asking)).count() as u64;
                self.ledger.calls_taken_back(asked);
                let taken = calls.iter().map(|open| {
                    let open = open.taken_over(fork, base, seq);
                    if again { open.begun_elsewhere(self.run) } else { open }
                });
                self.phase = Phase::Acting(taken.collect());
                if again {
                    self.reopen_code();
                }
                std::mem::replace(&mut self.phase, Phase::Between)
            }
            Phase::Stepping { .. } if policy.calls.hooks == Hooks::AfterSteps && !stopping => {
                Phase::Stepping { seq }
            }
            Phase::Asking | Phase::Stepping { .. } | Phase::Between | Phase::New | Phase::Ended(_) => {
                Phase::Between
            }
        };
    }
}

/// Whether a limit that was reached under the old policy is no higher under the new one.
fn not_raised(kind: LimitKind, old: &Policy, new: &Policy) -> bool {
    new.most(kind).is_some_and(|new| old.most(kind).is_none_or(|old| new <= old))
}
