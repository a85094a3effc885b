//! The fold of the plan loop.

use std::sync::Arc;

use serde_json::json;

use crate::policy::own_tools::run_code::{CODE_FIELD, RUN_CODE};
use crate::policy::values::Stop;
use crate::protocol::fact::OutputRejected;
use crate::protocol::fact::plan::{Perceived, PlanMade, PlanProposed, StepFinished, StepWork};
use crate::protocol::fact::turns::TurnCompleted;
use crate::state::open_call::Origin;
use crate::state::plan::Plan;
use crate::state::{Phase, State};
use crate::vocabulary::call_args::CallArgs;
use crate::vocabulary::ids::{CallId, Text};
use crate::vocabulary::message::{AssistantMessage, Message, ToolCall};
use crate::vocabulary::outcome::CallOutcome;
use crate::vocabulary::question::Answer;

impl State {
    /// Whether the loop is a plan loop.
    pub(crate) fn plans(&self) -> bool {
        self.setup.policy().replies.stop == Stop::Judge
    }

    /// A run begins: with its query.
    pub(crate) fn begin_plan(&mut self, messages: &[Arc<Message>]) {
        if !self.plans() {
            return;
        }
        let inputs = messages
            .iter()
            .filter(|message| matches!(***message, Message::User { .. } | Message::TaskDelegation { .. }));
        let texts: Vec<String> =
            inputs.filter_map(|message| Some(message.content()?.text().into_owned())).collect();
        let (query, from) = (texts.join("\n").into(), self.conversation.history().len());
        self.progress.plan_begun(Plan::of(query, from));
    }

    /// A run that began without a plan goes on in a loop of plans: its query is its input.
    pub(crate) fn plan_anew(&mut self) {
        if !self.plans() || self.progress.plan().is_some() {
            return;
        }
        let input = self.progress.input().clone();
        let messages: Vec<Arc<Message>> =
            input.filter_map(|place| self.conversation.history().get(place).cloned()).collect();
        self.begin_plan(&messages);
    }

    /// The hook has seen the step of a plan, and the loop goes on.
    pub(crate) fn leave_hook(&mut self) {
        if matches!(self.phase, Phase::Stepping { .. }) {
            self.phase = Phase::Between;
        }
    }

    /// A perception or decision came: it writes no conversation.
    pub(crate) fn plan_reply_recorded(&mut self, turn: &TurnCompleted) {
        self.turn.replied(turn.stop);
        self.progress.in_plan(|plan| plan.replied(turn.text.as_ref()));
    }

    /// A reply of the plan loop was not accepted: the note goes with the next request. Whether it was one.
    pub(crate) fn plan_rejected(&mut self, rejected: &OutputRejected) -> bool {
        if !self.plans() || self.ending.closing().is_some() {
            return false;
        }
        self.progress.in_plan(|plan| plan.reject(rejected));
        true
    }

    pub(crate) fn perceived(&mut self, perceived: &Perceived) {
        self.turn.reply_accepted();
        self.progress.in_plan(|plan| plan.perceived(&perceived.perception));
    }

    pub(crate) fn plan_proposed(&mut self, proposed: &PlanProposed) {
        self.turn.reply_accepted();
        self.progress.in_plan(|plan| plan.proposed(proposed));
    }

    pub(crate) fn plan_made(&mut self, made: &PlanMade) {
        self.turn.reply_accepted();
        self.progress.in_plan(|plan| plan.made(made));
        let work = made.step.as_ref().map(|step| &step.work);
        if let (Some(StepWork::Code(code)), Some(call)) = (work, &made.call) {
            self.acting(&[code_call(call, code)], &Origin::Plan);
        }
    }

    /// The code of a step has come to its end.
    pub(crate) fn step_outcome(&mut self, outcome: CallOutcome, retries: u32) {
        self.progress.in_plan(|plan| plan.step_ran(outcome, retries));
    }

    pub(crate) fn step_finished(&mut self, finished: &StepFinished) {
        let code = self.progress.in_plan(|plan| plan.step_finished(finished));
        self.ledger.plan_step_ended(code);
    }

    /// A person's final answer is what the plan has found, with the person's confidence.
    pub(crate) fn finally_answered(&mut self, answer: &Answer) {
        if matches!(answer, Answer::Final { .. }) && self.progress.plan().is_some() {
            self.progress.in_plan(|plan| plan.finally_answered(answer));
        }
    }

    /// The end of a plan loop stands in the conversation, so that a session goes on under any preset.
    pub(crate) fn plan_ended(&mut self, text: Option<&Text>) {
        if let Some(text) = text.filter(|_| self.plans() && self.progress.plan().is_some()) {
            let reply = AssistantMessage { text: Some(text.clone()), ..AssistantMessage::default() };
            self.conversation.push(Arc::new(Message::Assistant(reply)));
        }
    }
}

/// The call that runs the code of a step.
pub(crate) fn code_call(id: &CallId, code: &Text) -> ToolCall {
    let args = CallArgs::from(Text::from(json!({ CODE_FIELD: &**code }).to_string()));
    ToolCall { id: id.clone(), name: RUN_CODE.into(), args, ..ToolCall::default() }
}
