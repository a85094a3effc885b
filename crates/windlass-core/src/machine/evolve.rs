//! `evolve`: folds one fact into the state. It cannot fail, decides nothing, and its cost does not depend on the length of the
//! history.

pub(crate) mod calls;
pub(crate) mod code;
pub(crate) mod context;
pub(crate) mod fork;
pub(crate) mod iterations;
pub(crate) mod plan;
pub(crate) mod results;
pub(crate) mod start;
pub(crate) mod turns;

use crate::protocol::fact::calls::CallFinished;
use crate::protocol::fact::interrupts::RunPaused;
use crate::protocol::fact::limits::{LimitRaised, LimitReached};
use crate::protocol::fact::{
    Adjusted, CallFact, CodeFact, ContextFact, DelegationFact, Event, Fact, InputReceived, InputRequested,
    LimitFact, PeopleFact, PlanFact, RunFact,
};
use crate::state::context::ContextTracker;
use crate::state::ending::{Closing, Ending};
use crate::state::open_call::{Asked, Origin, Stage};
use crate::state::{Phase, State};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::question::QuestionKind;

/// Folds one fact into the state.
#[must_use]
pub fn evolve(mut state: State, event: &Event) -> State {
    state.apply(event);
    state
}

impl State {
    pub(crate) fn apply(&mut self, event: &Event) {
        self.version += 1;
        self.note_progress(event);
        self.clock.reached(event.at);
        let seq = self.version;
        match &event.fact {
            Fact::Run(RunFact::Started(start)) => self.started(start, event.at, seq),
            Fact::Run(RunFact::Resumed(resumed)) => {
                self.clock.taken_over(resumed.clock_behind_ms.unwrap_or(0));
                self.taken_over(resumed.by);
            }
            Fact::Model(fact) => self.model_fact(fact, seq),
            Fact::Call(CallFact::Held(held)) => self.call_held(held),
            Fact::Call(CallFact::Decided(decided)) => self.call_decided(decided),
            Fact::Call(CallFact::ToolAllowed(allowed)) => self.tool_allowed(allowed),
            Fact::Call(CallFact::Verified(verified)) => self.call_verified(verified),
            Fact::Call(CallFact::Started(started)) => self.call_started(started, seq),
            Fact::Call(CallFact::Retried(retried)) => {
                self.ledger.retried();
                self.suspend_code(&retried.call);
                if let Some(call) = self.call_mut(&retried.call) {
                    call.try_failed(seq, retried.retry_at);
                }
            }
            Fact::Call(CallFact::Doubted(doubted)) => {
                let lost = doubted.lost.clone().map(Box::new);
                self.stage(&doubted.call, Stage::Doubted { seq, asked: Asked::Tool, lost });
            }
            Fact::Call(CallFact::Finished(finished)) => self.call_finished(finished),
            Fact::Call(CallFact::ResultSummarised(summarised)) => self.result_summarised(summarised),
            Fact::Code(CodeFact::Started(started)) => self.code_started(started, seq),
            Fact::Code(CodeFact::Called(called)) => self.code_called(called),
            Fact::Code(CodeFact::Finished(finished)) => self.code_finished(finished),
            Fact::Delegation(DelegationFact::Started(started)) => self.delegation_started(started, seq),
            Fact::Delegation(DelegationFact::Deferred(waits)) => self.delegation_deferred(waits, seq),
            Fact::Delegation(DelegationFact::Finished(finished)) => {
                self.ledger.returned(finished);
                let (call, outcome) = (finished.call.clone(), finished.outcome.clone());
                self.call_finished(&CallFinished { call, outcome, note: None, limit: None });
            }
            Fact::Plan(PlanFact::Perceived(perceived)) => self.perceived(perceived),
            Fact::Plan(PlanFact::Proposed(proposed)) => self.plan_proposed(proposed),
            Fact::Plan(PlanFact::Made(made)) => self.plan_made(made),
            Fact::Plan(PlanFact::StepFinished(finished)) => {
                self.leave_hook();
                self.step_finished(finished);
            }
            Fact::People(PeopleFact::InputRequested(asked)) => self.input_requested(asked, seq),
            Fact::People(PeopleFact::InputReceived(received)) => self.input_received(received),
            Fact::Plan(PlanFact::IterationStarted(started)) => self.iteration_started(started),
            Fact::Plan(PlanFact::Judged(_)) => self.progress.judged(),
            Fact::Plan(PlanFact::BlackboardSaved(_)) => self.progress.save_blackboard(),
            Fact::Plan(PlanFact::BlackboardRestored(restored)) => self.blackboard_restored(restored),
            Fact::People(PeopleFact::Steered(steered)) => self.conversation.steer(steered.clone()),
            Fact::People(PeopleFact::Paused(paused)) => self.paused(paused, seq),
            Fact::People(PeopleFact::MessageQueued(queued)) => {
                self.conversation.leave_to(queued.run);
                self.questions.queue(queued);
            }
            Fact::Run(RunFact::Adjusted(adjusted)) => self.adjusted(adjusted, event.at, seq),
            Fact::Context(ContextFact::HistoryEdited(edited)) => self.history_edited(edited),
            // The count itself is in the reply's usage.
            Fact::Context(ContextFact::Measured(_)) => {}
            Fact::Context(ContextFact::Warned(_)) => self.conversation.track(ContextTracker::warned),
            Fact::Context(ContextFact::Compacted(compacted)) => self.compacted(compacted),
            Fact::Context(ContextFact::CompactionSkipped(_)) => self.compaction_skipped(),
            Fact::Call(CallFact::StepBranched(branched)) => self.acting(&branched.calls, &Origin::Hook),
            Fact::Limit(LimitFact::Reached(reached)) => self.limit_reached(reached, event.at, seq),
            Fact::Limit(LimitFact::Raised(raised)) => self.limit_raised(raised, seq),
            Fact::People(PeopleFact::CancelRequested(_)) => {
                self.ending.cancel();
                self.questions.withdraw();
                self.give_up_waiting();
            }
            Fact::Run(RunFact::Ended(end)) => {
                self.questions.withdraw();
                self.model_calls.clear();
                self.take_results_as_they_are();
                self.plan_ended(end.text.as_ref());
                self.phase = Phase::Ended(Box::new(end.clone()));
            }
        }
    }

    fn limit_raised(&mut self, raised: &LimitRaised, seq: u64) {
        self.ending = Ending::None;
        self.setup.raise(raised);
        self.offer_tools(self.toolbox.own().clone());
        if raised.limit == LimitKind::Seconds {
            self.clock.deadline_moved(seq);
        }
    }

    fn input_requested(&mut self, asked: &InputRequested, seq: u64) {
        if asked.kind == QuestionKind::Result && asked.call.is_none() {
            self.leave_hook();
        }
        self.questions.put(asked, seq);
        if matches!(asked.kind, QuestionKind::Limit(_)) && asked.child_question.is_none() {
            self.ending.put_to_person();
        }
        if asked.kind == QuestionKind::Clarify && asked.child_question.is_none() {
            self.count_call();
        }
        if let Some(call) = asked.call.as_ref().and_then(|id| self.call_mut(id)) {
            call.put_to_person(asked);
        }
    }

    /// The run stands still. A try that waited begins once the pause is over.
    fn paused(&mut self, paused: &RunPaused, seq: u64) {
        self.questions.pause_began(paused, seq);
        // A hook has been heard.
        if matches!(self.phase, Phase::Asking | Phase::Stepping { .. }) {
            let deferred = self.turns_model_call().map(|model_call| model_call.remedies().clone());
            self.turn.defer(deferred.unwrap_or_default());
            self.model_calls.give_up_waiting();
            self.phase = Phase::Between;
        }
    }

    fn input_received(&mut self, received: &InputReceived) {
        self.questions.answered(&received.question);
        self.finally_answered(&received.answer);
    }

    fn adjusted(&mut self, adjusted: &Adjusted, at: u64, seq: u64) {
        let (policy, hidden) = (self.setup.policy().clone(), self.hides_finish());
        self.setup.adjusted(adjusted);
        if adjusted.policy.is_some() {
            self.stay_within_budget();
        }
        if let Some(refused) = &adjusted.refused {
            self.toolbox.refuse(refused.tool.clone());
        }
        let anew = adjusted.policy.is_some() || adjusted.refused.is_some() || self.hides_finish() != hidden;
        if let Some(tools) = adjusted.tools.as_ref().or(anew.then_some(self.toolbox.own())) {
            self.offer_tools(tools.clone());
        }
        if adjusted.binding_digests.is_some() {
            self.toolbox.bind(adjusted.binding_digests.as_ref());
        }
        if adjusted.agent.is_some() {
            self.adopted(&policy, at, seq);
        }
    }

    fn limit_reached(&mut self, reached: &LimitReached, at: u64, seq: u64) {
        self.give_up_waiting();
        let stopping = self.in_flight();
        self.questions.cut_by(reached.limit);
        self.ending = Ending::by_limit(Closing::after(reached, at, seq), stopping);
        self.turn.limit_reached();
    }

    /// A model call that waited for its next try is not tried again, a hook is not asked any more.
    fn give_up_waiting(&mut self) {
        self.model_calls.give_up_waiting();
        self.take_results_as_they_are();
        let asking = self.turns_model_call().is_some();
        if matches!(self.phase, Phase::Asking if !asking) || matches!(self.phase, Phase::Stepping { .. }) {
            self.phase = Phase::Between;
        }
    }
}
