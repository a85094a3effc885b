//! Lines about calls that begin, and events that were written together.

use windlass_core::event::{
    CallDecided, CallFact, CallFinished, CallStarted, CodeFact, CodeFinished, CodeStarted, Decision,
    DelegationFact, DelegationFinished, FailKind, ModelFact, PeopleFact, RunFact,
};
use windlass_core::{Fact, Status};
use windlass_runtime::Update;

use super::Plain;
use crate::face::artifacts;
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

    /// Facts that the face of the conversation shows in a way of its own: calls that end, messages that the agent has heard, and the
    /// model and context of a reply. Whether that is all that is to be shown of the fact.
    pub(super) fn rendered_by_face(&self, fact: &Fact) -> bool {
        let Some(face) = &self.face else { return false };
        if let Fact::Code(CodeFact::Finished(CodeFinished { call, outcome: ended, .. }))
        | Fact::Call(CallFact::Finished(CallFinished { call, outcome: ended, .. }))
        | Fact::Delegation(DelegationFact::Finished(DelegationFinished {
            call, outcome: ended, ..
        })) = fact
        {
            let (name, args) = (self.calls.name(call), self.calls.whole_args(call).unwrap_or_default());
            if !face.has_begun(call.as_str()) {
                face.never_began(
                    call.as_str(),
                    &name,
                    &self.calls.args(call, &self.cuts).unwrap_or_default(),
                );
            }
            let artifacts = self.run.map(|run| artifacts(&self.log_words, run)).unwrap_or_default();
            face.end(call.as_str(), &format!("{name} {args}"), ended, &artifacts);
            return true;
        }
        // The question and its answer stand above. The row of a call that an earlier `always` allows follows.
        if let Fact::Call(CallFact::Decided(CallDecided {
            decision: Decision::Approved | Decision::Allowed,
            ..
        })) = fact
        {
            return true;
        }
        if let Fact::People(PeopleFact::Steered(steered)) = fact {
            face.heard(&steered.text);
        } else if let Fact::Model(ModelFact::Started(_)) = fact {
            face.read();
        } else if let Fact::Model(ModelFact::Completed(turn)) = fact
            && turn.speaks()
        {
            face.status(|status| {
                status.model = turn.model.to_string();
                status.context = turn.usage.input + turn.usage.output;
                status.tokens += turn.usage.input + turn.usage.output;
            });
        }
        false
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
