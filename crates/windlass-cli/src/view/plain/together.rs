//! Lines about calls that begin, and events that were written together.

use windlass_core::event::{
    CallFact, CallStarted, CodeFact, CodeStarted, DelegationFact, FailKind, ModelFact, RunFact,
};
use windlass_core::{Fact, Status};
use windlass_runtime::Update;

use super::Plain;
use crate::view::each;

impl Plain {
    /// A call begins.
    pub(super) fn call_begins(&mut self, fact: &Fact) {
        if let Fact::Code(CodeFact::Started(CodeStarted { call, attempt, .. }))
        | Fact::Call(CallFact::Started(CallStarted { call, attempt })) = fact
        {
            // The line of a planned step says what its first try is.
            if *attempt > 1 || !self.calls.is_step(call) {
                self.call_started(call, *attempt);
            }
        } else if let Fact::Delegation(DelegationFact::Started(started)) = fact {
            self.delegated(started);
        }
    }

    /// Events that were written together. The failure that ends a run is reported once: by the error that follows.
    pub(super) fn events(&mut self, update: &Update) {
        let mut fails = false;
        let failed = |fact: &Fact| matches!(fact, Fact::Run(RunFact::Ended(end)) if end.status == Status::Failed(FailKind::Model));
        each(update, |_, event| fails |= failed(&event.fact));
        let last = |fact: &Fact| matches!(fact, Fact::Model(ModelFact::Failed(turn)) if turn.retry_at.is_none() && turn.next_model.is_none());
        let reported = fails && self.says_end;
        each(update, |_, event| {
            if !(reported && last(&event.fact)) {
                self.event(event);
            }
        });
    }
}
