//! People: what follows from their answers.

use serde_json::Value;

use crate::codec::args::check_args;
use crate::machine::decision::{Decided, Decision};
use crate::protocol::fact::calls::{CallDecided, Decision as Verdict};
use crate::protocol::fact::interrupts::AnsweredBy;
use crate::protocol::fact::limits::LimitRaised;
use crate::protocol::invalid_input::InvalidInput;
use crate::state::open_call::{OpenCall, Stage};
use crate::state::questions::OpenQuestion;
use crate::view::contract;
use crate::vocabulary::ids::{CallId, QuestionId, Text};
use crate::vocabulary::limit::LimitKind;
use crate::vocabulary::message::Content;
use crate::vocabulary::outcome::{CallOutcome, DeniedBy, Status};
use crate::vocabulary::question::{Answer, QuestionKind};

impl Decision {
    pub(crate) fn answered(
        &mut self,
        question: &QuestionId,
        answer: Answer,
        by: Option<AnsweredBy>,
    ) -> Decided {
        self.by = by;
        let Some(open) = self.state.questions.open().iter().find(|open| open.id == *question).cloned() else {
            return Err(InvalidInput::UnknownQuestion {
                found: question.clone(),
                expected: self.state.questions.open().iter().map(|open| open.id.clone()).collect(),
            });
        };
        if !answer.fits(open.kind) {
            return Err(InvalidInput::WrongAnswer {
                question: open.id,
                kind: open.kind,
                found: answer.name(),
            });
        }
        let call = open.call.as_ref().and_then(|call| self.state.open_call(call)).cloned();
        if let Some(call) = call.as_ref().filter(|call| matches!(call.stage(), Stage::DelegateAsks { .. })) {
            self.received(open.id, answer.clone());
            self.delegate_again(call, answer);
            return Ok(());
        }
        if let QuestionKind::Limit(limit) = open.kind {
            return self.limit_answered(open.id, limit, answer);
        }
        if open.kind == QuestionKind::Pause && call.is_none() {
            self.resumed_by_answer(open.id, answer);
            return Ok(());
        }
        if open.kind == QuestionKind::Auth && call.is_none() {
            self.key_renewed(open, answer);
            return Ok(());
        }
        if matches!(open.kind, QuestionKind::Plan | QuestionKind::Result) && call.is_none() {
            if let Answer::Plan { plan, step } = &answer
                && let Err(message) = contract::check_given(plan, step.as_ref())
            {
                return Err(InvalidInput::BadPlan { question: open.id, message });
            }
            self.plan_answered(open.id, answer);
            return Ok(());
        }
        let Some(call) = call else {
            return Err(InvalidInput::UnknownQuestion { found: open.id, expected: Vec::new() });
        };
        self.call_answered(&open, &call, answer)?;
        self.go_on();
        Ok(())
    }

    fn call_answered(&mut self, open: &OpenQuestion, call: &OpenCall, answer: Answer) -> Decided {
        if let Answer::ApproveWith { args } = &answer {
            self.check_edited(call, args)?;
        }
        self.received(open.id.clone(), answer.clone());
        let id = call.call.id.clone();
        match answer {
            // What was allowed must still be what would run: an approval is bound to a digest (E24).
            Answer::Approve | Answer::ApproveWith { .. } | Answer::Always if self.has_changed(call) => {
                self.hold(call);
            }
            Answer::Approve => self.record(CallDecided { call: id, decision: Verdict::Approved }),
            Answer::ApproveWith { args } => {
                let args = args.to_string().into();
                self.record(CallDecided { call: id, decision: Verdict::Edited { args } });
            }
            Answer::Always => {
                self.record(self.state.rule(call));
                self.record(CallDecided { call: id, decision: Verdict::Approved });
                self.allow_held();
            }
            Answer::Deny { reason } => {
                let decision = Verdict::Denied { reason: reason.clone() };
                self.record(CallDecided { call: id.clone(), decision });
                self.finish_call(id, CallOutcome::Denied { reason, by: DeniedBy::Person });
            }
            Answer::Text(text) | Answer::Result(text) => {
                self.finish_call(id, CallOutcome::Ok { content: Content::Text(text) });
            }
            Answer::RunAgain => self.start_call(id),
            Answer::Unknown => self.finish_call(id, CallOutcome::Unknown),
            Answer::Conclude(_)
            | Answer::Final { .. }
            | Answer::Raise(_)
            | Answer::Accept
            | Answer::Plan { .. }
            | Answer::Resume { .. }
            | Answer::Retry => {}
        }
        Ok(())
    }

    /// Lets the calls run that wait for an answer which a new rule of the session has given.
    fn allow_held(&mut self) {
        let held = |open: &&OpenCall| {
            matches!(open.stage(), Stage::Held { .. }) && self.state.allows(open) && !self.has_changed(open)
        };
        let held: Vec<CallId> =
            self.state.open_calls().filter(held).map(|open| open.call.id.clone()).collect();
        for call in held {
            self.record(CallDecided { call, decision: Verdict::Allowed });
        }
    }

    fn check_edited(&self, call: &OpenCall, args: &Value) -> Decided {
        let Some(tool) = self.state.target(call) else { return Ok(()) };
        check_args(tool, &args.to_string())
            .map(|_| ())
            .map_err(|message| InvalidInput::BadArguments { message })
    }

    /// Whether a call is no longer what a person was asked about, or has allowed.
    pub(crate) fn has_changed(&self, call: &OpenCall) -> bool {
        call.asked_with().is_some_and(|asked| asked.digest() != self.state.gate(call).digest())
    }

    fn limit_answered(&mut self, question: QuestionId, limit: LimitKind, answer: Answer) -> Decided {
        if let Answer::Raise(number) = answer {
            let when_asked = self.state.ending.closing().map_or(0, |closing| closing.reached().reached);
            let reached = self.reached(limit).max(when_asked);
            let Some(max) = limit.keep(number).filter(|max| *max > reached) else {
                let (reached, found) = (limit.show(reached), number.to_string());
                return Err(InvalidInput::NotRaised { limit, reached, found });
            };
            if let Some(lent) = self.state.budget().get(limit).filter(|lent| max > *lent) {
                let (lent, found) = (limit.show(lent), number.to_string());
                return Err(InvalidInput::BeyondBudget { limit, lent, found });
            }
            self.received(question, answer);
            self.record(LimitRaised { limit, max });
            self.go_on_raised(limit);
            return Ok(());
        }
        self.received(question, answer.clone());
        if let Some(text) = answer.conclusion() {
            self.conclude(text);
        }
        Ok(())
    }

    /// Ends the run with a person's text, or, if it is empty, with the last result that there is.
    pub(crate) fn conclude(&mut self, text: &Text) {
        let given = (!text.trim().is_empty()).then(|| text.clone());
        let so_far = || {
            let found = self.state.plan().and_then(|plan| plan.perception.as_ref());
            found
                .map(|found| found.solution_summary.clone())
                .or_else(|| self.state.conversation.last_text().cloned())
        };
        let text = given.or_else(so_far);
        self.end(Status::Concluded, text, None);
    }
}
