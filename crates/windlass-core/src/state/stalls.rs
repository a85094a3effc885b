//! Stalls: how long a run brings nothing. Content, results of tools and usage are progress, and nothing else is.
//!
//! A run that does no work of its own is not stalled: time counts while models are asked, tools or code run, and not while
//! the run waits for people, for a further try or for the agents that it handed tasks to. Those have stall limits of their own.

use crate::protocol::fact::{
    CallFact, CodeFact, DelegationFact, Event, Fact, LimitFact, ModelFact, PeopleFact, RunFact,
};
use crate::state::State;
use crate::state::open_call::Stage;
use crate::vocabulary::ids::Millis;
use crate::vocabulary::limit::LimitKind;

/// When a run that brings nothing is stalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallAlarm {
    /// When, if no content comes until then.
    pub at: Millis,
    /// How long after the last content, in milliseconds.
    pub after_ms: u64,
    /// Another reason to wake the run, before or after.
    pub other: Option<Millis>,
}

/// Whether a fact is progress: it brings content, a result or usage, or the run begins to count anew with it.
fn is_progress(fact: &Fact) -> bool {
    if let Fact::Model(ModelFact::Failed(failed)) = fact {
        return failed.failure.usage.total() > 0;
    }
    matches!(
        fact,
        Fact::Run(RunFact::Started(_) | RunFact::Resumed(_) | RunFact::Adjusted(_))
            | Fact::Model(ModelFact::Completed(_) | ModelFact::ProbeAnswered(_))
            | Fact::Call(CallFact::Finished(_))
            | Fact::Code(CodeFact::Called(_) | CodeFact::Finished(_))
            | Fact::Delegation(DelegationFact::Finished(_))
            | Fact::People(PeopleFact::InputReceived(_))
            | Fact::Limit(LimitFact::Reached(_) | LimitFact::Raised(_))
    )
}

impl State {
    /// The time moves on to that of an event, before it is folded.
    pub(crate) fn note_progress(&mut self, event: &Event) {
        if is_progress(&event.fact) {
            self.clock.progressed(event.at);
        } else if event.at > self.clock.now()
            && self.setup.policy().limit(LimitKind::StallSeconds).is_some()
            && !self.may_stall()
        {
            self.clock.excused(event.at);
        }
    }

    /// Whether work of its own is going on that should bring something.
    fn may_stall(&self) -> bool {
        let delegated = |open: &crate::state::open_call::OpenCall| {
            matches!(open.stage(), Stage::Delegated { .. } | Stage::DelegateAsks { .. })
        };
        self.in_flight() && !self.open_calls().any(delegated)
    }

    /// When the run is stalled unless something comes before.
    pub(crate) fn stalls_at(&self) -> Option<Millis> {
        let after = self.setup.policy().limit(LimitKind::StallSeconds)?;
        self.may_stall().then(|| self.clock.progress_at().saturating_add(after))
    }

    /// For how long the run has brought nothing at `at`, in milliseconds.
    pub(crate) fn stalled_for(&self, at: Millis) -> u64 {
        at.saturating_sub(self.clock.progress_at())
    }

    /// When the run is stalled, for who sees content come before a reply is whole. `None`: it has no such limit, or nothing
    /// of its own is going on.
    pub fn stall_alarm(&self) -> Option<StallAlarm> {
        let after_ms = self.setup.policy().limit(LimitKind::StallSeconds)?;
        Some(StallAlarm { at: self.stalls_at()?, after_ms, other: self.wakes_at() })
    }
}
